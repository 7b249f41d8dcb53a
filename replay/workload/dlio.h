/* SPDX-License-Identifier: MIT */
/*
 * Workloads of DLIO (argonne-lcf/dlio_benchmark) as YAML, in and out. Source of the
 * keys: LoadConfig() of its utils/config.py, of 2.0.0 and of e1919d7 (2026-06).
 */
#ifndef REPLAY_WORKLOAD_DLIO_H
#define REPLAY_WORKLOAD_DLIO_H

struct reel_buf;
struct reel_error;
struct workload;

/*
 * Fill @w from the YAML file @path. @notes gets a line for each key that DLIO
 * ignores, or reads otherwise than written, or that has no counterpart in a
 * workload. @w is for workload_fini() either way. 0, or -1 with @err: REEL_E_IO,
 * REEL_E_FORMAT (file, line and key), REEL_E_MEMORY.
 */
int dlio_import(struct workload *w, const char *path, struct reel_buf *notes,
		struct reel_error *err);

/*
 * Append @w as YAML for DLIO; comments at its head name all that DLIO cannot hold.
 * 0, or -1 with @err (REEL_E_USAGE: a format that DLIO lacks; REEL_E_MEMORY).
 */
int dlio_export(const struct workload *w, struct reel_buf *out,
		struct reel_error *err);

#endif

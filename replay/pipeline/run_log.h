/* SPDX-License-Identifier: MIT */
/*
 * The calls of a run, over all ranks: each rank has a file beside the store that is
 * to be made, RUN.db.calls.RANK, which is removed in the end. All ranks reach the
 * folder of the store.
 */
#ifndef REPLAY_PIPELINE_RUN_LOG_H
#define REPLAY_PIPELINE_RUN_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/io/call_log.h"

struct comm;
struct reel_error;
struct run_log;

/*
 * Make the file of this rank, beside @store, which is borrowed as @comm is; the
 * calling thread begins its log. Collective. Gives *@out for run_log_free(). 0, or
 * -1 on all ranks with @err (REEL_E_IO).
 */
int run_log_new(struct run_log **out, const char *store,
		const struct comm *comm, struct reel_error *err);
/* The log of the stepping thread; NULL when @log is NULL. */
struct call_log *run_log_stepping(const struct run_log *log);
/* One for another thread, or a reader's process, made before its start. */
int run_log_thread(struct run_log *log, struct call_log **out,
		   struct reel_error *err);

/* Ranks, as the first one reads them. */
struct run_log_rank {
	int rank;
	char host[72];
	char cwd[4096];
	/* Add to its times: those of rank 0's clock then, right by +- error_ns. */
	int64_t shift_ns, error_ns;
	const uint8_t *blocks; /* see call_stream_begin() */
	size_t bytes;
};

/*
 * After the last call of all threads of this rank: rank 0 reads the files of all,
 * which then are gone. Collective. 0, or -1 on all ranks with @err: a disk was full,
 * or rank 0 does not see the file of another one.
 */
int run_log_collect(struct run_log *log, struct reel_error *err);
/* On rank 0, after it: one for each rank. Borrowed. */
const struct run_log_rank *run_log_ranks(const struct run_log *log, int *n);

/* The CLOCK_REALTIME of @ns of rank 0's clock, by its clocks now. */
int64_t run_log_real_ns(int64_t ns);

/* A rank failed, and MPI will kill the others: remove the files of all. NULL too. */
void run_log_abandon(const struct run_log *log);
/* Removes the files that are left. NULL too. */
void run_log_free(struct run_log *log);

#endif

/* SPDX-License-Identifier: MIT */
/* The page cache before a run: emptied of the data set, or filled with it. */
#ifndef REPLAY_PIPELINE_CACHE_H
#define REPLAY_PIPELINE_CACHE_H

struct comm;
struct reel_error;
struct workload;

/* Bring the data set in @folder into the state of @w->cache, the ranks of
 * each host share its files. Collective. 0, or -1 with @err. */
int cache_prepare(const struct workload *w, const char *folder,
		  const struct comm *comm, struct reel_error *err);

#endif

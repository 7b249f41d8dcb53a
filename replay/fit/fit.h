/* SPDX-License-Identifier: MIT */
/* A workload from a recorded job: each key with a confidence and a reason. */
#ifndef REPLAY_FIT_FIT_H
#define REPLAY_FIT_FIT_H

struct reel_error;
struct reel_store;
struct workload;

/*
 * Fill @w, fresh from workload_init(), from the store @st of a job or an import.
 * A key that the store cannot tell keeps its default, with a reason of confidence 0. 0,
 * or -1 with @err: REEL_E_FORMAT "no file of the job was read as data", REEL_E_DB,
 * REEL_E_MEMORY.
 */
int workload_fit(struct workload *w, struct reel_store *st,
		 struct reel_error *err);

#endif

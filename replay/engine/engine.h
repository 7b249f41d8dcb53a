/* SPDX-License-Identifier: MIT */
/*
 * Replays a plan: one process for each process of the job, one thread for each
 * thread, forked where the job forked them.
 */
#ifndef REPLAY_ENGINE_ENGINE_H
#define REPLAY_ENGINE_ENGINE_H

#include "replay/engine/player.h"

struct comm;
struct reel_error;

struct engine_options {
	const char *plan;
	const char *root;   /* a sandbox, made by sandbox_make() */
	const char *result; /* a file, made by result_make() */
	enum replay_mode mode;
	bool burn;
	bool warm; /* never evict pages that the job had to fetch again */
};

/*
 * Replay the plan in this process and its children, until all have ended.
 * Collective over @comm: every rank starts its share of the processes without a
 * parent. 0, or -1 with @err when the replay could not be started.
 */
int engine_run(const struct engine_options *opt, const struct comm *comm,
	       struct reel_error *err);

/* Fork the process @child of the plan, whose planned start is @at_ns. */
void engine_fork(struct player *p, uint32_t child, int64_t at_ns);

/* In the main thread: wait until all other threads have played their calls. */
void engine_join(struct player *p);

#endif

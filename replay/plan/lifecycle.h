/* SPDX-License-Identifier: MIT */
/*
 * Records of a stream that are no calls of the job: forks, begins and ends of
 * spans, the end of the process. They are sorted by stream and time, and merged
 * into the streams as the second pass writes these.
 */
#ifndef REPLAY_PLAN_LIFECYCLE_H
#define REPLAY_PLAN_LIFECYCLE_H

#include <stddef.h>
#include <stdint.h>

struct job;
struct reel_error;
struct reel_store;

struct lifecycle_event {
	int64_t at_ns;
	int64_t arg, arg2;
	uint32_t stream;
	uint32_t order;
	char *name;  /* of a user's span, NULL: none */
	uint16_t op; /* enum plan_op */
};

struct lifecycle {
	struct lifecycle_event *at;
	uint32_t n, room;
};

/* @in is zeroed before; lifecycle_fini() in any case. 0, or -1 with @err
 * (REEL_E_DB, REEL_E_MEMORY). */
int lifecycle_read(struct lifecycle *in, const struct job *job,
		   struct reel_store *st, struct reel_error *err);
void lifecycle_fini(struct lifecycle *in);

#endif

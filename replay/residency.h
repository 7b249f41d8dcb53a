/* SPDX-License-Identifier: MIT */
/*
 * Which files were in the page cache when the job came to them.
 */
#ifndef REPLAY_RESIDENCY_H
#define REPLAY_RESIDENCY_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct reel_error;
struct reel_event;

/* All zero in the beginning. */
struct residency {
	const struct job *job;
	struct first_reads *file; /* by id */
};

/* For the files of @job, which is borrowed; free it with residency_fini(). 0,
 * or -1 with @err. */
int residency_init(struct residency *r, const struct job *job,
		   struct reel_error *err);
void residency_fini(struct residency *r);

/* Events come in the order of their end. */
void residency_event(struct residency *r, const struct reel_event *ev);

/* Did @file come from the storage? Not when nothing of it was read. */
bool residency_cold(const struct residency *r, uint32_t file);

#endif

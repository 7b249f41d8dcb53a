/* SPDX-License-Identifier: MIT */
/*
 * Which files were in the page cache when the job came to them: the trace does
 * not say, but the time of the first reads does.
 */
#ifndef REPLAY_RESIDENCY_H
#define REPLAY_RESIDENCY_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_event;

/* Of every file, by id; all zero in the beginning. */
struct residency {
	struct first_reads *file;
	uint32_t files;
};

/* Room for @files; free it with residency_fini(). 0, or -1 with @err. */
int residency_init(struct residency *r, uint32_t files, struct reel_error *err);
void residency_fini(struct residency *r);

/* Events come in the order of their end. */
void residency_event(struct residency *r, const struct reel_event *ev);

/* Did @file come from the storage? Not when nothing of it was read. */
bool residency_cold(const struct residency *r, uint32_t file);

#endif

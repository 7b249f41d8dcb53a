/* SPDX-License-Identifier: MIT */
/*
 * What of the job's files was in the page cache when the job came to it: which
 * files at its start, and which reads had to fetch what had been there.
 */
#ifndef REPLAY_FSSTATE_PAGE_CACHE_H
#define REPLAY_FSSTATE_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct annotations;
struct reel_error;
struct reel_event;
struct call_ref;

/* All zero in the beginning. */
struct residency {
	const struct job *job;
	struct annotations *marks;
	bool looks;		 /* the shim of the job looked at slow reads */
	struct file_reads *file; /* by id */
};

/* For the files of @job, which is borrowed, as is @marks; free it with
 * residency_fini(). 0, or -1 with @err. */
int residency_init(struct residency *r, const struct job *job,
		   struct annotations *marks, struct reel_error *err);
void residency_fini(struct residency *r);

/* Events come in the order of their end: @ev is the call @me. May leave a
 * ANNOTATION_FETCH of it. 0, or -1 with @err. */
int residency_event(struct residency *r, const struct reel_event *ev,
		    const struct call_ref *me, struct reel_error *err);

/* Did @file come from the storage? Not when nothing of it was read. Then only
 * those ANNOTATION_FETCH count that are of what had been read or written before. */
bool residency_cold(const struct residency *r, uint32_t file);

/*
 * After the last event: the least that was fetched of @file at one place when
 * not all of it was, in whole pages; or 0. The cache loses no part of what was written at once.
 */
uint32_t residency_piece(const struct residency *r, uint32_t file);

#endif

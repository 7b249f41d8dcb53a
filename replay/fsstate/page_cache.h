/* SPDX-License-Identifier: MIT */
/*
 * The page cache during the job: which files were cold at its start, and which
 * reads had to fetch bytes that had been cached before.
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

/* Zeroed before residency_init(). */
struct residency {
	const struct job *job;
	struct annotations *annotations;
	bool counted;		 /* the trace has fetches of slow reads */
	struct file_reads *file; /* by id */
};

/* Borrows both for its life; free it with residency_fini(). 0, or -1 with @err.
 */
int residency_init(struct residency *r, const struct job *job,
		   struct annotations *annotations, struct reel_error *err);
void residency_fini(struct residency *r);

/* @ev is the call @call; events come in the order of their ends. May add an
 * ANNOTATION_FETCH to it. 0, or -1 with @err. */
int residency_event(struct residency *r, const struct reel_event *ev,
		    const struct call_ref *call, struct reel_error *err);

/* Was @file read, and out of the cache before its first reads? Then only the
 * ANNOTATION_FETCH of bytes that were read or written before count. */
bool residency_cold(const struct residency *r, uint32_t file);

/*
 * After the last event: the smallest part of @file that left the cache alone,
 * in whole pages; 0: none. The page cache keeps bytes that were written at once
 * in large folios, which leave it as a whole: the replay must write smaller.
 */
uint32_t residency_min_evict_bytes(const struct residency *r, uint32_t file);

#endif

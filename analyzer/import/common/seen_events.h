/* SPDX-License-Identifier: MIT */
/*
 * A set of events by their numbers and hashes, eight bytes for each: events with
 * numbers that follow each other are in one cache line.
 */
#ifndef ANALYZER_IMPORT_SEEN_EVENTS_H
#define ANALYZER_IMPORT_SEEN_EVENTS_H

#include <stdint.h>

struct reel_error;

/* Zeroed is empty. */
struct seen_events {
	uint64_t *slot; /* 0: free */
	uint32_t used, mask;
};

/*
 * Add the event @number of the series @series (a process, a thread) whose content
 * has the hash @content. 1 when it was there, 0, or -1 with @err.
 */
int seen_events_add(struct seen_events *s, uint64_t series, uint64_t number,
		    uint64_t content, struct reel_error *err);
void seen_events_fini(struct seen_events *s);

#endif

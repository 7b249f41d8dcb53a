/* SPDX-License-Identifier: MIT */
/*
 * A set of events by their numbers and hashes: four bytes for each where numbers
 * follow each other, as those of a log do, else a slot of a hash table.
 */
#ifndef ANALYZER_IMPORT_SEEN_EVENTS_H
#define ANALYZER_IMPORT_SEEN_EVENTS_H

#include <stdint.h>

#include "lib/intmap.h"

struct reel_error;
struct seen_series;

struct seen_table {
	uint64_t *slot; /* 0: free */
	uint32_t used, mask;
};

/* Zeroed is empty. */
struct seen_events {
	struct reel_intmap by_series;
	struct seen_series *series;
	uint32_t series_n, series_room;
	uint64_t last_key; /* of the series that was asked for, and its index */
	uint32_t last;
	struct seen_table others; /* numbers outside of the series */
};

/*
 * Add the event @number of the series @series (a process, a thread) whose content
 * has the hash @content. 1 when it was there, 0, or -1 with @err.
 */
int seen_events_add(struct seen_events *s, uint64_t series, uint64_t number,
		    uint64_t content, struct reel_error *err);
void seen_events_fini(struct seen_events *s);

#endif

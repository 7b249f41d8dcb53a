/* SPDX-License-Identifier: MIT */
/*
 * Streams of events that are merged into one, in the order of the events'
 * ends: a heap of each stream's next. Of those that end at one time the lesser
 * thread is first, so that a merge is the same every time.
 */
#ifndef LIB_STORE_MERGE_HEAP_H
#define LIB_STORE_MERGE_HEAP_H

#include <stdint.h>

struct reel_merge_item {
	int64_t end_ns; /* of the stream's next event */
	uint32_t thread;
	void *stream; /* borrowed */
};

/* item[0] is first; the caller makes room for as many as it adds. */
struct reel_merge_heap {
	struct reel_merge_item *item;
	int n;
};

/* One stream more. */
void reel_merge_heap_add(struct reel_merge_heap *h, struct reel_merge_item e);
/* The first stream's next event is another, which ends at @end_ns. */
void reel_merge_heap_next(struct reel_merge_heap *h, int64_t end_ns);
/* The first stream has no more. */
void reel_merge_heap_drop(struct reel_merge_heap *h);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Merge streams of events into one, in the order of the events' ends: a heap of
 * the next event of each stream. For equal ends the smaller thread is first, so
 * that every merge gives the same order.
 */
#ifndef LIB_STORE_MERGE_HEAP_H
#define LIB_STORE_MERGE_HEAP_H

#include <stdint.h>

struct reel_merge_item {
	int64_t end_ns; /* of the stream's next event */
	uint32_t thread;
	void *stream; /* borrowed */
};

/* item[0] is first; the caller provides room for all streams. */
struct reel_merge_heap {
	struct reel_merge_item *item;
	int n;
};

/* Add a stream. */
void reel_merge_heap_add(struct reel_merge_heap *h, struct reel_merge_item e);
/* The first stream advanced: its next event ends at @end_ns. */
void reel_merge_heap_next(struct reel_merge_heap *h, int64_t end_ns);
/* The first stream is at its end: remove it. */
void reel_merge_heap_drop(struct reel_merge_heap *h);

#endif

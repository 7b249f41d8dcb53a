/* SPDX-License-Identifier: MIT */
/*
 * A heap that merges streams into one, in the order of time: it holds the time
 * of the next record of each stream. For equal times the smaller id is first,
 * so that every merge gives the same order.
 */
#ifndef LIB_MERGE_HEAP_H
#define LIB_MERGE_HEAP_H

#include <stdint.h>

struct reel_merge_item {
	int64_t time_ns; /* of the next record of the stream */
	uint64_t id;
	void *stream; /* borrowed */
};

/* item[0] is first; the caller provides room for all streams. */
struct reel_merge_heap {
	struct reel_merge_item *item;
	uint32_t n;
};

/* Add a stream. */
void reel_merge_heap_add(struct reel_merge_heap *h, struct reel_merge_item e);
/* The first stream advanced: the time of its next record is @time_ns. */
void reel_merge_heap_next(struct reel_merge_heap *h, int64_t time_ns);
/* The first stream is at its end: remove it. */
void reel_merge_heap_drop(struct reel_merge_heap *h);

#endif

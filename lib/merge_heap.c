/* SPDX-License-Identifier: MIT */
/*
 * The heap of a merge by time. The heap holds the keys, so a step reads no
 * memory of the streams.
 */
#include "lib/merge_heap.h"

#include <stdbool.h>

static bool item_before(const struct reel_merge_item *a,
			const struct reel_merge_item *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns
					: a->id < b->id;
}

/* Replace the top by @e and sift it down. */
static void sift_down(struct reel_merge_heap *h, struct reel_merge_item e)
{
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n &&
		    item_before(&h->item[child + 1], &h->item[child]))
			child++;
		if (!item_before(&h->item[child], &e))
			break;
		h->item[i] = h->item[child];
		i = child;
	}
	h->item[i] = e;
}

void reel_merge_heap_add(struct reel_merge_heap *h, struct reel_merge_item e)
{
	uint32_t i = h->n++;

	while (i && item_before(&e, &h->item[(i - 1) / 2])) {
		h->item[i] = h->item[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->item[i] = e;
}

void reel_merge_heap_next(struct reel_merge_heap *h, int64_t time_ns)
{
	struct reel_merge_item e = h->item[0];

	e.time_ns = time_ns;
	sift_down(h, e);
}

void reel_merge_heap_drop(struct reel_merge_heap *h)
{
	if (--h->n)
		sift_down(h, h->item[h->n]);
}

/* SPDX-License-Identifier: MIT */
/*
 * The heap of a merge by time. The heap holds the keys, so a step reads no
 * memory of the streams.
 */
#include "lib/merge_heap.h"

#include <stdbool.h>

/* The comparison has no branch, because which stream is next cannot be
 * predicted. */
static inline bool is_before(int64_t a_ns, uint64_t a_id, int64_t b_ns,
			     uint64_t b_id)
{
	return (a_ns < b_ns) | ((a_ns == b_ns) & (a_id < b_id));
}

static inline bool item_before(const struct reel_merge_item *a,
			       const struct reel_merge_item *b)
{
	return is_before(a->time_ns, a->id, b->time_ns, b->id);
}

/* Replace the top by the stream @id and sift it down. The members pass one by one:
 * a copy of a struct that was just changed waits for the change. */
static void sift_down(struct reel_merge_heap *h, int64_t time_ns, uint64_t id,
		      void *stream)
{
	struct reel_merge_item *item = h->item;
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n)
			child += item_before(&item[child + 1], &item[child]);
		if (!is_before(item[child].time_ns, item[child].id, time_ns,
			       id))
			break;
		item[i] = item[child];
		i = child;
	}
	item[i].time_ns = time_ns;
	item[i].id = id;
	item[i].stream = stream;
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
	sift_down(h, time_ns, h->item[0].id, h->item[0].stream);
}

void reel_merge_heap_drop(struct reel_merge_heap *h)
{
	const struct reel_merge_item *last = &h->item[h->n - 1];

	if (--h->n)
		sift_down(h, last->time_ns, last->id, last->stream);
}

/* SPDX-License-Identifier: MIT */
/* Events nearly in the order of their ends: a heap of the last ones. */
#include "analyzer/import/common/end_order.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/error.h"

static bool before(const struct end_order_entry *a,
		   const struct end_order_entry *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns
				      : a->number < b->number;
}

static void swap(struct end_order_entry *a, struct end_order_entry *b)
{
	struct end_order_entry t = *a;

	*a = *b;
	*b = t;
}

static void sink(struct end_order *o)
{
	for (uint32_t i = 0, k; (k = 2 * i + 1) < o->n; i = k) {
		if (k + 1 < o->n && before(&o->heap[k + 1], &o->heap[k]))
			k++;
		if (!before(&o->heap[k], &o->heap[i]))
			break;
		swap(&o->heap[i], &o->heap[k]);
	}
}

static int write_first(struct end_order *o, struct reel_writer *w,
		       struct reel_error *err)
{
	struct reel_event ev = o->heap[0].event;
	int64_t end_ns = o->heap[0].end_ns;

	o->heap[0] = o->heap[--o->n];
	sink(o);
	if (end_ns < o->written_ns)
		ev.start_ns += o->written_ns - end_ns;
	else
		o->written_ns = end_ns;
	return reel_writer_event(w, &ev, err);
}

int end_order_add(struct end_order *o, struct reel_writer *w,
		  const struct reel_event *ev, struct reel_error *err)
{
	/* @ev may be the writer's slot, which the next write fills. */
	const struct reel_event copy = *ev;
	uint32_t i;

	if (!o->heap) {
		o->heap = reel_alloc(END_ORDER_WINDOW, sizeof(*o->heap), err);
		if (!o->heap)
			return -1;
	}
	if (o->n == END_ORDER_WINDOW && write_first(o, w, err))
		return -1;
	i = o->n++;
	o->heap[i] = (struct end_order_entry){
		.event = copy,
		.end_ns = copy.start_ns + copy.dur_ns,
		.number = o->number++,
	};
	for (uint32_t up; i; i = up) {
		up = (i - 1) / 2;
		if (!before(&o->heap[i], &o->heap[up]))
			break;
		swap(&o->heap[i], &o->heap[up]);
	}
	return 0;
}

int end_order_flush(struct end_order *o, struct reel_writer *w,
		    struct reel_error *err)
{
	while (o->n)
		if (write_first(o, w, err))
			return -1;
	return 0;
}

void end_order_fini(struct end_order *o)
{
	free(o->heap);
}

/* SPDX-License-Identifier: MIT */
/* Reads and writes in the order in which the program issued them. */
#include "analyzer/metric/issue_order.h"

#include <stdlib.h>

#include "lib/error.h"

static int pass_first(struct reel_issue_order *o, struct reel_error *err)
{
	struct reel_access first =
		*(struct reel_access *)o->heap.item[0].stream;

	reel_merge_heap_drop(&o->heap);
	return o->fn(o->ctx, &first, err);
}

int reel_issue_order_add(struct reel_issue_order *o,
			 const struct reel_access *a, struct reel_error *err)
{
	struct reel_access *slot;

	if (reel_issue_order_is_next(o, a->async))
		return o->fn(o->ctx, a, err);
	if (!o->held) {
		o->held = reel_alloc(REEL_ISSUE_ORDER_HELD, sizeof(*o->held),
				     err);
		o->heap.item = reel_alloc(REEL_ISSUE_ORDER_HELD,
					  sizeof(*o->heap.item), err);
		if (!o->held || !o->heap.item)
			return -1;
	}
	slot = &o->held[o->heap.n];
	if (o->heap.n == REEL_ISSUE_ORDER_HELD) {
		slot = o->heap.item[0].stream;
		if (pass_first(o, err))
			return -1;
	}
	*slot = *a;
	reel_merge_heap_add(&o->heap, (struct reel_merge_item){a->issued_ns,
							       o->fed++, slot});
	return 0;
}

int reel_issue_order_flush(struct reel_issue_order *o, struct reel_error *err)
{
	while (o->heap.n)
		if (pass_first(o, err))
			return -1;
	return 0;
}

void reel_issue_order_fini(struct reel_issue_order *o)
{
	free(o->held);
	free(o->heap.item);
}

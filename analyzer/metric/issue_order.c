/* SPDX-License-Identifier: MIT */
/* Reads and writes in the order in which the program issued them. */
#include "analyzer/metric/issue_order.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

/* The order moves to the front when it reaches this end. */
#define ROOM (4 * REEL_ISSUE_ORDER_HELD)

static int begin_holding(struct reel_issue_order *o, struct reel_error *err)
{
	o->held = reel_alloc(REEL_ISSUE_ORDER_HELD, sizeof(*o->held), err);
	o->order = reel_alloc(ROOM, sizeof(*o->order), err);
	return o->held && o->order ? 0 : -1;
}

static int pass_first(struct reel_issue_order *o, struct reel_error *err)
{
	struct reel_access first = *o->order[o->first].access;

	o->first++;
	o->n--;
	return o->fn(o->ctx, &first, err);
}

/* Accesses are fed almost in their order, so a place is sought from the end. */
static void insert_access(struct reel_issue_order *o,
			  struct reel_access *access)
{
	struct reel_issued *at;

	if (o->first + o->n == ROOM) {
		memmove(o->order, o->order + o->first,
			o->n * sizeof(*o->order));
		o->first = 0;
	}
	at = &o->order[o->first + o->n++];
	for (; at > &o->order[o->first] && at[-1].issued_ns > access->issued_ns;
	     at--)
		*at = at[-1];
	*at = (struct reel_issued){access->issued_ns, access};
}

int reel_issue_order_add(struct reel_issue_order *o,
			 const struct reel_access *a, struct reel_error *err)
{
	struct reel_access *slot;

	if (reel_issue_order_is_next(o, a->async))
		return o->fn(o->ctx, a, err);
	if (!o->order && begin_holding(o, err))
		return -1;
	slot = &o->held[o->n];
	if (o->n == REEL_ISSUE_ORDER_HELD) {
		slot = o->order[o->first].access;
		if (pass_first(o, err))
			return -1;
	}
	*slot = *a;
	insert_access(o, slot);
	return 0;
}

int reel_issue_order_flush(struct reel_issue_order *o, struct reel_error *err)
{
	while (o->n)
		if (pass_first(o, err))
			return -1;
	return 0;
}

void reel_issue_order_fini(struct reel_issue_order *o)
{
	free(o->held);
	free(o->order);
}

/* SPDX-License-Identifier: MIT */
/* The heap of issue_order.h: the access that was issued first is on top. */
#include "analyzer/metric/issue_order.h"

#include <stdlib.h>

#include "lib/error.h"

static bool issued_before(const struct reel_access *a,
			  const struct reel_access *b)
{
	if (a->issued_ns != b->issued_ns)
		return a->issued_ns < b->issued_ns;
	return a->nth < b->nth;
}

static void swap_accesses(struct reel_access *a, struct reel_access *b)
{
	struct reel_access t = *a;

	*a = *b;
	*b = t;
}

static void sift_up(struct reel_access *h, uint32_t i)
{
	for (; i && issued_before(&h[i], &h[(i - 1) / 2]); i = (i - 1) / 2)
		swap_accesses(&h[i], &h[(i - 1) / 2]);
}

static void sift_down(struct reel_access *h, uint32_t n)
{
	uint32_t i = 0, least;

	while ((least = 2 * i + 1) < n) {
		if (least + 1 < n && issued_before(&h[least + 1], &h[least]))
			least++;
		if (!issued_before(&h[least], &h[i]))
			return;
		swap_accesses(&h[i], &h[least]);
		i = least;
	}
}

static int pass_first(struct reel_issue_order *o, struct reel_error *err)
{
	struct reel_access first = o->held[0];

	o->held[0] = o->held[--o->n];
	sift_down(o->held, o->n);
	return o->fn(o->ctx, &first, err);
}

int reel_issue_order_add(struct reel_issue_order *o, struct reel_access *a,
			 struct reel_error *err)
{
	if (!o->held) {
		if (!a->async)
			return o->fn(o->ctx, a, err);
		o->held = reel_alloc(REEL_ISSUE_ORDER_HELD, sizeof(*o->held),
				     err);
		if (!o->held)
			return -1;
	}
	if (o->n == REEL_ISSUE_ORDER_HELD && pass_first(o, err))
		return -1;
	a->nth = o->fed++;
	o->held[o->n] = *a;
	sift_up(o->held, o->n++);
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
}

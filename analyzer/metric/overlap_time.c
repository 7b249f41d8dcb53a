/* SPDX-License-Identifier: MIT */
/*
 * A union of several streams. It is given up where a call is so long that a part
 * would be missing: the result is exact or unknown.
 */
#include "analyzer/metric/overlap_time.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

/* The union is no longer that of the first stream alone: go on with a copy. */
static int begin_sum(struct overlap_time *t, uint32_t held,
		     struct reel_error *err)
{
	const struct reel_union *u = &t->first->u;
	struct reel_union *sum;

	if (u->lates || u->n > held)
		return 0;
	sum = t->sum = reel_alloc(1, sizeof(*sum), err);
	if (!sum)
		return -1;
	sum->limit = held;
	sum->past_ns = u->past_ns;
	sum->floor_ns = u->floor_ns;
	sum->iv = reel_alloc(u->n + 1, sizeof(*u->iv), err);
	if (!sum->iv)
		return -1;
	memcpy(sum->iv, u->iv, u->n * sizeof(*u->iv));
	sum->n = u->n;
	sum->room = u->n + 1;
	return 0;
}

int overlap_time_stream(struct overlap_time *t,
			const struct reel_interval_stream *s, uint32_t held,
			struct reel_error *err)
{
	if (!t->streams++)
		t->first = s;
	return t->streams == 2 && held ? begin_sum(t, held, err) : 0;
}

void overlap_time_fini(struct overlap_time *t)
{
	if (t->sum)
		reel_union_fini(t->sum);
	free(t->sum);
	t->sum = NULL;
}

int overlap_time_add(struct overlap_time *t, const struct reel_interval *iv,
		     struct reel_error *err)
{
	if (!t->sum)
		return 0;
	if (reel_union_add(t->sum, iv, err))
		return -1;
	if (t->sum->clipped)
		overlap_time_fini(t);
	return 0;
}

bool overlap_time_ns(const struct overlap_time *t, int64_t *ns)
{
	bool one = t->streams == 1 && !t->first->u.lates;

	*ns = 0;
	if (!t->streams)
		return true;
	if (!one && !t->sum)
		return false;
	*ns = reel_union_ns(one ? &t->first->u : t->sum);
	return true;
}

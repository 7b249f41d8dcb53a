/* SPDX-License-Identifier: MIT */
/* Counts of distinct values, as long as they are few. */
#include "analyzer/metric/distinct.h"

#include <stdlib.h>

#include "analyzer/metric/histogram.h"

struct value_count {
	int64_t value;
	uint64_t times;
};

int reel_distinct_add(struct reel_distinct *d, int64_t value, uint64_t n,
		      struct reel_error *err)
{
	uint32_t i;

	if (d->many || !n)
		return 0;
	i = reel_intmap_find(&d->index, (uint64_t)value);
	if (i == REEL_NO_INDEX && d->index.used == REEL_DISTINCT_MAX) {
		d->many = true;
		return 0;
	}
	if (i == REEL_NO_INDEX)
		i = reel_intmap_insert(&d->index, (uint64_t)value, err);
	if (i == REEL_NO_INDEX)
		return -1;
	d->times[i] += n;
	return 0;
}

int reel_distinct_merge(struct reel_distinct *into,
			const struct reel_distinct *from,
			struct reel_error *err)
{
	const struct reel_intmap *m = &from->index;

	into->many |= from->many;
	for (uint32_t i = 0; m->mask && i <= m->mask; i++)
		if (m->slot[i].index &&
		    reel_distinct_add(into, (int64_t)m->slot[i].key,
				      from->times[m->slot[i].index - 1], err))
			return -1;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const struct value_count *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

int64_t reel_distinct_percentile(const struct reel_distinct *d,
				 unsigned int percent)
{
	const struct reel_intmap *m = &d->index;
	struct value_count sorted[REEL_DISTINCT_MAX];
	uint64_t all = 0, seen = 0, rank;
	uint32_t n = 0, i;

	if (d->many || !m->used)
		return -1;
	for (i = 0; i <= m->mask; i++) {
		if (!m->slot[i].index)
			continue;
		sorted[n] = (struct value_count){
			(int64_t)m->slot[i].key,
			d->times[m->slot[i].index - 1],
		};
		all += sorted[n++].times;
	}
	qsort(sorted, n, sizeof(*sorted), by_value);
	rank = reel_nearest_rank(percent, all);
	for (i = 0; i < n - 1 && (seen += sorted[i].times) < rank; i++)
		;
	return sorted[i].value;
}

void reel_distinct_fini(struct reel_distinct *d)
{
	reel_intmap_fini(&d->index);
}

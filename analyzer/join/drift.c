/* SPDX-License-Identifier: MIT */
/*
 * The drift of two clocks. A window of votes holds the part of a run over which the
 * clocks agree within its width. From there a walk follows the difference of the same
 * spans in time, back to the first one that both have and on to the last.
 */
#include <stdlib.h>

#include "analyzer/join/anchors.h"

#define REACH_LEAST_NS 1000000
#define CLOCK_MOST_PER_S 200000 /* ns by which the difference changes */
#define NEAR_MOST 64		/* neighbours that are looked at */

struct walk {
	const struct anchors *b;
	int64_t reach_ns, off_ns, at_ns; /* the difference at a time */
	int64_t low_ns, high_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return join_by_name_rank(x, y);
}

static bool is_group(const struct anchors *list, size_t i,
		     const struct anchor *a)
{
	return i < list->n && list->at[i].name == a->name &&
	       list->at[i].rank == a->rank;
}

/* Does its process have another span of the name within @reach_ns? */
static bool is_alone(const struct anchors *list, size_t i, int64_t reach_ns)
{
	const struct anchor *me = &list->at[i];

	for (int step = -1; step <= 1; step += 2) {
		size_t k = i + (size_t)step;
		int looked = 0;

		for (; is_group(list, k, me); k += (size_t)step) {
			if (llabs(list->at[k].start_ns - me->start_ns) >
			    reach_ns)
				break;
			if (list->at[k].process == me->process ||
			    ++looked > NEAR_MOST)
				return false;
		}
	}
	return true;
}

/* The anchor of @w->b that is nearest to @a; false: none that is meant for sure. */
static bool find_nearest(const struct walk *w, const struct anchor *a,
			 int64_t reach_ns, size_t *found)
{
	struct anchor key = *a;
	int64_t best_ns = reach_ns + 1;
	size_t i;

	key.start_ns -= w->off_ns;
	i = join_anchors_find(w->b, &key);
	for (size_t k = i ? i - 1 : i; k <= i; k++)
		if (is_group(w->b, k, a) &&
		    llabs(w->b->at[k].start_ns - key.start_ns) < best_ns) {
			best_ns = llabs(w->b->at[k].start_ns - key.start_ns);
			*found = k;
		}
	return best_ns <= reach_ns && is_alone(w->b, *found, 3 * reach_ns);
}

/* A part of the way only: the times of single spans vary. */
static void follow(struct walk *w, const struct anchor *a)
{
	int64_t reach_ns =
		w->reach_ns +
		llabs(a->start_ns - w->at_ns) / (1000000000 / CLOCK_MOST_PER_S);
	size_t k;

	if (!find_nearest(w, a, reach_ns, &k))
		return;
	w->off_ns += (a->start_ns - w->b->at[k].start_ns - w->off_ns) / 4;
	w->at_ns += (a->start_ns - w->at_ns) / 4;
	w->low_ns = w->off_ns < w->low_ns ? w->off_ns : w->low_ns;
	w->high_ns = w->off_ns > w->high_ns ? w->off_ns : w->high_ns;
}

/* The middle one of the anchors that are in the window; @a->n: none. */
static size_t find_middle(const struct walk *w, const struct anchors *a)
{
	size_t n = 0, at = a->n, k;

	for (size_t i = 0; i < a->n; i++)
		n += find_nearest(w, &a->at[i], w->reach_ns, &k);
	for (size_t i = 0, seen = 0; at == a->n && i < a->n; i++) {
		seen += find_nearest(w, &a->at[i], w->reach_ns, &k);
		if (seen > n / 2)
			at = i;
	}
	return at;
}

void join_drift(int64_t *low_ns, int64_t *high_ns, struct anchors *a,
		const struct anchors *b, const struct join_peak *peak)
{
	int64_t at_ns = join_peak_quantile(peak, .5);
	struct walk w = {.b = b,
			 .reach_ns = peak->width_ns / 2 > REACH_LEAST_NS
					     ? peak->width_ns / 2
					     : REACH_LEAST_NS,
			 .off_ns = at_ns,
			 .low_ns = at_ns,
			 .high_ns = at_ns};
	size_t middle;

	qsort(a->at, a->n, sizeof(*a->at), by_start);
	middle = find_middle(&w, a);
	for (int way = -1; middle < a->n && way <= 1; way += 2) {
		w.off_ns = at_ns;
		w.at_ns = a->at[middle].start_ns;
		for (size_t i = middle; i < a->n; i += (size_t)way)
			follow(&w, &a->at[i]);
	}
	*low_ns = w.low_ns;
	*high_ns = w.high_ns;
}

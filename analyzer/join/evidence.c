/* SPDX-License-Identifier: MIT */
/*
 * Evidence for a shift by anchors. Spans of one step, and the same step of several
 * ranks, agree at any step: they are one observation. So only gaps between spans of one
 * name in one process count, and those by which one step differs from another:
 * the chance that gaps agree by accident is low where they vary by more than the window.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/join/anchors.h"

#define GAPS_LEAST 3	   /* four moments */
#define CHANCE_MOST .001   /* that the gaps of any pair of moments agree */
#define CHANCE_LARGEST .99 /* of one gap */
#define MATCHED .8	   /* of the gaps of a true shift */
#define RESOLUTION_NS 1000 /* of times in most formats */

/* Spans of one name and rank: all of @b, one process of @a. */
struct trial {
	const struct anchor *a, *b;
	size_t na, nb;
	int64_t low_ns, high_ns; /* of the window */
};

/* The gaps on end that agree most. */
struct stretch {
	double odds, best;
	int gaps;
};

static bool is_group(const struct anchor *a, const struct anchor *b)
{
	return a->name == b->name && a->rank == b->rank;
}

/* The gaps between those of the process of the first one, sorted. */
static int find_gaps(struct join_series *gaps, const struct anchor *at,
		     size_t n, struct reel_error *err)
{
	int64_t last_ns = 0;

	gaps->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (at[i].process != at->process)
			continue;
		if (i && join_series_add(gaps, at[i].start_ns - last_ns, err))
			return -1;
		last_ns = at[i].start_ns;
	}
	if (gaps->n)
		qsort(gaps->at, gaps->n, sizeof(*gaps->at), join_by_value);
	return 0;
}

/* The chance that another gap is in a window of @width_ns around @ns: by how near a
 * quarter of all gaps are to it. */
static double gap_chance(const struct join_series *gaps, int64_t ns,
			 int64_t width_ns)
{
	size_t low = 0, high = gaps->n, k = gaps->n / 4 ? gaps->n / 4 : 1;
	int64_t near_ns = INT64_MAX;

	if (gaps->n < 2)
		return 1;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (gaps->at[mid] < ns)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t back = 0; back <= k; back++) {
		int64_t d;

		if (back > low || low - back + k >= gaps->n)
			continue;
		d = gaps->at[low - back + k] - gaps->at[low - back];
		near_ns = d < near_ns ? d : near_ns;
	}
	if (near_ns == INT64_MAX)
		near_ns = gaps->at[gaps->n - 1] - gaps->at[gaps->n - 1 - k];
	return (double)width_ns * (double)k / (double)gaps->n /
	       (double)(near_ns + 1);
}

/* Is a span of @b in the window of @a? */
static bool is_matched(const struct trial *t, const struct anchor *a)
{
	size_t low = 0, high = t->nb;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->b[mid].start_ns < a->start_ns - t->high_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nb && t->b[low].start_ns <= a->start_ns - t->low_ns;
}

/*
 * The logarithm of the odds that gaps agree for a reason and not by accident. It counts
 * over the stretch where it is largest: clocks may drift apart out of it.
 */
static void add_gap(struct stretch *s, double chance, bool matched)
{
	chance = chance < CHANCE_LARGEST ? chance : CHANCE_LARGEST;
	s->odds += matched ? log(MATCHED / chance)
			   : log((1 - MATCHED) / (1 - chance));
	s->gaps += matched;
	if (s->odds < 0)
		*s = (struct stretch){.best = s->best};
	if (s->odds > s->best && s->gaps >= GAPS_LEAST)
		s->best = s->odds;
}

static bool is_accident(const struct trial *t, const struct join_series *gaps)
{
	int64_t width_ns = t->high_ns - t->low_ns + RESOLUTION_NS;
	int64_t first_ns = t->b[0].start_ns + t->low_ns;
	int64_t last_ns = t->b[t->nb - 1].start_ns + t->high_ns;
	struct stretch s = {0};
	double dense = last_ns > first_ns ? (double)width_ns * (double)t->nb /
						    (double)(last_ns - first_ns)
					  : 1;
	bool before = false;

	for (size_t i = 0; i < t->na; i++) {
		const struct anchor *a = &t->a[i];
		bool now = is_matched(t, a);

		if (i && a[-1].start_ns >= first_ns && a->start_ns <= last_ns)
			add_gap(&s,
				dense + gap_chance(gaps,
						   a->start_ns - a[-1].start_ns,
						   width_ns),
				before && now);
		before = now;
	}
	return s.best < log((double)t->na * (double)t->nb / CHANCE_MOST);
}

/* One process after the other of the @t->na spans of a group. */
static int try_processes(struct trial *t, struct join_series gaps[2],
			 struct reel_error *err)
{
	const struct anchor *end = t->a + t->na;
	int found = 0;

	if (find_gaps(&gaps[1], t->b, t->nb, err))
		return -1;
	while (!found && t->a < end) {
		for (t->na = 1; t->a + t->na < end &&
				t->a[t->na].process == t->a->process;)
			t->na++;
		if (find_gaps(&gaps[0], t->a, t->na, err))
			return -1;
		found = !is_accident(t, &gaps[gaps[1].n > gaps[0].n]);
		t->a += t->na;
	}
	return found;
}

static int by_process(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	if (!is_group(x, y))
		return join_by_name_rank(x, y);
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return join_by_name_rank(x, y);
}

static size_t count_group(const struct anchors *list, size_t from)
{
	size_t n = 0;

	while (from + n < list->n &&
	       is_group(&list->at[from + n], &list->at[from]))
		n++;
	return n;
}

static int find_evidence(const struct anchors *a, const struct anchors *b,
			 const struct join_peak *peak, struct reel_error *err)
{
	struct join_series gaps[2] = {{0}};
	int rc = 0;

	for (size_t i = 0, n; !rc && i < a->n; i += n) {
		struct anchor key = a->at[i];
		struct trial t = {.low_ns = peak->diff[0],
				  .high_ns = peak->diff[peak->votes - 1]};
		size_t k;

		n = count_group(a, i);
		key.start_ns = INT64_MIN;
		k = join_anchors_find(b, &key);
		if (k == b->n || !is_group(&key, &b->at[k]))
			continue;
		t.nb = count_group(b, k);
		t.b = &b->at[k];
		t.na = n;
		t.a = &a->at[i];
		qsort(&a->at[i], n, sizeof(*a->at), by_process);
		rc = try_processes(&t, gaps, err);
		qsort(&a->at[i], n, sizeof(*a->at), join_by_name_rank);
	}
	join_series_fini(&gaps[0]);
	join_series_fini(&gaps[1]);
	return rc;
}

/* A copy of @list in which each anchor begins where it ends. 0, or -1 with @err. */
static int copy_ends(struct anchors *to, const struct anchors *list,
		     struct reel_error *err)
{
	to->at = reel_alloc(list->n + 1, sizeof(*to->at), err);
	if (!to->at)
		return -1;
	for (; to->n < list->n; to->n++) {
		to->at[to->n] = list->at[to->n];
		to->at[to->n].start_ns = list->at[to->n].end_ns;
	}
	qsort(to->at, to->n, sizeof(*to->at), join_by_name_rank);
	return 0;
}

/* Two tools begin spans at one distance and end them at another: the window holds the
 * starts or the ends. */
int join_evidence(const struct anchors *a, const struct anchors *b,
		  const struct join_peak *peak, struct reel_error *err)
{
	struct anchors ends[2] = {{0}};
	int rc = find_evidence(a, b, peak, err);

	if (!rc)
		rc = copy_ends(&ends[0], a, err) || copy_ends(&ends[1], b, err)
			     ? -1
			     : find_evidence(&ends[0], &ends[1], peak, err);
	free(ends[0].at);
	free(ends[1].at);
	return rc;
}

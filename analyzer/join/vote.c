/* SPDX-License-Identifier: MIT */
/*
 * Votes for a shift: each pair of moments of two stores votes for the difference
 * of its times. Pairs of the same moment vote for the true shift, all others for
 * any. Windows over the sorted differences are counted; the fullest one is the
 * shift if no other holds nearly as many.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/join/align.h"

#define PAIRS_MOST (4u << 20) /* of two series: 32 MiB */
#define SIDE_MOST (PAIRS_MOST / 64)
#define WINDOWS_B 3
#define VOTES_LEAST 6
#define MATCHED_LEAST .3 /* of the moments that could match */
#define SECOND_MOST .6	 /* of the votes of the peak, for any other one */

int join_series_add(struct join_series *s, int64_t at_ns,
		    struct reel_error *err)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 256;

		if (reel_grow(&s->at, room, sizeof(*s->at), err))
			return -1;
		s->room = room;
	}
	s->at[s->n++] = at_ns;
	return 0;
}

void join_series_fini(struct join_series *s)
{
	free(s->at);
	*s = (struct join_series){0};
}

void join_votes_fini(struct join_votes *v)
{
	free(v->diff);
	*v = (struct join_votes){0};
}

/* The start of window @i of @n that are spread evenly over @of moments. */
static size_t window_start(size_t of, size_t room, size_t i, size_t n)
{
	return n > 1 ? (of - room) / (n - 1) * i : (of - room) / 2;
}

/* Windows of @b around its middle, its first quarter and its last one, for each window
 * of @a. Neighbours stay together: gaps between them find the shift. */
int join_votes_add(struct join_votes *v, const struct join_series *a,
		   const struct join_series *b, struct reel_error *err)
{
	size_t na = a->n, nb = b->n, i = 0, k = 0;

	if (!na || !nb)
		return 0;
	if (na * nb > PAIRS_MOST) {
		static const size_t order[WINDOWS_B] = {2, 1, 3};
		size_t windows;

		na = na > SIDE_MOST ? SIDE_MOST : na;
		nb = nb > PAIRS_MOST / na ? PAIRS_MOST / na : nb;
		windows = (a->n + na - 1) / na;
		i = window_start(a->n, na, v->sample / WINDOWS_B % windows,
				 windows);
		k = window_start(b->n, nb, order[v->sample % WINDOWS_B],
				 WINDOWS_B + 2);
		if (windows * WINDOWS_B > v->samples)
			v->samples = (unsigned)windows * WINDOWS_B;
	}
	if (v->n + na * nb > v->room) {
		size_t room = 2 * v->room > v->n + na * nb ? 2 * v->room
							   : v->n + na * nb;

		if (reel_grow(&v->diff, room, sizeof(*v->diff), err))
			return -1;
		v->room = room;
	}
	for (size_t x = i; x < i + na; x++)
		for (size_t y = k; y < k + nb; y++)
			v->diff[v->n++] = a->at[x] - b->at[y];
	v->matches += na < nb ? na : nb;
	return 0;
}

int join_by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The fullest window of @width_ns in diff[from] to diff[to]; its first vote. */
static size_t fullest(const struct join_votes *v, size_t from, size_t to,
		      int64_t width_ns, size_t *votes)
{
	size_t best = from, last = from;

	*votes = 0;
	for (size_t i = from; i < to; i++) {
		while (last < to && v->diff[last] - v->diff[i] <= width_ns)
			last++;
		if (last - i > *votes) {
			*votes = last - i;
			best = i;
		}
	}
	return best;
}

/* Windows that overlap the peak, or nearly so, are no other shift. */
static size_t count_elsewhere(const struct join_votes *v, size_t first,
			      size_t last, int64_t width_ns)
{
	size_t below = first, above = last, a, b;

	while (below > 0 && v->diff[below - 1] >= v->diff[first] - 2 * width_ns)
		below--;
	while (above < v->n &&
	       v->diff[above] <= v->diff[last - 1] + 2 * width_ns)
		above++;
	fullest(v, 0, below, width_ns, &a);
	fullest(v, above, v->n, width_ns, &b);
	return a > b ? a : b;
}

/* Counts of accidental votes vary by about their root; of the many windows that are
 * tried, the fullest one is far above the usual. */
static bool is_distinct(size_t votes, size_t second)
{
	double more = (double)votes - (double)second;

	return (double)second <= SECOND_MOST * (double)votes &&
	       more * more >= 6 * (double)votes;
}

bool join_votes_peak(struct join_votes *v, int64_t most_ns,
		     struct join_peak *out)
{
	static const int64_t widths_us[] = {20,	  50,	100,  200,   500,
					    1000, 2000, 5000, 10000, 20000};

	if (v->matches < VOTES_LEAST)
		return false;
	qsort(v->diff, v->n, sizeof(*v->diff), join_by_value);
	for (size_t i = 0; i < sizeof(widths_us) / sizeof(*widths_us) &&
			   widths_us[i] * 1000 <= most_ns;
	     i++) {
		int64_t width_ns = widths_us[i] * 1000;
		size_t votes, at = fullest(v, 0, v->n, width_ns, &votes);
		size_t second;

		if (votes < VOTES_LEAST ||
		    (double)votes < MATCHED_LEAST * (double)v->matches)
			continue;
		second = count_elsewhere(v, at, at + votes, width_ns);
		if (!is_distinct(votes, second))
			continue;
		*out = (struct join_peak){v->diff + at, votes, second,
					  width_ns};
		return true;
	}
	return false;
}

bool join_votes_near(struct join_votes *v, int64_t at_ns, int64_t reach_ns,
		     int64_t width_ns, struct join_peak *out)
{
	size_t from = 0, to, votes, at;

	if (!v->n)
		return false;
	qsort(v->diff, v->n, sizeof(*v->diff), join_by_value);
	while (from < v->n && v->diff[from] < at_ns - reach_ns)
		from++;
	for (to = from; to < v->n && v->diff[to] <= at_ns + reach_ns;)
		to++;
	at = fullest(v, from, to, width_ns, &votes);
	*out = (struct join_peak){v->diff + at, votes, 0, width_ns};
	return votes >= VOTES_LEAST;
}

int64_t join_peak_quantile(const struct join_peak *p, double share)
{
	return p->diff[(size_t)((double)(p->votes - 1) * share)];
}

/* SPDX-License-Identifier: MIT */
/*
 * Distances of distributions. Both runs have their values in the same buckets,
 * so the CDFs are compared at the bounds of these, and between the values of a bucket
 * where each run has one value in it; quantiles are means of buckets, which are exact
 * there. Calls without times have no times between them.
 */
#include "analyzer/compare/distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

static const struct {
	const char *name, *unit, *sql;
} kind[REEL_DISTANCES] = {
	{"size of reads", "B",
	 "SELECT * FROM distribution WHERE quantity = 'size' AND op = 'read' "
	 "ORDER BY low"},
	{"size of writes", "B",
	 "SELECT * FROM distribution WHERE quantity = 'size' AND op = 'write' "
	 "ORDER BY low"},
	{"time between calls", "ns",
	 "SELECT * FROM distribution WHERE quantity = 'inter_arrival' AND NOT "
	 "EXISTS (SELECT 1 FROM loss WHERE reason = 'no_time') ORDER BY low"},
	{"stride of reads", "B",
	 "SELECT * FROM distribution WHERE quantity = 'stride' "
	 "AND op = 'read' ORDER BY low"},
	{"stride of writes", "B",
	 "SELECT * FROM distribution WHERE quantity = 'stride' "
	 "AND op = 'write' ORDER BY low"},
};

#define MOST 1e15 /* calls, and a value, of a bucket */

struct bucket {
	int64_t low;
	double calls, mean;
};

struct buckets {
	struct bucket *b; /* by low */
	size_t n;
	double calls, sum, sum_abs;
};

static int read_buckets(struct reel_store *st, const char *sql,
			struct buckets *out, struct reel_error *err)
{
	struct reel_view v;
	size_t room = 0;

	reel_view_open(&v, st, sql, err);
	while (reel_view_next(&v)) {
		struct bucket b = {
			.low = reel_view_exact(&v, "low"),
			.calls = reel_view_real(&v, "calls"),
			.mean = reel_view_real(&v, "mean"),
		};

		/* A store may come from elsewhere: sums stay finite. */
		if (!(b.calls > 0 && b.calls < MOST) || !(fabs(b.mean) < MOST))
			continue;
		if (out->n == room) {
			room = room ? 2 * room : 256;
			if (reel_grow(&out->b, room, sizeof(b), err)) {
				v.failed = true;
				break;
			}
		}
		out->b[out->n++] = b;
		out->calls += b.calls;
		out->sum += b.calls * b.mean;
		out->sum_abs += b.calls * fabs(b.mean);
	}
	return reel_view_close(&v);
}

/* Is it one value, again and again? A mean of several is seldom a whole number. */
static bool is_one_value(const struct bucket *b)
{
	return b->mean == nearbyint(b->mean);
}

/* The difference of the CDFs between the values of @a and @b, which are in the same
 * bucket; @before: that below it. */
static double difference_within(const struct bucket *a, double share_a,
				const struct bucket *b, double share_b,
				double before)
{
	if (a->mean == b->mean || !is_one_value(a) || !is_one_value(b))
		return 0;
	return fabs(a->mean < b->mean ? before + share_a : before - share_b);
}

static double find_ks(const struct buckets *a, const struct buckets *b)
{
	double cdf_a = 0, cdf_b = 0, most = 0;
	size_t i = 0, k = 0;

	while (i < a->n || k < b->n) {
		bool in_a =
			i < a->n && (k == b->n || a->b[i].low <= b->b[k].low);
		bool in_b =
			k < b->n && (i == a->n || b->b[k].low <= a->b[i].low);

		double share_a = in_a ? a->b[i].calls / a->calls : 0;
		double share_b = in_b ? b->b[k].calls / b->calls : 0;

		if (in_a && in_b)
			most = fmax(most, difference_within(&a->b[i], share_a,
							    &b->b[k], share_b,
							    cdf_a - cdf_b));
		i += in_a;
		k += in_b;
		cdf_a += share_a;
		cdf_b += share_b;
		most = fmax(most, fabs(cdf_a - cdf_b));
	}
	return fmin(most, 1);
}

/* Move the mass of one distribution to the other, from the smallest value on.
 */
static double find_w1(const struct buckets *a, const struct buckets *b)
{
	double left_a = a->b[0].calls / a->calls;
	double left_b = b->b[0].calls / b->calls, sum = 0;
	size_t i = 0, k = 0;

	while (i < a->n && k < b->n) {
		double part = fmin(left_a, left_b);

		sum += part * fabs(a->b[i].mean - b->b[k].mean);
		left_a -= part;
		left_b -= part;
		if (left_a <= left_b && ++i < a->n)
			left_a = a->b[i].calls / a->calls;
		else if (left_b < left_a && ++k < b->n)
			left_b = b->b[k].calls / b->calls;
	}
	return sum;
}

static void find_one(struct reel_distance *d, const struct buckets *a,
		     const struct buckets *b)
{
	double mean;

	d->calls_a = (int64_t)a->calls;
	d->calls_b = (int64_t)b->calls;
	d->has = a->n && b->n;
	d->mean_a = a->n ? a->sum / a->calls : 0;
	d->mean_b = b->n ? b->sum / b->calls : 0;
	if (!d->has)
		return;
	d->ks = find_ks(a, b);
	d->w1 = find_w1(a, b);
	mean = fmax(a->sum_abs / a->calls, b->sum_abs / b->calls);
	d->w1_over_mean = mean > 0 ? d->w1 / mean : 0;
}

int reel_distance_find(struct reel_store *a, struct reel_store *b,
		       struct reel_distance out[static REEL_DISTANCES],
		       struct reel_error *err)
{
	for (int i = 0; i < REEL_DISTANCES; i++) {
		struct buckets in_a = {0}, in_b = {0};
		int rc = read_buckets(a, kind[i].sql, &in_a, err) ||
			 read_buckets(b, kind[i].sql, &in_b, err);

		out[i] = (struct reel_distance){.name = kind[i].name,
						.unit = kind[i].unit};
		if (!rc)
			find_one(&out[i], &in_a, &in_b);
		free(in_a.b);
		free(in_b.b);
		if (rc)
			return -1;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Percentiles against sorted values. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/metric/distinct.h"
#include "analyzer/metric/histogram.h"

#include "tests/lib/random.h"
#include "tests/lib/tap.h"

#define N 100001

static int64_t value[N];

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The exact percentile, by nearest rank. */
static double exact_percentile(unsigned int percent, int n)
{
	double rank = ceil((double)percent * n / 100);

	return (double)value[rank < 1 ? 0 : (int)rank - 1];
}

static void against_sorted(const char *what, int n)
{
	static const unsigned int percent[] = {0,  1,  5,  25, 50,
					       75, 95, 99, 100};
	struct reel_histogram *h = calloc(1, sizeof(*h));
	double worst = 0, sum = 0;
	size_t i;

	for (i = 0; i < (size_t)n; i++) {
		reel_histogram_add(h, value[i], 1);
		sum += (double)value[i];
	}
	qsort(value, (size_t)n, sizeof(value[0]), by_value);
	for (i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
		double want = exact_percentile(percent[i], n);
		double got = reel_histogram_percentile(h, percent[i]);

		worst = fmax(worst, fabs(got - want) / fmax(want, 1));
	}
	ok(worst <= 0.01, "%s: percentiles within 1 %% (%.4f)", what, worst);
	ok(fabs(reel_histogram_mean(h) - sum / n) <= 1e-9 * (sum / n),
	   "%s: the mean is exact", what);
	is(reel_histogram_min(h), value[0], "%s: min is exact", what);
	is(h->max, value[n - 1], "%s: max is exact", what);
	free(h);
}

static void distributions(void)
{
	int i;

	for (i = 0; i < N; i++)
		value[i] = i;
	against_sorted("uniform", N);
	for (i = 0; i < N; i++)
		value[i] = (int64_t)exp((double)(chance() % 1000000) * 4.2e-5);
	against_sorted("log-uniform over 18 decades", N);
	for (i = 0; i < N; i++)
		value[i] = i % 2 ? 4096 : 262144;
	against_sorted("two values, even count", N - 1);
	value[0] = 10;
	value[1] = 1000;
	against_sorted("two values: the median is the lower", 2);
	value[0] = 262143;
	against_sorted("one value", 1);
}

static void buckets(void)
{
	int64_t v;
	int in = 1, order = 1, step;

	for (step = 0; step < 62; step++) {
		for (v = ((int64_t)1 << step) - 1;
		     v <= ((int64_t)1 << step) + 1; v++) {
			uint32_t b = reel_bucket_of(v);

			in &= b < REEL_HISTOGRAM_BUCKETS &&
			      reel_bucket_low(b) <= v &&
			      (v == INT64_MAX || reel_bucket_low(b + 1) > v);
			order &= v == 0 || reel_bucket_of(v - 1) <= b;
		}
	}
	ok(in, "a value is inside of its bucket");
	ok(order, "buckets are in the order of values");
	ok(reel_bucket_of(INT64_MAX) == REEL_HISTOGRAM_BUCKETS - 1,
	   "the largest value has the last bucket");
}

/* Few distinct values against sorted values. */
static void few_values(const char *what, int n, int64_t distinct)
{
	struct reel_distinct *d = calloc(1, sizeof(*d));
	int wrong = 0, i;

	for (i = 0; i < n; i++) {
		value[i] = (i < distinct ? i : (int64_t)(chance() % distinct)) *
			   0x123456789;
		if (reel_distinct_add(d, value[i], 1, NULL))
			wrong++;
	}
	qsort(value, (size_t)n, sizeof(value[0]), by_value);
	for (i = 0; i <= 100; i++)
		wrong += reel_distinct_percentile(d, (unsigned)i) !=
			 (distinct > REEL_DISTINCT_MAX
				  ? -1
				  : (int64_t)exact_percentile((unsigned)i, n));
	is(wrong, 0, "%s: exact percentiles", what);
	is(d->many, distinct > REEL_DISTINCT_MAX, "%s: too many", what);
	reel_distinct_fini(d);
	free(d);
}

static void distinct(void)
{
	struct reel_distinct *a = calloc(1, sizeof(*a));
	struct reel_distinct *b = calloc(1, sizeof(*b));

	few_values("one value", 1, 1);
	few_values("two values", 1000, 2);
	few_values("values that come once", 100, 100);
	few_values("the most", N, REEL_DISTINCT_MAX);
	few_values("one more", N, REEL_DISTINCT_MAX + 1);
	is(reel_distinct_percentile(a, 50), -1, "none: no percentile");
	for (int64_t v = 0; v < REEL_DISTINCT_MAX; v++)
		if (reel_distinct_add(a, v, 1, NULL) ||
		    reel_distinct_add(b, v % 2, UINT64_C(1) << 50, NULL))
			ok(0, "add");
	ok(!reel_distinct_merge(a, b, NULL) && !a->many &&
		   reel_distinct_percentile(a, 99) == 1,
	   "merged: the same values");
	reel_distinct_fini(b);
	memset(b, 0, sizeof(*b));
	ok(!reel_distinct_add(b, REEL_DISTINCT_MAX, 1, NULL) &&
		   !reel_distinct_merge(a, b, NULL) && a->many,
	   "merged: one value too many");
	reel_distinct_fini(a);
	reel_distinct_fini(b);
	free(a);
	free(b);
}

static void edge_cases(void)
{
	struct reel_histogram *h = calloc(1, sizeof(*h));
	struct reel_histogram *other = calloc(1, sizeof(*h));

	ok(reel_histogram_percentile(h, 50) == -1 &&
		   reel_histogram_mean(h) == -1,
	   "an empty histogram has no percentile and no mean");
	reel_histogram_add(other, 5, 3);
	reel_histogram_add(other, -7, 1);
	reel_histogram_merge(h, other);
	is(h->n, 4, "merged into an empty one: count");
	is(reel_histogram_min(h), 0, "a negative value counts as 0");
	is(reel_histogram_percentile(h, 50), 5, "merged: median");
	reel_histogram_add(h, INT64_MAX, 1000);
	ok(reel_histogram_percentile(h, 99) > 0x1p62,
	   "sums beyond 64 bits are exact");
	free(h);
	free(other);
}

int main(void)
{
	distributions();
	buckets();
	edge_cases();
	distinct();
	return done();
}

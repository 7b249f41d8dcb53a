/* SPDX-License-Identifier: MIT */
/* Percentiles against sorted values. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyzer/histogram.h"

#include "tests/chance.h"
#include "tests/tap.h"

#define N 100001

static int64_t value[N];

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double exact(double percent, int n)
{
	double where = percent / 100 * (n - 1), below = floor(where);

	if (where == below)
		return (double)value[(int)below];
	return (double)value[(int)below] * (below + 1 - where) +
	       (double)value[(int)below + 1] * (where - below);
}

static void against_sorted(const char *what, int n)
{
	static const double percent[] = {0, 1, 5, 25, 50, 75, 95, 99, 100};
	struct reel_histogram *h = calloc(1, sizeof(*h));
	double worst = 0, sum = 0;
	size_t i;

	for (i = 0; i < (size_t)n; i++) {
		reel_histogram_add(h, value[i], 1);
		sum += (double)value[i];
	}
	qsort(value, (size_t)n, sizeof(value[0]), by_value);
	for (i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
		double want = exact(percent[i], n);
		double got = reel_histogram_percentile(h, percent[i]);

		worst = fmax(worst, fabs(got - want) / fmax(want, 1));
	}
	ok(worst <= 0.01, "%s: percentiles within 1 %% (%.4f)", what, worst);
	ok(fabs(reel_histogram_mean(h) - sum / n) <= 1e-9 * (sum / n),
	   "%s: the mean is exact", what);
	is(h->min, value[0], "%s: min is exact", what);
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
	against_sorted("two values: the median is between", 2);
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
	ok(in, "a value lies in its bucket");
	ok(order, "buckets are in the order of values");
	ok(reel_bucket_of(INT64_MAX) == REEL_HISTOGRAM_BUCKETS - 1,
	   "the largest value has the last bucket");
}

static void corners(void)
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
	is(h->min, 0, "a negative value counts as 0");
	is(reel_histogram_percentile(h, 50), 5, "merged: median");
	reel_histogram_add(h, INT64_MAX, 1000);
	ok(reel_histogram_percentile(h, 99) > 0x1p62, "sums past 64 bits hold");
	free(h);
	free(other);
}

int main(void)
{
	distributions();
	buckets();
	corners();
	return done();
}

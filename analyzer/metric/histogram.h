/* SPDX-License-Identifier: MIT */
/*
 * A log-linear histogram: percentiles of any number of values within 1 %.
 *
 * Each power of two is divided into 128 buckets, and a bucket keeps the sum of
 * its values: a value below 256, or alone in its bucket, is reproduced exactly;
 * any other within 0.8 %.
 */
#ifndef ANALYZER_METRIC_HISTOGRAM_H
#define ANALYZER_METRIC_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define REEL_HISTOGRAM_BITS 7
#define REEL_HISTOGRAM_BUCKETS                                                 \
	((64 - REEL_HISTOGRAM_BITS) << REEL_HISTOGRAM_BITS)

struct reel_bucket {
	_Alignas(16) uint64_t n; /* no bucket lies in two lines of a cache */
	uint64_t above;		 /* sum of value - reel_bucket_low() */
};

/* Zeroed is valid and empty. 114 KiB: not for the stack. */
struct reel_histogram {
	struct reel_bucket bucket[REEL_HISTOGRAM_BUCKETS];
	uint64_t n;
	int64_t below_max; /* INT64_MAX - the smallest value */
	int64_t max;
};

/* The low bits of @v (at most INT64_MAX) that its bucket does not tell. */
static inline uint32_t reel_bucket_shift(uint64_t v)
{
	const uint64_t exact = 1u << REEL_HISTOGRAM_BITS;

	return 63 - REEL_HISTOGRAM_BITS - (uint32_t)__builtin_clzll(v | exact);
}

/* The bucket of @value (>= 0), and the lowest value of a bucket. */
static inline uint32_t reel_bucket_of(int64_t value)
{
	uint64_t v = (uint64_t)value;
	uint32_t top = reel_bucket_shift(v);

	return (top << REEL_HISTOGRAM_BITS) + (uint32_t)(v >> top);
}

static inline int64_t reel_bucket_low(uint32_t bucket)
{
	uint32_t top = bucket >> REEL_HISTOGRAM_BITS;
	uint32_t in = bucket & ((1u << REEL_HISTOGRAM_BITS) - 1);

	if (top < 2)
		return bucket;
	return (int64_t)(in | 1u << REEL_HISTOGRAM_BITS) << (top - 1);
}

/* Add @value @n times; a negative one counts as 0. */
static inline void reel_histogram_add(struct reel_histogram *h, int64_t value,
				      uint64_t n)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;
	uint64_t told = UINT64_MAX << reel_bucket_shift(v);
	struct reel_bucket *b = &h->bucket[reel_bucket_of((int64_t)v)];

	b->n += n;
	b->above += n * (v & ~told);
	h->n += n;
	if (INT64_MAX - (int64_t)v > h->below_max)
		h->below_max = INT64_MAX - (int64_t)v;
	if ((int64_t)v > h->max)
		h->max = (int64_t)v;
}

/* 0 if the histogram is empty. */
static inline int64_t reel_histogram_min(const struct reel_histogram *h)
{
	return h->n ? INT64_MAX - h->below_max : 0;
}

/* The sum of all values: exact, rounded once, as no bucket's "above" overflows. */
double reel_histogram_sum(const struct reel_histogram *h);

/* Add all values of @from to @into. */
void reel_histogram_merge(struct reel_histogram *into,
			  const struct reel_histogram *from);

/* The nearest rank of a percentile, from 1: the first of @n sorted values such
 * that at least @percent of them are not larger. */
static inline uint64_t reel_nearest_rank(unsigned int percent, uint64_t n)
{
	unsigned __int128 rank = ((unsigned __int128)percent * n + 99) / 100;

	return rank ? (uint64_t)rank : 1;
}

/* The percentile by nearest rank, within 1 %; -1: empty. */
double reel_histogram_percentile(const struct reel_histogram *h,
				 unsigned int percent);
double reel_histogram_mean(const struct reel_histogram *h); /* -1: empty */

#endif

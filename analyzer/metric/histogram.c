/* SPDX-License-Identifier: MIT */
/*
 * Percentiles of a log-linear histogram.
 *
 * A bucket is represented by its mean, limited to the bucket's range and to the
 * seen range, so the extremes and constant distributions are exact.
 */
#include "analyzer/metric/histogram.h"

#include <math.h>

void reel_histogram_merge(struct reel_histogram *into,
			  const struct reel_histogram *from)
{
	uint32_t i;

	if (from->below_max > into->below_max)
		into->below_max = from->below_max;
	if (from->max > into->max)
		into->max = from->max;
	into->n += from->n;
	for (i = 0; i < REEL_HISTOGRAM_BUCKETS; i++) {
		into->bucket[i].n += from->bucket[i].n;
		into->bucket[i].above += from->bucket[i].above;
	}
}

double reel_histogram_percentile(const struct reel_histogram *h,
				 unsigned int percent)
{
	uint64_t rank = reel_nearest_rank(percent, h->n), seen = 0;
	double v;
	uint32_t i;

	if (!h->n)
		return -1;
	if (rank <= 1)
		return (double)reel_histogram_min(h);
	if (rank >= h->n)
		return (double)h->max;
	for (i = 0; i < REEL_HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i].n;
		if (seen >= rank)
			break;
	}
	if (i == REEL_HISTOGRAM_BUCKETS)
		return (double)h->max;
	v = (double)reel_bucket_low(i) +
	    (double)h->bucket[i].above / (double)h->bucket[i].n;
	return fmin(fmax(v, (double)reel_histogram_min(h)), (double)h->max);
}

double reel_histogram_sum(const struct reel_histogram *h)
{
	unsigned __int128 sum = 0;

	for (uint32_t i = 0; i < REEL_HISTOGRAM_BUCKETS; i++)
		sum += (unsigned __int128)h->bucket[i].n *
			       (uint64_t)reel_bucket_low(i) +
		       h->bucket[i].above;
	return (double)sum;
}

double reel_histogram_mean(const struct reel_histogram *h)
{
	return h->n ? reel_histogram_sum(h) / (double)h->n : -1;
}

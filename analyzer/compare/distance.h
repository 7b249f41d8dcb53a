/* SPDX-License-Identifier: MIT */
/*
 * Distances of the distributions of two runs: sizes of reads and writes, times
 * between the calls of a thread, strides of offsets.
 */
#ifndef ANALYZER_COMPARE_DISTANCE_H
#define ANALYZER_COMPARE_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_store;

enum {
	REEL_DISTANCE_READ_SIZE,
	REEL_DISTANCE_WRITE_SIZE,
	REEL_DISTANCE_ARRIVAL,
	REEL_DISTANCE_READ_STRIDE,
	REEL_DISTANCE_WRITE_STRIDE,
	REEL_DISTANCES
};

struct reel_distance {
	const char *name;	  /* "size of reads" */
	const char *unit;	  /* "B", "ns" */
	int64_t calls_a, calls_b; /* in the distributions; 0: not measured */
	bool has;		  /* both runs have calls */
	double mean_a, mean_b;
	double ks; /* Kolmogorov-Smirnov: largest difference of the CDFs, 0..1 */
	double w1; /* Wasserstein: mean distance of equal quantiles, in @unit */
	double w1_over_mean; /* w1 / larger mean of the absolute values */
};

/*
 * Compare the distributions of @a and @b (borrowed). Both distances are exact where a
 * run has one value in a bucket, KS at the bounds of all buckets, see
 * schemas/metric_distribution.sql. 0, or -1
 * with @err: REEL_E_DB, REEL_E_MEMORY. Source: ioreel-compare(1).
 */
int reel_distance_find(struct reel_store *a, struct reel_store *b,
		       struct reel_distance out[static REEL_DISTANCES],
		       struct reel_error *err);

#endif

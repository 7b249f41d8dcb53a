/* SPDX-License-Identifier: MIT */
/* Counts of distinct values, as long as they are few: exact percentiles. */
#ifndef ANALYZER_METRIC_DISTINCT_H
#define ANALYZER_METRIC_DISTINCT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/intmap.h"

struct reel_error;

#define REEL_DISTINCT_MAX 4096

/* Zeroed is valid and empty. 32 KiB: not for the stack. */
struct reel_distinct {
	struct reel_intmap index; /* value -> index in times */
	uint64_t times[REEL_DISTINCT_MAX];
	bool many; /* too many values: counting has stopped */
};

/* Add @value @n times. 0, or -1 with @err: REEL_E_MEMORY. */
int reel_distinct_add(struct reel_distinct *d, int64_t value, uint64_t n,
		      struct reel_error *err);
/* Add all values of @from to @into. */
int reel_distinct_merge(struct reel_distinct *into,
			const struct reel_distinct *from,
			struct reel_error *err);
/*
 * The percentile by nearest rank: the smallest value such that at least
 * @percent of the values are not larger. -1 when there are no or too many
 * values.
 */
int64_t reel_distinct_percentile(const struct reel_distinct *d,
				 unsigned int percent);
void reel_distinct_fini(struct reel_distinct *d);

#endif

/* SPDX-License-Identifier: MIT */
/* How often each value came, of values that are few: exact percentiles. */
#ifndef ANALYZER_METRIC_DISTINCT_H
#define ANALYZER_METRIC_DISTINCT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/intmap.h"

struct reel_error;

#define REEL_DISTINCT_MAX 4096

/* Zeroed is valid and empty. 32 KiB: not for the stack. */
struct reel_distinct {
	struct reel_intmap index; /* of a value, in times */
	uint64_t times[REEL_DISTINCT_MAX];
	bool many; /* there are more: nothing is counted any longer */
};

/* Add @value @n times. 0, or -1 with @err: REEL_E_MEMORY. */
int reel_distinct_add(struct reel_distinct *d, int64_t value, uint64_t n,
		      struct reel_error *err);
/* Add to @into all that is in @from. */
int reel_distinct_merge(struct reel_distinct *into,
			const struct reel_distinct *from,
			struct reel_error *err);
/*
 * The value of nearest rank: the smallest that at least @percent of the values
 * do not exceed. -1 when there is none, or there are too many to know.
 */
int64_t reel_distinct_percentile(const struct reel_distinct *d,
				 unsigned int percent);
void reel_distinct_fini(struct reel_distinct *d);

#endif

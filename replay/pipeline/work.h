/* SPDX-License-Identifier: MIT */
/* Time that passes: computing and preprocessing. */
#ifndef REPLAY_PIPELINE_WORK_H
#define REPLAY_PIPELINE_WORK_H

#include <stdint.h>

struct quantiles;
struct workload_compute;

/* Let sleeps of this thread end within a microsecond or so. */
void work_begin(void);
/* Spend @ns: @on is of enum workload_work. The time that it took. */
int64_t work_spend(int64_t ns, int on);

/* Durations of steps: drawn from quantiles, or runs of a recorded series. */
struct work_steps {
	const struct workload_compute *is;
	uint64_t random;
	uint32_t at, left; /* in the series: next value, rest of the block */
};

/* Ranks compute for equal times, as they do the same steps. */
void work_steps_begin(struct work_steps *s, const struct workload_compute *is,
		      uint64_t seed);
int64_t work_steps_next(struct work_steps *s);

#endif

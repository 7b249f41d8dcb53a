/* SPDX-License-Identifier: MIT */
/* Time that passes. */
#include "replay/pipeline/work.h"

#include <sys/prctl.h>
#include <time.h>

#include "lib/clock.h"

#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* A sleep ends late by some 5 to 50 us: the rest is spun. */
#define SPIN_NS 60000

void work_begin(void)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

static int64_t thread_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Use @ns of processor time. That is a system call to look at, and it takes no less
 * time than passes. */
static void use_processor(int64_t ns)
{
	int64_t until = thread_ns() + ns;

	for (int64_t left = ns; left > 0; left = until - thread_ns()) {
		int64_t end = reel_now_ns() + left;

		while (reel_now_ns() < end)
			;
	}
}

int64_t work_spend(int64_t ns, int on)
{
	int64_t start = reel_now_ns(), end = start + ns, now;

	if (ns <= 0)
		return 0;
	if (on == WORKLOAD_PROCESSOR) {
		use_processor(ns);
		return reel_now_ns() - start;
	}
	if (on == WORKLOAD_SLEEP && ns > SPIN_NS) {
		struct timespec until = {.tv_sec = (end - SPIN_NS) / 1000000000,
					 .tv_nsec =
						 (end - SPIN_NS) % 1000000000};

		/* A signal ends the sleep: the caller looks for it. */
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
				    NULL))
			return reel_now_ns() - start;
	}
	do {
		now = reel_now_ns();
	} while (now < end);
	return now - start;
}

void work_steps_begin(struct work_steps *s, const struct workload_compute *is,
		      uint64_t seed)
{
	s->is = is;
	s->random = seed;
	s->at = s->left = 0;
}

int64_t work_steps_next(struct work_steps *s)
{
	uint32_t n = s->is->series_ns_n;

	if (!n)
		return quantiles_at(&s->is->step_ns, random_share(&s->random));
	if (!s->left) {
		s->at = (uint32_t)(random_next(&s->random) % n);
		s->left = (uint32_t)s->is->block;
	}
	s->left--;
	if (s->at == n)
		s->at = 0;
	return s->is->series_ns[s->at++];
}

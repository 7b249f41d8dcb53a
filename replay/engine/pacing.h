/* SPDX-License-Identifier: MIT */
/*
 * Waiting: for a moment, precisely and without burning a processor that
 * somebody else needs; and for another stream.
 */
#ifndef REPLAY_ENGINE_PACING_H
#define REPLAY_ENGINE_PACING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct result;
struct result_stream;

static inline int64_t wait_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

struct wait_clock {
	int64_t margin_ns; /* a sleep ends this much too late at most, mostly */
	int processors;
	bool burn; /* compute through the gaps: never sleep */
};

/* Measure how late sleeps end here; some 10 ms. For one thread: wait_begin(). */
void wait_calibrate(struct wait_clock *clock, bool burn);

/* Once in every thread: sleeps of the thread end as soon as they can. */
void wait_begin(void);

/*
 * Sleep until @deadline_ns less the margin, spin for the rest. The margin is 0
 * while as many threads spin as there are processors.
 */
void wait_until(const struct wait_clock *clock, const struct result *res,
		int64_t deadline_ns);

/*
 * Wait until @s has posted @calls calls; 0: until its process has been forked.
 * False when the replay was stopped or
 * the wait was broken off because nothing moved any more.
 */
bool wait_for(const struct result *res, struct result_stream *s,
	      struct result_stream *me, uint32_t calls);

/* @s has done @calls calls: wake who waits. */
void wait_post(struct result_stream *s, uint32_t calls);
/* The same: its process is there. */
void wait_post_fork(struct result_stream *s);

/* Until it is opened, for all and for good; 0 is closed. */
void wait_gate(uint32_t *gate);
void wait_open_gate(uint32_t *gate);

/* A lock between processes; two threads that meet in it are rare. */
void wait_lock(uint32_t *lock);
bool wait_lock_briefly(uint32_t *lock); /* false: 100 ms have gone by */
void wait_unlock(uint32_t *lock);

#endif

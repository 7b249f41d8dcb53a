/* SPDX-License-Identifier: MIT */
/*
 * Waits for a point in time, precisely and without occupying a processor that
 * another thread needs; and waits for another stream.
 */
#ifndef REPLAY_ENGINE_PACING_H
#define REPLAY_ENGINE_PACING_H

#include <stdbool.h>
#include <stdint.h>

struct result;
struct result_stream;

struct wait_clock {
	int64_t margin_ns; /* 9 of 10 sleeps end late by at most this much */
	int processors;
	bool burn; /* compute through pauses instead of sleeping */
};

/* Measure how late sleeps end, in some 10 ms; includes wait_begin(). */
void wait_calibrate(struct wait_clock *clock, bool burn);

/* Once in every thread: minimize the timer slack of its sleeps. */
void wait_begin(void);

/*
 * Sleep until @deadline_ns less the margin, then spin; but sleep on while as
 * many threads spin as there are processors.
 */
void wait_until(const struct wait_clock *clock, const struct result *res,
		int64_t deadline_ns);

/*
 * Wait until @s has posted @calls calls; 0: until its process has been forked.
 * False when the replay was stopped, or waits were released for lack of
 * progress.
 */
bool wait_for(const struct result *res, struct result_stream *s,
	      struct result_stream *me, uint32_t calls);

/* @s has done @calls calls: wake its waiters. */
void wait_post(struct result_stream *s, uint32_t calls);
/* The process of @s has been forked: wake its waiters. */
void wait_post_fork(struct result_stream *s);

/* Wait until the gate opens, which it does once for all; 0: closed. */
void wait_gate(uint32_t *gate);
void wait_open_gate(uint32_t *gate);

/* A lock between processes; contention is rare. */
void wait_lock(uint32_t *lock);
bool wait_lock_briefly(uint32_t *lock); /* false: not within 100 ms */
void wait_unlock(uint32_t *lock);

#endif

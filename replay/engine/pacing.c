/* SPDX-License-Identifier: MIT */
/*
 * Waits with absolute deadlines: a wait that ends late does not shorten the
 * next one.
 *
 * A sleep ends some 20 us late with a timer slack of 1 ns, and 70 us with the
 * kernel's default. So its last part is spun, but only while a processor is
 * free.
 */
#include "replay/engine/pacing.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/clock.h"

#include "replay/engine/shared_state.h"

#define SAMPLES 20
#define SAMPLE_NS 50000
#define MARGIN_LEAST_NS 50000
#define MARGIN_MOST_NS 200000
#define YIELD_LOOKS 20		/* a microsecond or two */
#define LOOK_AGAIN_NS 100000000 /* at "stop" and "released" */
#define LOCK_MOST_NS 2000000000
#define LOCK_BRIEF_NS 100000000
#define LOCK_LOOK_NS 10000000

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void sleep_until(int64_t ns)
{
	struct timespec ts = {.tv_sec = ns / 1000000000,
			      .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void wait_begin(void)
{
	prctl(PR_SET_TIMERSLACK, 1);
}

void wait_calibrate(struct wait_clock *clock, bool burn)
{
	int64_t late[SAMPLES];
	cpu_set_t set;

	clock->burn = burn;
	clock->processors = 1;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		clock->processors = CPU_COUNT(&set);
	wait_begin();
	for (int i = 0; i < SAMPLES; i++) {
		int64_t deadline = reel_now_ns() + SAMPLE_NS;

		sleep_until(deadline);
		late[i] = reel_now_ns() - deadline;
	}
	qsort(late, SAMPLES, sizeof(late[0]), by_value);
	clock->margin_ns = late[SAMPLES * 9 / 10];
	if (clock->margin_ns < MARGIN_LEAST_NS)
		clock->margin_ns = MARGIN_LEAST_NS;
	if (clock->margin_ns > MARGIN_MOST_NS)
		clock->margin_ns = MARGIN_MOST_NS;
}

static void spin_until(const struct wait_clock *clock, const struct result *res,
		       int64_t deadline_ns)
{
	uint32_t *spinning = &res->head->spinning;

	if (!clock->burn && __atomic_load_n(spinning, __ATOMIC_RELAXED) + 1 >=
				    (uint32_t)clock->processors) {
		sleep_until(deadline_ns);
		return;
	}
	__atomic_fetch_add(spinning, 1, __ATOMIC_RELAXED);
	/* Let a thread run that was preempted here during a call. */
	while (reel_now_ns() < deadline_ns) {
		for (int i = 0; i < YIELD_LOOKS && reel_now_ns() < deadline_ns;
		     i++)
			pause_cpu();
		sched_yield();
	}
	__atomic_fetch_sub(spinning, 1, __ATOMIC_RELAXED);
}

void wait_until(const struct wait_clock *clock, const struct result *res,
		int64_t deadline_ns)
{
	int64_t left = deadline_ns - reel_now_ns();

	/* In pieces, to notice a stop. */
	while (left > clock->margin_ns && !clock->burn) {
		int64_t until = deadline_ns - clock->margin_ns;

		if (left > LOOK_AGAIN_NS)
			until = deadline_ns - left + LOOK_AGAIN_NS;
		sleep_until(until);
		if (__atomic_load_n(&res->head->stop, __ATOMIC_RELAXED))
			return;
		left = deadline_ns - reel_now_ns();
	}
	if (left > 0)
		spin_until(clock, res, deadline_ns);
}

static void futex_wait(uint32_t *word, uint32_t value, long ns)
{
	struct timespec ts = {.tv_nsec = ns};

	raw(SYS_futex, word, FUTEX_WAIT, value, &ts, 0, 0);
}

bool wait_for(const struct result *res, struct result_stream *s,
	      struct result_stream *me, uint32_t calls)
{
	uint32_t *word = calls ? &s->posted : &s->forked;
	uint32_t least = calls ? calls : 1, now;
	bool good = true;

	if (result_reached(s, calls))
		return true;
	__atomic_store_n(&me->state, STREAM_WAITS, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->waiters, 1, __ATOMIC_SEQ_CST);
	while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) < least) {
		good = !__atomic_load_n(&res->head->stop, __ATOMIC_RELAXED) &&
		       !__atomic_load_n(&res->head->released, __ATOMIC_RELAXED);
		if (!good)
			break;
		futex_wait(word, now, LOOK_AGAIN_NS);
	}
	__atomic_fetch_sub(&s->waiters, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&me->state, STREAM_RUNS, __ATOMIC_RELAXED);
	return good;
}

static void post_word(struct result_stream *s, uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->waiters, __ATOMIC_SEQ_CST))
		raw(SYS_futex, word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

void wait_post(struct result_stream *s, uint32_t calls)
{
	post_word(s, &s->posted, calls);
}

void wait_post_fork(struct result_stream *s)
{
	post_word(s, &s->forked, 1);
}

/* Asleep, because hundreds of polling threads would occupy the processors. */
void wait_gate(uint32_t *gate)
{
	while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE))
		futex_wait(gate, 0, LOOK_AGAIN_NS);
}

void wait_open_gate(uint32_t *gate)
{
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	raw(SYS_futex, gate, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* A woken thread may lose the lock any number of times: limit the time. */
static bool lock_within(uint32_t *lock, int64_t most_ns)
{
	uint32_t free = 0;
	int64_t end_ns;

	if (__atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	end_ns = reel_now_ns() + most_ns;
	/* 2: a thread waits. */
	while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE)) {
		if (reel_now_ns() >= end_ns)
			return false;
		futex_wait(lock, 2, LOCK_LOOK_NS);
	}
	return true;
}

void wait_lock(uint32_t *lock)
{
	/* The owner may have died: others must go on. */
	lock_within(lock, LOCK_MOST_NS);
}

bool wait_lock_briefly(uint32_t *lock)
{
	return lock_within(lock, LOCK_BRIEF_NS);
}

void wait_unlock(uint32_t *lock)
{
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
		raw(SYS_futex, lock, FUTEX_WAKE, 1, 0, 0, 0);
}

/* SPDX-License-Identifier: MIT */
/* Waits: never early, for the right count, and never forever. */
#include "replay/engine/pacing.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"

#include "replay/engine/shared_state.h"
#include "tests/lib/tap.h"

static struct result_head head;
static struct result_stream stream[2];
#define HOGS 4

static struct result res = {.head = &head, .stream = stream};
static uint32_t lock;
static long counter;

static void test_until(void)
{
	struct wait_clock clock;
	int early = 0;

	wait_calibrate(&clock, false);
	ok(clock.margin_ns > 0 && clock.processors > 0,
	   "calibration gives a margin and a number of processors");
	for (int burn = 0; burn < 2; burn++) {
		clock.burn = burn;
		for (int64_t ns = 0; ns < 3000000; ns += 300000) {
			int64_t deadline = reel_now_ns() + ns;

			wait_until(&clock, &res, deadline);
			early += reel_now_ns() < deadline;
		}
	}
	is(early, 0, "no wait ends early");
	is(head.spinning, 0, "no thread is counted as spinning");
	wait_until(&clock, &res, reel_now_ns() - 1000000000);
	ok(1, "a deadline in the past returns at once");
	head.stop = 1;
	clock.burn = false;
	wait_until(&clock, &res, reel_now_ns() + 3600ll * 1000000000);
	ok(1, "a stop ends a wait of an hour");
	head.stop = 0;
}

static void *post(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= 1000; i++)
		wait_post(&stream[0], i);
	return NULL;
}

static void test_for(void)
{
	pthread_t t;
	int bad = 0;

	pthread_create(&t, NULL, post, NULL);
	for (uint32_t i = 1; i <= 1000; i++) {
		bad += !wait_for(&res, &stream[0], &stream[1], i);
		bad += __atomic_load_n(&stream[0].posted, __ATOMIC_ACQUIRE) < i;
	}
	pthread_join(t, NULL);
	is(bad, 0, "a wait ends when the count is reached, not before");
	is(stream[0].waiters, 0, "no thread is counted as waiting");
	head.released = 1;
	ok(!wait_for(&res, &stream[0], &stream[1], 2000),
	   "a wait ends when waits are released");
	head.released = 0;
}

static void *add(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100000; i++) {
		wait_lock(&lock);
		counter++;
		wait_unlock(&lock);
	}
	return NULL;
}

/* Take the lock again right after its release. */
static void *hog(void *arg)
{
	bool *stop = arg;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		wait_lock(&lock);
		for (int64_t end = reel_now_ns() + 500; reel_now_ns() < end;)
			;
		wait_unlock(&lock);
	}
	return NULL;
}

static void test_hogs(void)
{
	bool stop = false;
	pthread_t t[HOGS];
	int lost = 0;

	for (int i = 0; i < HOGS; i++)
		pthread_create(&t[i], NULL, hog, &stop);
	for (int i = 0; i < 10000; i++) {
		if (wait_lock_briefly(&lock))
			wait_unlock(&lock);
		else
			lost++;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < HOGS; i++)
		pthread_join(t[i], NULL);
	is(lost, 0, "a thread that is woken too late waits on");
}

static void test_lock(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, add, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	is(counter, 300000, "the lock provides mutual exclusion");
	is(lock, 0, "and is free at the end");
	lock = 1;
	ok(!wait_lock_briefly(&lock), "a brief wait for a lock ends");
}

int main(void)
{
	test_until();
	test_for();
	test_hogs();
	test_lock();
	return done();
}

/* SPDX-License-Identifier: MIT */
/* analyzer/import/common/event_list.c: the order of a stable sort, for any runs, in
 * memory and through a temporary file. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyzer/import/common/event_list.h"
#include "lib/error.h"
#include "lib/store/event.h"
#include "tests/lib/tap.h"

#define EVENTS 150000u /* more than two chunks */
#define SPILLED (2 * EVENT_LIST_HELD + 1000)

/* Is @b after @a, or equal and added later? arg is the order of adding. */
static bool in_order(const struct reel_event *a, const struct reel_event *b)
{
	int64_t ea = a->start_ns + a->dur_ns, eb = b->start_ns + b->dur_ns;

	if (ea != eb)
		return ea < eb;
	if (a->thread != b->thread)
		return a->thread < b->thread;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->arg < b->arg;
}

/* Sort @n events whose ends rise in runs of @run events, by steps of up to @step;
 * 0 events of a run: at random. */
static bool sorts(uint32_t n, uint32_t run, uint32_t step)
{
	struct event_list l = {0};
	struct reel_error err = {0};
	struct reel_event *ev, before = {0};
	uint64_t x = n + run, sum = 0;
	int64_t end_ns = 0;
	bool right = true;
	uint32_t got = 0;

	for (uint32_t i = 0; right && i < n; i++) {
		ev = event_list_add(&l, &err);
		x = x * 6364136223846793005u + 1442695040888963407u;
		end_ns = run && i % run ? end_ns + (int64_t)(x >> 33) % step
					: (int64_t)(x >> 33) % 1000;
		right = ev;
		if (!ev)
			break;
		*ev = (struct reel_event){.dur_ns = (int64_t)(x >> 62),
					  .thread = 1 + (uint32_t)(x >> 61) % 3,
					  .arg = i};
		ev->start_ns = end_ns - ev->dur_ns;
	}
	right = right && !event_list_sort(&l, &err);
	for (; right && event_list_next(&l, &ev, &err) > 0; got++) {
		sum += (uint64_t)ev->arg;
		right = !got || in_order(&before, ev);
		before = *ev;
	}
	event_list_fini(&l);
	return right && !err.code && got == n &&
	       sum == (uint64_t)n * (n - 1) / 2;
}

int main(void)
{
	struct event_list l = {0};
	struct reel_error err = {0};
	struct reel_event *ev;

	ok(!event_list_sort(&l, &err) && !event_list_next(&l, &ev, &err),
	   "no event");
	event_list_fini(&l);
	ok(sorts(1, 1, 1), "one event");
	ok(sorts(EVENTS, EVENTS, 10), "events in order");
	ok(sorts(EVENTS, EVENTS, 1), "events that end together, by thread");
	ok(sorts(EVENTS, EVENTS / 5, 10), "five runs");
	ok(sorts(EVENTS, 1000, 10), "an even number of runs");
	ok(sorts(EVENTS, 1003, 3), "runs of another length at the end");
	ok(sorts(EVENTS, 0, 1), "no order at all");
	ok(sorts(EVENT_LIST_HELD, 1000, 10), "as many as are held");
	ok(sorts(EVENT_LIST_HELD + 1, 1000, 10), "one more");
	ok(sorts(SPILLED, 1003, 3), "runs of a file, each of many");
	ok(sorts(SPILLED, SPILLED, 1), "runs that end together, by thread");
	ok(sorts(SPILLED, 0, 1), "no order at all in a file");
	setenv("TMPDIR", "/nowhere", 1);
	ok(!sorts(SPILLED, SPILLED, 1), "a folder that is not there");
	return done();
}

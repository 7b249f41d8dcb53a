/* SPDX-License-Identifier: MIT */
/* analyzer/import/common/event_list.c: the order of a stable sort, for any runs. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyzer/import/common/event_list.h"
#include "lib/error.h"
#include "lib/store/event.h"
#include "tests/lib/tap.h"

/* More than two chunks. */
#define EVENTS 150000u

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
	uint64_t x = n + run, sum = 0;
	int64_t end_ns = 0;
	bool right = true;

	for (uint32_t i = 0; right && i < n; i++) {
		struct reel_event *ev = event_list_add(&l, &err);

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
	right = right && l.n == n && !event_list_sort(&l, &err);
	for (uint32_t i = 0; right && i < n; i++) {
		sum += (uint64_t)event_list_at(&l, i)->arg;
		right = !i || in_order(event_list_at(&l, i - 1),
				       event_list_at(&l, i));
	}
	event_list_fini(&l);
	return right && sum == (uint64_t)n * (n - 1) / 2;
}

int main(void)
{
	struct event_list l = {0};
	struct reel_error err = {0};

	ok(!event_list_sort(&l, &err) && !l.n, "no event");
	event_list_fini(&l);
	ok(sorts(1, 1, 1), "one event");
	ok(sorts(EVENTS, EVENTS, 10), "events in order");
	ok(sorts(EVENTS, EVENTS, 1), "events that end together, by thread");
	ok(sorts(EVENTS, EVENTS / 5, 10), "five runs");
	ok(sorts(EVENTS, 1000, 10), "an even number of runs");
	ok(sorts(EVENTS, 1003, 3), "runs of another length at the end");
	ok(sorts(EVENTS, 0, 1), "no order at all");
	return done();
}

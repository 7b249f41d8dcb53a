/* SPDX-License-Identifier: MIT */
/* analyzer/import/common/seen_events.c: only copies of an event are found. */
#include <stdbool.h>

#include "analyzer/import/common/seen_events.h"
#include "lib/error.h"
#include "tests/lib/tap.h"

#define SERIES 7u
#define NUMBERS 20000u

/* Add all events once more: are they @was (0: new, 1: there)? */
static bool adds(struct seen_events *s, uint64_t content, int was)
{
	struct reel_error err = {0};

	for (uint64_t n = 0; n < NUMBERS; n++)
		for (uint64_t series = 0; series < SERIES; series++)
			if (seen_events_add(s, series, n, content + (n << 40),
					    &err) != was)
				return false;
	return true;
}

/* Numbers that jump, both ways, twice each: is only the second one there? */
static bool jumps(void)
{
	struct seen_events s = {0};
	struct reel_error err = {0};
	uint64_t number = 1000, x = 1;
	bool right = true;

	for (unsigned int i = 0; right && i < NUMBERS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		number += i % 3 ? i : (x >> 62) * UINT32_MAX - 500;
		right = !seen_events_add(&s, x >> 60, number, ~x, &err) &&
			seen_events_add(&s, x >> 60, number, ~x, &err) == 1;
	}
	seen_events_fini(&s);
	return right;
}

int main(void)
{
	struct seen_events s = {0};

	ok(adds(&s, 5ull << 32, 0), "events are new in each series");
	ok(adds(&s, 5ull << 32, 1), "each of them is there then");
	ok(adds(&s, 9ull << 32, 0), "another content is another event");
	ok(s.others.used == SERIES * NUMBERS, "copies take no room");
	ok(jumps(), "numbers with gaps, and before the first");
	seen_events_fini(&s);
	return done();
}

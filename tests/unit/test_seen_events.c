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

int main(void)
{
	struct seen_events s = {0};

	ok(adds(&s, 5ull << 32, 0), "events are new in each series");
	ok(adds(&s, 5ull << 32, 1), "each of them is there then");
	ok(adds(&s, 9ull << 32, 0), "another content is another event");
	ok(s.used == 2 * SERIES * NUMBERS, "copies take no room");
	seen_events_fini(&s);
	return done();
}

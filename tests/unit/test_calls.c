/* SPDX-License-Identifier: MIT */
/* The table of calls of the reading side. */
#include <string.h>

#include "schemas/trace_format.h"

#include "lib/calls.h"

#include "tests/lib/tap.h"

static void names(void)
{
	const struct reel_call_info *pread = reel_call_info(REEL_CALL_PREAD);
	const struct reel_call_info *mark = reel_call_info(REEL_MARK_DESC);

	ok(pread && !strcmp(pread->name, "pread"), "a call has its first name");
	is(pread->layer, REEL_LAYER_POSIX, "its layer");
	is(pread->group, REEL_GROUP_READ, "and its group");
	ok(mark && !strcmp(mark->name, "desc") &&
		   mark->group == REEL_GROUP_MARK,
	   "a mark is not a call");
	ok(!reel_call_info(0) && !reel_call_info(REEL_CALL_MAX) &&
		   !reel_call_info(UINT32_MAX),
	   "an id without a row has no info");
}

static void whole_table(void)
{
	int rows = 0, bad = 0, twice = 0;
	unsigned int i, k;

	for (i = 0; i < REEL_CALL_MAX; i++) {
		const struct reel_call_info *a = reel_call_info(i);

		if (!a)
			continue;
		rows++;
		bad += !*a->name || a->group == REEL_GROUP_NONE;
		for (k = 0; k < i; k++)
			twice += reel_call_info(k) &&
				 !strcmp(reel_call_info(k)->name, a->name);
	}
	ok(rows > 60, "the table has rows (%d)", rows);
	is(bad, 0, "every row has a name and a group");
	is(twice, 0, "no two rows have the same name");
}

static void other_names(void)
{
	unsigned int i;
	int none = 0;

	for (i = 0; i <= REEL_FLUSHES; i++)
		none += !reel_counter_name(i);
	is(none, 0, "every counter has a name");
	ok(!reel_counter_name(REEL_COUNTERS - 1) && !reel_counter_name(9999),
	   "a reserved one has none");
	ok(!strcmp(reel_span_name(REEL_SPAN_EVAL), "eval") &&
		   !strcmp(reel_span_name(77), "user"),
	   "spans");
	for (i = 0, none = 0; i < REEL_GROUPS; i++)
		none += !reel_group_name((enum reel_group)i);
	for (i = 0; i < REEL_LAYERS; i++)
		none += !reel_layer_name((enum reel_layer)i);
	is(none, 0, "every group and layer has a name");
}

static void traits(void)
{
	ok(reel_call_traits(REEL_CALL_UNLINK) ==
		   (REEL_TRAIT_REMOVES | REEL_TRAIT_NOFOLLOW |
		    REEL_TRAIT_PROBES),
	   "unlink() removes, on a link itself, also a socket");
	ok(!reel_call_traits(REEL_CALL_READ) && !reel_call_traits(15) &&
		   !reel_call_traits(REEL_CALL_MAX),
	   "no traits: read(), an id without a row, an impossible id");
}

int main(void)
{
	names();
	whole_table();
	other_names();
	traits();
	return done();
}

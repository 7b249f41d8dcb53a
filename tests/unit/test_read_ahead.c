/* SPDX-License-Identifier: MIT */
/* Which slow reads are taken for waits for read-ahead. */
#include "tests/lib/tap.h"

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "lib/store/event_op.h"
#include "analyzer/metric/read_ahead.h"

static struct read_ahead ahead;

/* Classify a read of 4 KiB of @file at @offset with the arg2 of its record. */
static int see(uint32_t file, int64_t offset, int64_t arg2)
{
	struct reel_error err = {0};
	struct metric_event m = {.raw = {
					 .call = REEL_CALL_READ,
					 .group = REEL_GROUP_READ,
					 .kind = REEL_KIND_FILE,
					 .file = file,
					 .offset = offset,
					 .result = 4096,
					 .arg2 = arg2,
				 }};

	metric_event_fill(&m);
	if (read_ahead_classify(&ahead, &m, &err))
		return -1;
	return m.storage;
}

int main(void)
{
	const int64_t none = REEL_FETCHED_NONE, kib = 1024;

	is(see(1, 0, none), METRIC_CACHED, "slow before any fetch");
	is(see(1, 0, 128 * kib), METRIC_FETCHED, "a fetch");
	is(see(1, 4 * kib, 0), METRIC_CACHED, "a fast read behind it");
	is(see(1, 8 * kib, none), METRIC_WAITED,
	   "a slow one in what it fetched");
	is(see(1, 128 * kib, none), METRIC_CACHED, "a slow one past it");
	is(see(2, 8 * kib, none), METRIC_CACHED, "of another file");
	is(see(9999, 8 * kib, none), METRIC_CACHED, "of one far off");
	is(see(1, 64 * kib, 256 * kib), METRIC_FETCHED, "the next window");
	is(see(1, 300 * kib, none), METRIC_WAITED,
	   "it begins where the last ends");
	is(see(1, 384 * kib, none), METRIC_CACHED, "and ends with its bytes");
	is(see(1, 4 * kib, none), METRIC_WAITED,
	   "the last window may be on its way");
	is(see(1, 380 * kib, 64 * kib), METRIC_FETCHED, "the third");
	is(see(1, 4 * kib, none), METRIC_CACHED, "then the first is not");
	is(see(1, 10240 * kib, 64 * kib), METRIC_FETCHED, "elsewhere");
	is(see(1, 400 * kib, none), METRIC_CACHED,
	   "what was read before is left");
	is(see(1, -1, none), METRIC_CACHED, "an unknown offset");
	is(see(1, INT64_MAX, INT64_MAX), METRIC_FETCHED, "absurd numbers");
	is(see(1, 10250 * kib, none), METRIC_WAITED, "change nothing");
	read_ahead_fini(&ahead);
	return done();
}

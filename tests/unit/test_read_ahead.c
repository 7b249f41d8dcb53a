/* SPDX-License-Identifier: MIT */
/* The slow reads that count as waits for readahead. */
#include "tests/lib/tap.h"

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "lib/store/event_op.h"
#include "analyzer/metric/read_ahead.h"

static struct read_ahead ahead;

/* Classify a read of 4 KiB of @file at @offset with the arg2 of its record. */
static int classify_read(uint32_t file, int64_t offset, int64_t arg2)
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

	is(classify_read(1, 0, none), METRIC_CACHED, "slow before any fetch");
	is(classify_read(1, 0, 128 * kib), METRIC_FETCHED, "a fetch");
	is(classify_read(1, 4 * kib, 0), METRIC_CACHED, "a fast read after it");
	is(classify_read(1, 8 * kib, none), METRIC_WAITED,
	   "a slow read inside of the fetched range");
	is(classify_read(1, 128 * kib, none), METRIC_CACHED,
	   "a slow read after it");
	is(classify_read(2, 8 * kib, none), METRIC_CACHED, "of another file");
	is(classify_read(9999, 8 * kib, none), METRIC_CACHED,
	   "of a distant read");
	is(classify_read(1, 64 * kib, 256 * kib), METRIC_FETCHED,
	   "the next window");
	is(classify_read(1, 300 * kib, none), METRIC_WAITED,
	   "it begins at the end of the last one");
	is(classify_read(1, 384 * kib, none), METRIC_CACHED,
	   "and ends with its bytes");
	is(classify_read(1, 4 * kib, none), METRIC_WAITED,
	   "the last window may be in flight");
	is(classify_read(1, 380 * kib, 64 * kib), METRIC_FETCHED, "the third");
	is(classify_read(1, 4 * kib, none), METRIC_CACHED,
	   "then the first is not");
	is(classify_read(1, 10240 * kib, 64 * kib), METRIC_FETCHED,
	   "at another offset");
	is(classify_read(1, 400 * kib, none), METRIC_CACHED,
	   "the previous range is dropped");
	is(classify_read(1, -1, none), METRIC_CACHED, "an unknown offset");
	is(classify_read(1, INT64_MAX, INT64_MAX), METRIC_FETCHED,
	   "extreme numbers");
	is(classify_read(1, 10250 * kib, none), METRIC_WAITED,
	   "change nothing");
	read_ahead_fini(&ahead);
	return done();
}

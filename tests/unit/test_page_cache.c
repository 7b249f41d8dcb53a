/* SPDX-License-Identifier: MIT */
/* Cold files of a job: by the bytes that their first reads fetched, or, where
 * the trace has none, by the duration of these reads. */
#include <stdlib.h>

#include "lib/store/event.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "replay/model/recorded_job.h"
#include "replay/model/annotations.h"
#include "replay/fsstate/page_cache.h"
#include "schemas/trace_format.h"
#include "tests/lib/tap.h"

#define KIB 1024

static struct residency r;
static struct annotations annotations;
static int64_t fetched;
static uint32_t calls;

static void add_event(uint32_t file, uint8_t group, int64_t offset,
		      int64_t bytes, int64_t ns)
{
	struct reel_event ev = {.file = file,
				.group = group,
				.kind = REEL_KIND_FILE,
				.offset = offset,
				.asked = bytes,
				.result = bytes,
				.dur_ns = ns,
				.arg2 = fetched,
				.count = 1};
	struct call_ref me = {.stream = 3, .index = calls++};
	struct reel_error err = {0};

	if (residency_event(&r, &ev, &me, &err))
		abort();
}
#define READ(file, offset, bytes, ns)                                          \
	add_event(file, REEL_GROUP_READ, offset, bytes, ns)

static void evicted(int64_t from, int64_t bytes, uint32_t cached,
		    const char *what)
{
	const struct annotation *k =
		annotations.n ? &annotations.list[annotations.n - 1] : NULL;

	ok(k && k->kind == ANNOTATION_FETCH && k->stream == 3 &&
		   k->call + 1 == calls && k->ns == from &&
		   k->fetch.bytes == (uint32_t)bytes &&
		   k->fetch.cached == cached,
	   "%s", what);
}

/* The bytes that are evicted before a read that fetches a part of a file. */
static void test_parts(void)
{
	size_t n;

	evicted(1024 * KIB - 128 * KIB, 128 * KIB, 0,
		"a part of a read: its end");
	READ(13, 0, 1024 * KIB, 5000000);
	evicted(1024 * KIB - 128 * KIB, 128 * KIB, 1,
		"the same bytes again: cached before");
	fetched = 4 * KIB;
	READ(14, 0, 192 * KIB + 15, 300000);
	evicted(192 * KIB, 4 * KIB, 0, "the last, partial page of a file");
	fetched = 128 * KIB;
	READ(15, 0, 64 * KIB, 300000);
	evicted(0, 128 * KIB, 0, "readahead: more than the read");
	READ(15, 64 * KIB, 64 * KIB, 300000);
	calls--;
	evicted(0, 256 * KIB, 0, "the next read of the sequence: one eviction");
	calls++;
	READ(15, 0, 64 * KIB, 300000);
	evicted(0, 128 * KIB, 1,
		"the start again: a new sequence, cached before");
	READ(15, 512 * KIB, 64 * KIB, 300000);
	evicted(512 * KIB, 128 * KIB, 0, "another offset: a new sequence");
	fetched = 64 * KIB;
	for (int i = 0; i < 64; i++)
		READ(16, i * 64 * KIB, 64 * KIB, 300000);
	n = annotations.n;
	READ(16, 64 * 64 * KIB, 64 * KIB, 300000);
	ok(annotations.n == n,
	   "a cold file needs no eviction for its first reads");
	READ(16, 0, 64 * KIB, 300000);
	evicted(0, 64 * KIB, 1, "but it does for bytes that were read before");
	fetched = INT64_MAX;
	READ(17, INT64_MAX / 2, 4 * KIB, 300000);
	ok(annotations.n == n + 2 &&
		   annotations.list[n + 1].fetch.bytes == 1u << 30,
	   "an impossible count of fetched bytes is bounded");
}

int main(void)
{
	struct job_file file[20] = {0};
	struct job job = {.file = file, .files = 20};
	struct reel_error err = {0};

	file[11].fetches_counted = file[12].fetches_counted = true;
	file[19].fetches_counted = true;
	if (residency_init(&r, &job, &annotations, &err))
		return 1;
	READ(1, 0, 192 * KIB, 25000);
	ok(!residency_cold(&r, 1), "192 KiB in 25 us: from the cache");
	READ(2, 0, 192 * KIB, 150000);
	ok(residency_cold(&r, 2), "in 150 us: from the storage");
	READ(2, 0, 192 * KIB, 15000);
	ok(residency_cold(&r, 2), "a fast second read does not change that");
	READ(3, 0, 4 * KIB, 90000);
	for (int i = 1; i < 32; i++)
		READ(3, i * 4 * KIB, 4 * KIB, 1000);
	ok(residency_cold(&r, 3),
	   "one slow read and readahead: from the storage");
	for (int i = 0; i < 1000; i++)
		READ(4, i * 4 * KIB, 4 * KIB, 1500);
	ok(!residency_cold(&r, 4), "many small reads: from the cache");
	add_event(5, REEL_GROUP_WRITE, 0, KIB, 1000);
	READ(5, 0, 192 * KIB, 500000);
	ok(!residency_cold(&r, 5), "bytes that the job wrote are cached");
	READ(6, 0, 1024 * KIB, 400000);
	ok(!residency_cold(&r, 6), "into new pages: from the cache");
	ok(!residency_cold(&r, 7), "a file that was not read is not cold");
	READ(8, REEL_NO_OFFSET, 192 * KIB, 500000);
	ok(!residency_cold(&r, 8), "nor after reads at an unknown offset");
	READ(99, 0, KIB, 500000);
	ok(!residency_cold(&r, 99), "nor an id without a file");

	fetched = REEL_FETCHED_NONE;
	READ(10, 0, 192 * KIB, 150000);
	ok(residency_cold(&r, 10), "slow, where Linux does not count fetches");
	READ(11, 0, 192 * KIB, 150000);
	ok(!residency_cold(&r, 11), "slow, and nothing was fetched");
	fetched = 128 * KIB;
	READ(9, 0, 192 * KIB, 30000);
	ok(!residency_cold(&r, 9), "two thirds fetched: not cold");
	evicted(64 * KIB, 128 * KIB, 0, "but these bytes are evicted");
	fetched = 192 * KIB;
	READ(12, 0, 192 * KIB, 30000);
	ok(residency_cold(&r, 12), "all fetched from a fast storage");
	fetched = 128 * KIB;
	READ(13, 0, 1024 * KIB, 5000000);
	ok(!residency_cold(&r, 13), "most of it cached");
	test_parts();
	fetched = 0;
	READ(19, 0, 192 * KIB, 150000);
	ok(!residency_cold(&r, 19),
	   "slow without fetches, where Linux counts them");
	fetched = 0;
	READ(18, 0, 1024 * KIB, 1000);
	fetched = 64 * KIB;
	for (int i = 3; i--;)
		READ(18, i * 128 * KIB, 64 * KIB, 1000);
	ok(residency_min_evict_bytes(&r, 18) == 64 * KIB,
	   "the smallest part that left the cache");
	ok(!residency_min_evict_bytes(&r, 12),
	   "a file that is fetched as a whole has none");
	ok(residency_min_evict_bytes(&r, 13) == 128 * KIB,
	   "a file with a missing part has one");
	ok(!residency_min_evict_bytes(&r, 14), "the last page does not count");
	residency_fini(&r);
	annotations_fini(&annotations);
	return done();
}

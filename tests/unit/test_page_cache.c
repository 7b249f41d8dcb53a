/* SPDX-License-Identifier: MIT */
/* Which files of a job came from the storage: by what their first reads had to
 * fetch, or, where that is not known, by what they took. */
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
static struct annotations marks;
static int64_t fetched;
static uint32_t calls;

static void give(uint32_t file, uint8_t group, int64_t offset, int64_t bytes,
		 int64_t ns)
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
	struct call_ref me = {.stream = 3, .call = calls++};
	struct reel_error err = {0};

	if (residency_event(&r, &ev, &me, &err))
		abort();
}
#define READ(file, offset, bytes, ns)                                          \
	give(file, REEL_GROUP_READ, offset, bytes, ns)

static void lost(int64_t from, int64_t bytes, uint32_t again, const char *what)
{
	const struct annotation *k = marks.n ? &marks.mark[marks.n - 1] : NULL;

	ok(k && k->kind == ANNOTATION_FETCH && k->stream == 3 &&
		   k->call + 1 == calls && k->ns == from &&
		   k->a == (uint32_t)bytes && k->b == again,
	   "%s", what);
}

/* What reads find missing, and where it was. */
static void lost_parts(void)
{
	size_t n;

	lost(1024 * KIB - 128 * KIB, 128 * KIB, 0, "a part: the last one");
	READ(13, 0, 1024 * KIB, 5000000);
	lost(1024 * KIB - 128 * KIB, 128 * KIB, 1, "gone again");
	fetched = 4 * KIB;
	READ(14, 0, 192 * KIB + 15, 300000);
	lost(192 * KIB, 4 * KIB, 0,
	     "the last page of a file, which is not full");
	fetched = 128 * KIB;
	READ(15, 0, 64 * KIB, 300000);
	lost(0, 128 * KIB, 0, "read ahead: more than was asked for");
	READ(15, 64 * KIB, 64 * KIB, 300000);
	calls--;
	lost(0, 256 * KIB, 0, "and ahead of that, at once");
	calls++;
	READ(15, 0, 64 * KIB, 300000);
	lost(0, 128 * KIB, 1, "from the start again");
	READ(15, 512 * KIB, 64 * KIB, 300000);
	lost(512 * KIB, 128 * KIB, 0, "somewhere else");
	fetched = 64 * KIB;
	for (int i = 0; i < 64; i++)
		READ(16, i * 64 * KIB, 64 * KIB, 300000);
	n = marks.n;
	READ(16, 64 * 64 * KIB, 64 * KIB, 300000);
	ok(marks.n == n,
	   "a file that is cold needs no word of its first reads");
	READ(16, 0, 64 * KIB, 300000);
	lost(0, 64 * KIB, 1, "but of those after them");
	fetched = INT64_MAX;
	READ(17, INT64_MAX / 2, 4 * KIB, 300000);
	ok(marks.n == n + 2 && marks.mark[n + 1].a == 1u << 30,
	   "what no read fetches is bounded");
}

int main(void)
{
	struct job_file file[20] = {0};
	struct job job = {.file = file, .files = 20};
	struct reel_error err = {0};

	file[11].fetches_counted = file[12].fetches_counted = true;
	file[19].fetches_counted = true;
	if (residency_init(&r, &job, &marks, &err))
		return 1;
	READ(1, 0, 192 * KIB, 25000);
	ok(!residency_cold(&r, 1), "192 KiB in 25 us: from the cache");
	READ(2, 0, 192 * KIB, 150000);
	ok(residency_cold(&r, 2), "in 150 us: from the storage");
	READ(2, 0, 192 * KIB, 15000);
	ok(residency_cold(&r, 2), "however fast it is when read again");
	READ(3, 0, 4 * KIB, 90000);
	for (int i = 1; i < 32; i++)
		READ(3, i * 4 * KIB, 4 * KIB, 1000);
	ok(residency_cold(&r, 3), "read ahead by the kernel: from the storage");
	for (int i = 0; i < 1000; i++)
		READ(4, i * 4 * KIB, 4 * KIB, 1500);
	ok(!residency_cold(&r, 4), "many small reads: from the cache");
	give(5, REEL_GROUP_WRITE, 0, KIB, 1000);
	READ(5, 0, 192 * KIB, 500000);
	ok(!residency_cold(&r, 5), "what the job wrote itself is there");
	READ(6, 0, 1024 * KIB, 400000);
	ok(!residency_cold(&r, 6), "into memory that was made meanwhile");
	ok(!residency_cold(&r, 7), "nothing is known of what was not read");
	READ(8, REEL_NO_OFFSET, 192 * KIB, 500000);
	ok(!residency_cold(&r, 8), "nor of reads at an unknown place");
	READ(99, 0, KIB, 500000);
	ok(!residency_cold(&r, 99), "a file that is none");

	fetched = REEL_FETCHED_NONE;
	READ(10, 0, 192 * KIB, 150000);
	ok(residency_cold(&r, 10), "fetched where Linux does not count it");
	READ(11, 0, 192 * KIB, 150000);
	ok(!residency_cold(&r, 11), "slow, and nothing was fetched");
	fetched = 128 * KIB;
	READ(9, 0, 192 * KIB, 30000);
	ok(!residency_cold(&r, 9), "two thirds of it: a part");
	lost(64 * KIB, 128 * KIB, 0, "and that part goes");
	fetched = 192 * KIB;
	READ(12, 0, 192 * KIB, 30000);
	ok(residency_cold(&r, 12), "fetched, by a fast storage");
	fetched = 128 * KIB;
	READ(13, 0, 1024 * KIB, 5000000);
	ok(!residency_cold(&r, 13), "most of it was there");
	lost_parts();
	fetched = 0;
	READ(19, 0, 192 * KIB, 150000);
	ok(!residency_cold(&r, 19), "held up, and nothing is said of fetches");
	fetched = 0;
	READ(18, 0, 1024 * KIB, 1000);
	fetched = 64 * KIB;
	for (int i = 3; i--;)
		READ(18, i * 128 * KIB, 64 * KIB, 1000);
	ok(residency_piece(&r, 18) == 64 * KIB,
	   "so few of it were fetched again");
	ok(!residency_piece(&r, 12), "what was fetched once is of any size");
	ok(residency_piece(&r, 13) == 128 * KIB, "but a part of it is a part");
	ok(!residency_piece(&r, 14), "the last page is one already");
	residency_fini(&r);
	annotations_fini(&marks);
	return done();
}

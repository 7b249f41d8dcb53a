/* SPDX-License-Identifier: MIT */
/* Unions of intervals against a bitmap that counts every nanosecond. */
#include <string.h>

#include "lib/error.h"

#include "analyzer/metric/interval_log.h"
#include "analyzer/metric/overlap_time.h"
#include "analyzer/metric/spill_log.h"

#include "tests/lib/tap.h"

static struct reel_error err;

static void add_interval(struct reel_union *u, int64_t s, int64_t e)
{
	struct reel_interval iv = {s, e, 0, 0};

	reel_union_add(u, &iv, &err);
}

static int64_t bitmap_ns(const int64_t (*iv)[2], int n, uint32_t limit)
{
	struct reel_union u = {.limit = limit};
	int64_t ns;
	int i;

	for (i = 0; i < n; i++)
		add_interval(&u, iv[i][0], iv[i][1]);
	ns = reel_union_ns(&u);
	reel_union_fini(&u);
	return ns;
}

static void known(void)
{
	static const int64_t apart[][2] = {{0, 10}, {20, 30}};
	static const int64_t touch[][2] = {{0, 10}, {10, 30}};
	static const int64_t nested[][2] = {{5, 6}, {7, 8}, {0, 10}};
	static const int64_t late[][2] = {{10, 20}, {30, 40}, {15, 50}};
	static const int64_t wrong[][2] = {
		{30, 40}, {0, 10}, {5, 35}, {50, 51}, {45, 46}};
	static const int64_t empty[][2] = {{5, 5}, {9, 3}};

	is(bitmap_ns(apart, 2, 8), 20, "apart");
	is(bitmap_ns(touch, 2, 8), 30, "touching intervals are one");
	is(bitmap_ns(nested, 3, 8), 10,
	   "an outer call ends after its inner ones");
	is(bitmap_ns(late, 3, 8), 40,
	   "a late end absorbs intervals that began after it");
	is(bitmap_ns(wrong, 5, 8), 42, "ends out of order");
	is(bitmap_ns(empty, 2, 8), 0, "empty and reversed intervals measure 0");
}

static uint32_t seed = 12345;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Ends in order, starts up to 50 before: like a process with threads. */
static void against_bitmap(uint32_t limit)
{
	enum { NS = 200000 };
	static char hit[NS];
	struct reel_union u = {.limit = limit};
	int64_t end = 100, want = 0;
	int i;

	memset(hit, 0, sizeof(hit));
	while (end < NS - 20) {
		int64_t start = end - 1 - random_below(50);

		add_interval(&u, start, end);
		memset(hit + start, 1, (size_t)(end - start));
		end += random_below(20);
	}
	for (i = 0; i < NS; i++)
		want += hit[i];
	is(reel_union_ns(&u), want, "exact with %u intervals held", limit);
	is(u.clipped, 0, "nothing was clipped");
	ok(u.room <= limit, "memory is bounded");
	reel_union_fini(&u);
}

static void clipped_parts(void)
{
	struct reel_union u = {.limit = 4};
	int64_t i;

	for (i = 0; i < 10; i++)
		add_interval(&u, 10 * i, 10 * i + 5);
	add_interval(&u, 0, 100);
	ok(u.clipped == 1, "an addition below the floor is counted");
	ok(reel_union_ns(&u) <= 100 && reel_union_ns(&u) >= 50,
	   "and never measures too much");
	reel_union_fini(&u);
}

/* Short intervals and, now and then, one that ends late. */
static void late_ends(bool keep_gaps, bool keep_late)
{
	enum { NS = 400000 };
	static char hit[NS];
	struct reel_union u = {
		.limit = 2048, .keep_gaps = keep_gaps, .keep_late = keep_late};
	int64_t at = 500, want = 0, got, i;

	memset(hit, 0, sizeof(hit));
	while (at < NS - 20) {
		int64_t start = at, end = at + 1 + random_below(8);

		if (random_below(4000) == 0)
			start = random_below((uint32_t)at);
		add_interval(&u, start, end);
		memset(hit + start, 1, (size_t)(end - start));
		at = end + random_below(8);
	}
	for (i = 0; i < NS; i++)
		want += hit[i];
	got = reel_union_ns(&u);
	if (keep_late) {
		struct reel_union late = {.limit = REEL_UNION_ALL};

		ok(u.lates > 0 && !u.clipped, "late parts are kept apart");
		for (i = 0; i < u.lates; i++)
			reel_union_add(&late, &u.late[i], &err);
		ok(reel_union_ns(&late) >= want - got, "and not measured");
		reel_union_fini(&late);
	} else {
		ok(got <= want && got + u.clipped_ns >= want,
		   "late ends: %lld of %lld ns, at most %lld are missing",
		   (long long)got, (long long)want, (long long)u.clipped_ns);
		ok(u.clipped > 0, "which is counted");
		if (keep_gaps)
			ok(want - got < want / 100 && u.clipped_ns < want / 20,
			   "gaps in the collapsed part are filled");
	}
	reel_union_fini(&u);
}

static int64_t log_stream(struct reel_interval_stream *s,
			  struct reel_spill_log *log, uint32_t id, char *hit,
			  int64_t ns)
{
	int64_t at = random_below(100), bytes = 0;

	reel_interval_stream_begin(s, log, id, 16);
	while (at < ns - 20) {
		struct reel_interval iv = {at, at + 1 + random_below(8), 0, 0};

		iv.read_bytes = random_below(1000);
		if (random_below(300) == 0)
			iv.start_ns -= random_below((uint32_t)at);
		reel_interval_stream_add(s, &iv, &err);
		bytes += (int64_t)iv.read_bytes;
		memset(hit + iv.start_ns, 1, (size_t)(iv.end_ns - iv.start_ns));
		at = iv.end_ns + random_below(60);
	}
	reel_interval_stream_end(s, &err);
	return bytes;
}

/* Three streams with late ends read as one; a window over one without. */
static void read_streams(void)
{
	enum { NS = 200000 };
	static char hit[NS], apart[NS];
	struct reel_spill_log *log = NULL;
	struct reel_interval_stream s[4] = {0};
	struct reel_interval_merge m = {0};
	struct reel_interval_window w = {0};
	const struct reel_interval *next;
	struct reel_interval iv;
	int64_t bytes = 0, reach_ns = 0, start_ns = 0, got = 0, want = 0, i;
	uint32_t tag, k, order = 1, tags = 0;

	memset(hit, 0, sizeof(hit));
	reel_spill_log_new(&log, 1 << 12, &err);
	for (i = 0; i < 3; i++)
		bytes += log_stream(&s[i], log, (uint32_t)i, hit, NS);
	for (i = 0; i < 3; i++)
		reel_interval_merge_add(&m, &s[i], 1u << i, &err);
	while (reel_interval_merge_next(&m, &next, &tag, &err) > 0) {
		int64_t from =
			next->start_ns > reach_ns ? next->start_ns : reach_ns;

		order &= next->start_ns >= start_ns;
		start_ns = next->start_ns;
		got += next->end_ns > from ? next->end_ns - from : 0;
		reach_ns = next->end_ns > reach_ns ? next->end_ns : reach_ns;
		bytes -= (int64_t)next->read_bytes;
		tags |= tag;
	}
	for (i = 0; i < NS; i++)
		want += hit[i];
	is(got, want, "streams with late ends, read as one: exact");
	ok(order, "in the order of their starts");
	is(bytes, 0, "with all bytes");
	is(tags, 7, "of all streams");
	reel_interval_merge_fini(&m);
	for (i = 0; i < 3; i++)
		reel_interval_merge_add(&m, &s[i], 0, &err);
	is(reel_interval_merge_union_ns(&m, &err), want, "read once more");
	reel_interval_merge_fini(&m);

	memset(apart, 0, sizeof(apart));
	reel_interval_stream_begin(&s[3], log, 3, 64);
	for (i = 0; i < NS - 20; i += 1 + random_below(30)) {
		iv = (struct reel_interval){i, i + random_below(9), 0, 0};
		reel_interval_stream_add(&s[3], &iv, &err);
		memset(apart + i, 1, (size_t)(iv.end_ns - i));
		i = iv.end_ns;
	}
	reel_interval_stream_end(&s[3], &err);
	reel_interval_merge_add(&w.m, &s[3], 0, &err);
	for (got = want = start_ns = 0; start_ns < NS - 200;
	     start_ns += random_below(100)) {
		int64_t end_ns = start_ns + random_below(200);

		for (i = start_ns; i < end_ns; i++)
			want += apart[i];
		reel_interval_window_move(&w, start_ns, end_ns, &err);
		for (k = w.first; k < w.n && w.iv[k].start_ns < end_ns; k++) {
			int64_t from = w.iv[k].start_ns, to = w.iv[k].end_ns;

			from = from > start_ns ? from : start_ns;
			to = to < end_ns ? to : end_ns;
			got += to > from ? to - from : 0;
		}
	}
	is(got, want, "a window over a stream: exact");
	reel_interval_window_fini(&w);
	for (i = 0; i < 4; i++)
		reel_interval_stream_fini(&s[i]);
	reel_spill_log_close(log);
}

static void cut_unions(void)
{
	struct reel_union a = {.limit = REEL_UNION_ALL};
	struct reel_union b = {.limit = REEL_UNION_ALL};
	struct reel_union in = {.limit = REEL_UNION_ALL};
	struct reel_union out = {.limit = REEL_UNION_ALL};
	uint32_t at = 0;

	add_interval(&a, 0, 100);
	add_interval(&a, 200, 300);
	add_interval(&a, 400, 500);
	add_interval(&b, 50, 60);
	add_interval(&b, 90, 210);
	add_interval(&b, 290, 450);
	reel_union_cut(&in, &a, &b, true, &err);
	reel_union_cut(&out, &a, &b, false, &err);
	is(reel_union_ns(&in), 10 + 10 + 10 + 10 + 50, "intersection");
	is(reel_union_ns(&in) + reel_union_ns(&out), 300,
	   "inside and outside add up");
	is(reel_union_within(&a, 50, 250, NULL), 100, "measure of a window");
	is(reel_union_within(&a, 50, 250, &at), 100, "the same with a cursor");
	is(reel_union_within(&a, 250, 450, &at), 100, "which carries on");
	is(reel_union_within(&a, 100, 200, NULL), 0, "a gap measures 0");
	reel_union_fini(&a);
	reel_union_fini(&b);
	reel_union_fini(&in);
	reel_union_fini(&out);
}

/* Read the next record. 1; 0 at the end. */
static int next_record(struct reel_spill_reader *r, uint64_t *number, int n)
{
	const uint8_t *p;
	int more = reel_spill_reader_at(r, &p, &err);

	for (int i = 0; more == 1 && i < n; i++)
		number[i] = reel_spill_number(&p);
	if (more == 1)
		reel_spill_reader_to(r, p);
	return more;
}

/* Twice: all in memory, and nearly all in the file. */
static void log_round_trip(size_t memory)
{
	enum { N = 20000 };
	struct reel_spill_log *log = NULL;
	struct reel_spill_reader *r = NULL;
	uint64_t number[4];
	int i, same = 1;

	reel_spill_log_new(&log, memory, &err);
	for (i = 0; i < N; i++) {
		number[0] = UINT64_MAX >> i % 64;
		number[1] = (unsigned)i;
		number[2] = i % 3 ? 0 : UINT64_MAX - (unsigned)i;
		number[3] = 127u + (unsigned)i % 3;
		reel_spill_log_add(log, i % 2 ? 3 : 1, number, 4, 1, &err);
	}
	reel_spill_reader_open(&r, log, 3, &err);
	for (i = 1; i < N; i += 2)
		same &= next_record(r, number, 4) == 1 &&
			number[0] == UINT64_MAX >> i % 64 &&
			number[1] == (unsigned)i &&
			number[2] == (i % 3 ? 0 : UINT64_MAX - (unsigned)i) &&
			number[3] == 127u + (unsigned)i % 3;
	ok(same, "records are read as written (%zu B of memory)", memory);
	is(next_record(r, number, 4), 0, "and then the end");
	reel_spill_reader_close(r);
	reel_spill_reader_open(&r, log, 77, &err);
	is(next_record(r, number, 4), 0, "no such stream: none");
	reel_spill_reader_close(r);
	reel_spill_log_close(log);
}

/*
 * Three streams that are written together, in the order of ends; the second and
 * the third begin later. One call of the third encloses @nested calls of others.
 * The time is exact, or not known where more are nested than @held.
 */
static void streams_together(uint32_t nested, uint32_t held, bool known)
{
	static char hit[400000];
	struct reel_spill_log *log = NULL;
	struct reel_interval_stream s[3] = {0};
	struct overlap_time t = {0};
	int64_t at = 100, around = 0, want = 0, ns = 0, i;

	memset(hit, 0, sizeof(hit));
	reel_spill_log_new(&log, 1 << 12, &err);
	for (i = 0; i < 20000; i++) {
		uint32_t which = random_below(i < 500 ? 1 : i < 1000 ? 2 : 3);
		struct reel_interval iv = {at, at + 1 + random_below(8), 0, 0};

		if (i == 5000)
			around = at;
		if (i == 5000 + nested) {
			which = 2;
			iv.start_ns = around;
		}
		if (!s[which].log) {
			reel_interval_stream_begin(&s[which], log, which, 16);
			overlap_time_stream(&t, &s[which], held, &err);
		}
		reel_interval_stream_add(&s[which], &iv, &err);
		overlap_time_add(&t, &iv, &err);
		memset(hit + iv.start_ns, 1, (size_t)(iv.end_ns - iv.start_ns));
		at = iv.end_ns + random_below(9) - 2;
	}
	for (i = 0; i < (int64_t)sizeof(hit); i++)
		want += hit[i];
	is(overlap_time_ns(&t, &ns), known, "%u calls in one, %u held: %s",
	   nested, held, known ? "known" : "not known");
	if (known)
		is(ns, want, "exact");
	overlap_time_fini(&t);
	for (i = 0; i < 3; i++)
		reel_interval_stream_fini(&s[i]);
	reel_spill_log_close(log);
}

/* A rank is measured while its result begins new streams in the same log. */
static void read_beside_new_streams(void)
{
	struct reel_spill_log *log = NULL;
	struct reel_spill_reader *r = NULL;
	uint64_t number[4] = {0};
	int i, same = 1;

	reel_spill_log_new(&log, 1 << 12, &err);
	for (number[0] = 0; number[0] < 9000; number[0]++)
		reel_spill_log_add(log, 0, number, 4, 1, &err);
	reel_spill_reader_open(&r, log, 0, &err);
	for (i = 1; i < 200000; i *= 2)
		reel_spill_log_add(log, (uint32_t)i, number, 4, 1, &err);
	for (i = 0; i < 9000; i++)
		same &= next_record(r, number, 4) == 1 &&
			number[0] == (unsigned)i;
	ok(same && !next_record(r, number, 4),
	   "a stream is read while others begin");
	reel_spill_reader_close(r);
	reel_spill_log_close(log);
}

int main(void)
{
	known();
	against_bitmap(64);
	against_bitmap(4096);
	clipped_parts();
	late_ends(false, false);
	late_ends(true, false);
	late_ends(false, true);
	read_streams();
	cut_unions();
	read_beside_new_streams();
	streams_together(300, 1024, true);
	streams_together(9000, 1024, false);
	streams_together(9000, 65536, true);
	log_round_trip(1 << 20);
	log_round_trip(0);
	is(err.code, REEL_OK, "no error: %s", err.text);
	return done();
}

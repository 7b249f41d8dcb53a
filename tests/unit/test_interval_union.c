/* SPDX-License-Identifier: MIT */
/* Unions of intervals against a bitmap that counts every nanosecond. */
#include <string.h>

#include "lib/error.h"

#include "analyzer/metric/interval_log.h"
#include "analyzer/metric/spill_log.h"

#include "tests/lib/tap.h"

static struct reel_error err;

static void add(struct reel_union *u, int64_t s, int64_t e)
{
	struct reel_interval iv = {s, e, 0, 0};

	reel_union_add(u, &iv, &err);
}

static int64_t measure(const int64_t (*iv)[2], int n, uint32_t most)
{
	struct reel_union u = {.most = most};
	int64_t ns;
	int i;

	for (i = 0; i < n; i++)
		add(&u, iv[i][0], iv[i][1]);
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

	is(measure(apart, 2, 8), 20, "apart");
	is(measure(touch, 2, 8), 30, "touching intervals are one");
	is(measure(nested, 3, 8), 10,
	   "an outer call ends after its inner ones");
	is(measure(late, 3, 8), 40, "a late end swallows what began after it");
	is(measure(wrong, 5, 8), 42, "ends out of order");
	is(measure(empty, 2, 8), 0, "empty and reversed intervals measure 0");
}

static uint32_t seed = 12345;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Ends in order, starts up to 50 before: what a process of threads gives. */
static void against_bitmap(uint32_t most)
{
	enum { NS = 200000 };
	static char hit[NS];
	struct reel_union u = {.most = most};
	int64_t end = 100, want = 0;
	int i;

	memset(hit, 0, sizeof(hit));
	while (end < NS - 20) {
		int64_t start = end - 1 - random_below(50);

		add(&u, start, end);
		memset(hit + start, 1, (size_t)(end - start));
		end += random_below(20);
	}
	for (i = 0; i < NS; i++)
		want += hit[i];
	is(reel_union_ns(&u), want, "exact with %u intervals held", most);
	is(u.clipped, 0, "nothing was clipped");
	ok(u.room <= most, "memory is bounded");
	reel_union_fini(&u);
}

static void clipped(void)
{
	struct reel_union u = {.most = 4};
	int64_t i;

	for (i = 0; i < 10; i++)
		add(&u, 10 * i, 10 * i + 5);
	add(&u, 0, 100);
	ok(u.clipped == 1, "an addition below the floor is counted");
	ok(reel_union_ns(&u) <= 100 && reel_union_ns(&u) >= 50,
	   "and measures no more than there is");
	reel_union_fini(&u);
}

/* Short ones, one that ends late, and short ones; and so on. */
static void late_ends(bool keep_gaps, bool keep_late)
{
	enum { NS = 400000 };
	static char hit[NS];
	struct reel_union u = {
		.most = 2048, .keep_gaps = keep_gaps, .keep_late = keep_late};
	int64_t at = 500, want = 0, got, i;

	memset(hit, 0, sizeof(hit));
	while (at < NS - 20) {
		int64_t start = at, end = at + 1 + random_below(8);

		if (random_below(4000) == 0)
			start = random_below((uint32_t)at);
		add(&u, start, end);
		memset(hit + start, 1, (size_t)(end - start));
		at = end + random_below(8);
	}
	for (i = 0; i < NS; i++)
		want += hit[i];
	got = reel_union_ns(&u);
	if (keep_late) {
		struct reel_union late = {.most = REEL_UNION_ALL};

		ok(u.lates > 0 && !u.clipped, "late parts are kept apart");
		for (i = 0; i < u.lates; i++)
			reel_union_add(&late, &u.late[i], &err);
		ok(reel_union_ns(&late) >= want - got,
		   "and are no part of the measure");
		reel_union_fini(&late);
	} else {
		ok(got <= want && got + u.clipped_ns >= want,
		   "late ends: %lld of %lld ns, at most %lld are missing",
		   (long long)got, (long long)want, (long long)u.clipped_ns);
		ok(u.clipped > 0, "which is counted");
		if (keep_gaps)
			ok(want - got < want / 100 && u.clipped_ns < want / 20,
			   "gaps in what is gone are filled");
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

/* Three streams with late ends read as one, and a window over one without. */
static void streams(void)
{
	enum { NS = 200000 };
	static char hit[NS], apart[NS];
	struct reel_spill_log *log = NULL;
	struct reel_interval_stream s[4] = {0};
	struct reel_interval_merge m = {0};
	struct reel_interval_window w = {0};
	struct reel_interval iv;
	int64_t bytes = 0, reach_ns = 0, start_ns = 0, got = 0, want = 0, i;
	uint32_t tag, k, order = 1, tags = 0;

	memset(hit, 0, sizeof(hit));
	reel_spill_log_new(&log, 1 << 12, &err);
	for (i = 0; i < 3; i++)
		bytes += log_stream(&s[i], log, (uint32_t)i, hit, NS);
	for (i = 0; i < 3; i++)
		reel_interval_merge_add(&m, &s[i], 1u << i, &err);
	while (reel_interval_merge_next(&m, &iv, &tag, &err) > 0) {
		int64_t from = iv.start_ns > reach_ns ? iv.start_ns : reach_ns;

		order &= iv.start_ns >= start_ns;
		start_ns = iv.start_ns;
		got += iv.end_ns > from ? iv.end_ns - from : 0;
		reach_ns = iv.end_ns > reach_ns ? iv.end_ns : reach_ns;
		bytes -= (int64_t)iv.read_bytes;
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

static void cut(void)
{
	struct reel_union a = {.most = REEL_UNION_ALL};
	struct reel_union b = {.most = REEL_UNION_ALL};
	struct reel_union in = {.most = REEL_UNION_ALL};
	struct reel_union out = {.most = REEL_UNION_ALL};
	uint32_t at = 0;

	add(&a, 0, 100);
	add(&a, 200, 300);
	add(&a, 400, 500);
	add(&b, 50, 60);
	add(&b, 90, 210);
	add(&b, 290, 450);
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
		reel_spill_log_add(log, i % 2 ? 3 : 1, number, 4, &err);
	}
	reel_spill_reader_open(&r, log, 3, &err);
	for (i = 1; i < N; i += 2)
		same &= reel_spill_reader_next(r, number, 4, &err) == 1 &&
			number[0] == UINT64_MAX >> i % 64 &&
			number[1] == (unsigned)i &&
			number[2] == (i % 3 ? 0 : UINT64_MAX - (unsigned)i) &&
			number[3] == 127u + (unsigned)i % 3;
	ok(same, "records come back as they were (%zu B of memory)", memory);
	is(reel_spill_reader_next(r, number, 4, &err), 0, "and end");
	reel_spill_reader_close(r);
	reel_spill_reader_open(&r, log, 77, &err);
	is(reel_spill_reader_next(r, number, 4, &err), 0,
	   "no such stream: none");
	reel_spill_reader_close(r);
	reel_spill_log_close(log);
}

int main(void)
{
	known();
	against_bitmap(64);
	against_bitmap(4096);
	clipped();
	late_ends(false, false);
	late_ends(true, false);
	late_ends(false, true);
	streams();
	cut();
	log_round_trip(1 << 20);
	log_round_trip(0);
	is(err.code, REEL_OK, "no error: %s", err.text);
	return done();
}

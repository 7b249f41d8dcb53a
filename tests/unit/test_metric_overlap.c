/* SPDX-License-Identifier: MIT */
/* Steps and overlap: known answers, and a random job counted moment by moment.
 */
#include "tests/unit/test_metric.h"

/* Main 1 with workers 2 and 3; process 4 is not under it. */
static void processes(struct job *j, int64_t end_ns)
{
	job_process(j, 1, 0, "main", end_ns);
	job_process(j, 2, 1, "worker", end_ns);
	job_process(j, 3, 1, "worker", end_ns);
	job_process(j, 4, 0, "child", end_ns);
}

static void io(struct job *j, uint32_t process, int64_t start_ns,
	       int64_t end_ns, int64_t bytes)
{
	struct reel_event ev =
		moved(REEL_CALL_READ, start_ns, end_ns - start_ns, 0, bytes);

	ev.process = ev.thread = ev.open = process;
	job_feed(j, ev);
}

/*
 * step   [0,100)   [100,200)      [200,300)
 * fetch  [0,40)    [100,120)      [200,210)
 * I/O    [10,60) by 2, [50,70) by 3; [150,250) by 2; process 4 all the time
 */
static void known(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 300);
	io(&j, 2, 10, 60, 500);
	io(&j, 3, 50, 70, 200);
	job_span(&j, 1, REEL_SPAN_FETCH, 0, 0, 40);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_span(&j, 1, REEL_SPAN_FETCH, 1, 100, 120);
	job_span(&j, 1, REEL_SPAN_STEP, 1, 100, 200);
	job_span(&j, 1, REEL_SPAN_FETCH, 2, 200, 210);
	io(&j, 2, 150, 250, 1001);
	job_span(&j, 1, REEL_SPAN_CHECKPOINT, 0, 280, 300);
	job_span(&j, 1, REEL_SPAN_STEP, 2, 200, 300);
	job_span(&j, 1, REEL_SPAN_EPOCH, 7, 0, 300);
	io(&j, 4, 0, 300, 9999);
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM step"), 3, "steps");
	is(job_int(&j, "SELECT io_ns FROM step WHERE ordinal = 1"), 60,
	   "I/O of a step: workers merged, strangers left out");
	is(job_int(&j, "SELECT hidden_ns FROM step WHERE ordinal = 1"), 30,
	   "hidden: what ran after the fetch");
	is(job_int(&j, "SELECT io_ns FROM step WHERE ordinal = 2"), 50,
	   "a call over the edge is clipped: before");
	is(job_int(&j, "SELECT io_ns FROM step WHERE ordinal = 3"), 50,
	   "and after it");
	is(job_int(&j, "SELECT sum(read_bytes) FROM step"), 1701,
	   "bytes are spread and add up");
	is(job_int(&j, "SELECT read_bytes FROM step WHERE ordinal = 2"), 500,
	   "in proportion");
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 3"), 70,
	   "a checkpoint is no computation");
	is(job_int(&j, "SELECT other_ns FROM step WHERE ordinal = 3"), 20,
	   "but other");
	is(job_int(&j, "SELECT epoch FROM step WHERE ordinal = 3"), 7, "epoch");
	is(job_int(&j, "SELECT io_ns FROM v_overlap"), 160, "I/O of the rank");
	is(job_int(&j, "SELECT hidden_ns FROM v_overlap"), 30 + 50 + 40,
	   "hidden I/O of the rank");
	is(job_int(&j, "SELECT exposed_ns FROM v_overlap"), 40, "exposed");
	is(job_int(&j, "SELECT round(1000 * computing_share) FROM v_overlap"),
	   (80 + 70) * 1000 / 200, "AU: without the first step");
	is(job_int(&j, "SELECT median_fetch_ns FROM rank_time"), 15,
	   "median of the steady steps");
	is(job_int(&j, "SELECT fetch_ns FROM v_overlap"), 70, "data stall");
	job_end(&j);
}

/* Two workers that make a batch in 100 ns, a model that takes one in 80. */
static void headroom(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 1000);
	for (i = 0; i < 10; i++) {
		job_span(&j, 2 + (uint32_t)i % 2, REEL_SPAN_PREPROCESS, -1,
			 100 * (i / 2), 100 * (i / 2) + 100);
		job_span(&j, 1, REEL_SPAN_FETCH, -1, 100 * i, 100 * i + 20);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	io(&j, 2, 450, 900, 1);
	job_finish(&j);
	is(job_int(&j, "SELECT workers FROM v_overlap"), 2, "workers");
	is(job_int(&j, "SELECT round(1000 * headroom) FROM v_overlap"), 1600,
	   "headroom: supply 2 / 100 over demand 1 / 80");
	is(job_int(&j, "SELECT round(1000 * worker_busy_share) FROM v_overlap"),
	   500, "workers were busy half of the time");
	is(job_int(&j, "SELECT round(1000 * worker_io_share) FROM v_overlap"),
	   50, "I/O of busy workers: not what others of the process did");
	job_end(&j);
}

/* Steps that fetch where nobody sees it, and read while they do. */
static void unseen(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 4; i++) {
		io(&j, 1, 100 * i, 100 * i + 90, 1);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j,
		   "SELECT count(*) FROM v_overlap WHERE stall_share IS NULL "
		   "AND computing_share IS NULL AND hidden_ns IS NULL AND "
		   "fetch_ns IS NULL AND compute_source IS NULL"),
	   1, "without a fetch nobody knows when a rank waited");
	is(job_int(&j, "SELECT count(*) FROM v_step WHERE fetch_ns IS NULL AND "
		       "compute_ns IS NULL AND other_ns IS NULL AND "
		       "hidden_share IS NULL"),
	   4, "nor of any step");
	is(job_int(&j, "SELECT sum(dur_ns + io_ns) FROM v_step"), 760,
	   "how long each took, and its I/O, is known");
	job_end(&j);
}

static void declared(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 100);
	io(&j, 1, 0, 10, 1);
	job_span(&j, 1, REEL_SPAN_COMPUTE, -1, 5, 50);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_finish(&j);
	is(job_int(&j, "SELECT hidden_ns FROM v_overlap"), 5,
	   "declared computation wins");
	is(job_int(&j, "SELECT count(*) FROM v_overlap WHERE compute_source = "
		       "'compute spans'"),
	   1, "and is named");
	is(job_int(&j, "SELECT other_ns FROM step"), 55, "the rest is other");
	is(job_int(&j, "SELECT count(*) FROM step WHERE fetch_ns IS NULL"), 1,
	   "with a fetch in it that nobody saw");
	is(job_int(&j, "SELECT computing_share FROM v_overlap"), -1,
	   "one step: no steady one, NULL");
	job_end(&j);
}

/* Two turns of a loop, in each of them two of another. */
static void nested(void)
{
	struct job j;
	int64_t i, k;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 2; i++) {
		int64_t at = 200 * i;

		job_span(&j, 1, REEL_SPAN_FETCH, i, at, at + 40);
		for (k = 0; k < 2; k++) {
			int64_t in = at + 50 + 60 * k;

			job_span(&j, 1, REEL_SPAN_FETCH, k, in, in + 10);
			job_span(&j, 1, REEL_SPAN_STEP, k, in, in + 60);
		}
		job_span(&j, 1, REEL_SPAN_STEP, i, at, at + 200);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT sum(dur_ns) FROM step"), 400,
	   "nested loops: time is given once, and all of it");
	is(job_int(&j, "SELECT group_concat(dur_ns, '') = '506090506090' FROM "
		       "(SELECT dur_ns FROM step ORDER BY start_ns)"),
	   1, "to the step that began last");
	is(job_int(&j, "SELECT sum(fetch_ns) FROM step"), 120,
	   "with the waits of both loops");
	is(job_int(&j, "SELECT median_fetch_ns FROM rank_time"), 10,
	   "a median step has a wait of its own");
	is(job_int(&j, "SELECT median_compute_ns FROM rank_time"), 50,
	   "and computes");
	job_end(&j);
}

/* A program that marks as a step what a loader's step holds. */
static void marked_twice(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 400);
	for (i = 0; i < 3; i++) {
		job_span(&j, 1, REEL_SPAN_FETCH, i, 100 * i, 100 * i + 40);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i + 40, 100 * i + 95);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM step WHERE dur_ns = 100"), 3,
	   "a step that is marked twice is one");
	is(job_int(&j, "SELECT 1000 * median_fetch_ns + median_compute_ns "
		       "FROM rank_time"),
	   40060, "with what it waited and computed");
	job_end(&j);
}

/* Steps within an evaluation that began before them, one within a step. */
static void evaluated(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 400);
	job_span(&j, 1, REEL_SPAN_FETCH, 0, 100, 110);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 100, 200);
	job_span(&j, 1, REEL_SPAN_FETCH, 1, 200, 210);
	job_span(&j, 1, REEL_SPAN_EVAL, 1, 250, 270);
	job_span(&j, 1, REEL_SPAN_STEP, 1, 200, 300);
	job_span(&j, 1, REEL_SPAN_EVAL, 0, 50, 350);
	job_finish(&j);
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 1"), 90,
	   "an evaluation around the steps stops no computation");
	is(job_int(&j, "SELECT compute_ns FROM step WHERE ordinal = 2"), 70,
	   "one within a step does");
	job_end(&j);
}

static uint32_t seed = 99;

static int64_t random_below(int64_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (int64_t)(seed >> 8) % n;
}

#define NS 400000

/* One mark per moment: in a step, waiting, I/O of the tree. */
static void against_marks(void)
{
	static char step[NS], fetch[NS], busy[NS];
	int64_t end[4] = {0}, want_io = 0, want_hidden = 0, i, at = 0, n = 0;
	struct job j;

	job_begin(&j);
	processes(&j, NS);
	/* Spans and calls come in the order of their ends. */
	for (i = 1; i < NS; i++) {
		uint32_t p = 1 + (uint32_t)random_below(3);

		if (i - at > 300 && random_below(50) == 0) {
			int64_t wait = random_below(200);

			job_span(&j, 1, REEL_SPAN_FETCH, n, at, at + wait);
			job_span(&j, 1, REEL_SPAN_STEP, n++, at, i);
			memset(step + at, 1, (size_t)(i - at));
			memset(fetch + at, 1, (size_t)wait);
			at = i + random_below(3);
		}
		if (random_below(40) == 0) {
			int64_t start = i - random_below(120);

			start = start > end[p] ? start : end[p];
			io(&j, p, start, i, 10);
			memset(busy + start, 1, (size_t)(i - start));
			end[p] = i;
		}
	}
	job_finish(&j);
	for (i = 0; i < NS; i++) {
		want_io += busy[i];
		want_hidden += busy[i] && step[i] && !fetch[i];
	}
	is(job_int(&j, "SELECT io_ns FROM v_overlap"), want_io,
	   "I/O of the tree, exact");
	is(job_int(&j, "SELECT hidden_ns FROM v_overlap"), want_hidden,
	   "hidden I/O, exact");
	is(job_int(&j, "SELECT sum(hidden_ns) FROM step"), want_hidden,
	   "and over the steps");
	job_end(&j);
}

static void ranks(void)
{
	struct job j;

	job_begin(&j);
	processes(&j, 100);
	io(&j, 2, 10, 30, 5);
	io(&j, 4, 20, 40, 7);
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_span(&j, 4, REEL_SPAN_STEP, 0, 0, 100);
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM v_overlap"), 2,
	   "each process that takes steps is a rank");
	is(job_int(&j, "SELECT io_ns FROM v_overlap WHERE rank = 0"), 20,
	   "with its own I/O");
	is(job_int(&j, "SELECT read_bytes FROM step WHERE rank = 1"), 7,
	   "and its own bytes");
	job_end(&j);
}

/* Two loaders number their epochs from 0 each. */
static void epochs(void)
{
	struct job j;
	int64_t i;

	job_begin(&j);
	processes(&j, 1000);
	for (i = 0; i < 6; i++) {
		job_span(&j, 1, REEL_SPAN_FETCH, -1, 100 * i, 100 * i + 30 - i);
		job_span(&j, 1, REEL_SPAN_STEP, i, 100 * i, 100 * i + 100);
		if (i % 3 == 2)
			job_span(&j, 1, REEL_SPAN_EPOCH, 0, 100 * i - 200,
				 100 * i + 100);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM v_epoch"), 2,
	   "epochs of the same number are two");
	is(job_int(&j, "SELECT sum(first_fetch_ns) FROM v_epoch"), 30 + 27,
	   "each with its first fetch");
	job_end(&j);
}

int main(void)
{
	epochs();
	known();
	headroom();
	unseen();
	declared();
	nested();
	evaluated();
	marked_twice();
	against_marks();
	ranks();
	return done();
}

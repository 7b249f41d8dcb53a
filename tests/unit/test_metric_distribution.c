/* SPDX-License-Identifier: MIT */
/* Distributions of sizes, strides, and times between calls. */
#include "tests/unit/test_metric.h"

static double calls(struct job *j, const char *quantity, const char *op,
		    int64_t low)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT calls FROM distribution WHERE quantity = '%s' "
		 "AND op = '%s' AND low = %lld",
		 quantity, op, (long long)low);
	return job_ask(j, sql);
}

static double mean(struct job *j, const char *quantity, const char *op,
		   int64_t low)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT mean FROM distribution WHERE quantity = '%s' "
		 "AND op = '%s' AND low = %lld",
		 quantity, op, (long long)low);
	return job_ask(j, sql);
}

static void of_one_thread(void)
{
	struct reel_event ev;
	struct job j;

	job_begin(&j);
	job_process(&j, 1, 0, "main", 10000);
	job_file(&j, 1, "/a", "file");
	job_feed(&j, event(REEL_CALL_OPEN, 0, 5));
	job_feed(&j, moved(REEL_CALL_PREAD, 10, 5, 0, 100));
	job_feed(&j, moved(REEL_CALL_PREAD, 30, 5, 100, 100));	 /* stride 0 */
	job_feed(&j, moved(REEL_CALL_PREAD, 1030, 5, 250, 100)); /* 50 */
	job_feed(&j, moved(REEL_CALL_PREAD, 1031, 5, 310, 7));	 /* -40 */
	ev = moved(REEL_CALL_PREAD, 5000, 5, 317, 0); /* the end of the file */
	job_feed(&j, ev);
	job_finish(&j);

	/* 100 and 101 share a bucket. */
	is(calls(&j, "size", "read", 100), 3, "sizes");
	is(calls(&j, "size", "read", 7), 1, "the small one");
	is(job_ask(&j, "SELECT sum(calls) FROM distribution "
		       "WHERE quantity = 'size'"),
	   4, "no size at the end of a file");
	is(calls(&j, "stride", "read", 0), 1, "consecutive");
	is(calls(&j, "stride", "read", 50), 1, "forward");
	is(calls(&j, "stride", "read", -40), 1, "back");
	is(job_ask(&j, "SELECT sum(calls) FROM distribution "
		       "WHERE quantity = 'stride'"),
	   3, "a first access has no stride");
	/* Starts 0, 10, 30, 1030, 1031, 5000. */
	is(calls(&j, "inter_arrival", "io", 10), 1, "after the open");
	is(calls(&j, "inter_arrival", "io", 20), 1, "between two starts");
	is(calls(&j, "inter_arrival", "io", 1), 1, "1 ns");
	is(mean(&j, "inter_arrival", "io", 992), 1000,
	   "a bucket keeps the mean of its values");
	is(mean(&j, "inter_arrival", "io", 3968), 3969, "1031 to 5000");
	is(job_ask(&j, "SELECT mean FROM v_distribution "
		       "WHERE quantity = 'inter_arrival'"),
	   1000, "the mean of all: 5000 / 5");
	job_end(&j);
}

static void of_many(void)
{
	struct reel_event ev;
	struct job j;

	job_begin(&j);
	job_process(&j, 1, 0, "main", 10000);
	job_process(&j, 2, 0, "main", 10000);
	job_file(&j, 1, "/a", "file");
	ev = moved(REEL_CALL_WRITE, 0, 5, REEL_NO_OFFSET, 10);
	job_feed(&j, ev);
	ev.process = ev.thread = 2; /* another thread: no time between */
	ev.start_ns = 7;
	job_feed(&j, ev);
	ev.start_ns = 20;
	ev.count = 3; /* a sum of calls */
	ev.asked = ev.result = 30;
	job_feed(&j, ev);
	ev.start_ns = 50;
	ev.count = 1;
	job_feed(&j, ev);
	job_finish(&j);
	is(job_ask(&j, "SELECT count(*) FROM distribution "
		       "WHERE quantity = 'inter_arrival'"),
	   0, "neither between threads nor around a sum of calls");
	is(job_ask(&j, "SELECT count(*) FROM distribution "
		       "WHERE quantity = 'stride'"),
	   0, "no stride without offsets");
	is(calls(&j, "size", "write", 10), 5, "a sum of three counts thrice");
	job_end(&j);

	/* A counter of one call has the time of its interval, not its own. */
	job_begin(&j);
	ev = moved(REEL_CALL_WRITE, 10, 5, REEL_NO_OFFSET, 10);
	job_feed(&j, ev);
	ev.counted = true;
	for (ev.start_ns = 20; ev.start_ns < 50; ev.start_ns += 10)
		job_feed(&j, ev);
	ev.counted = false;
	job_feed(&j, ev);
	job_finish(&j);
	is(job_ask(&j, "SELECT count(*) FROM distribution "
		       "WHERE quantity = 'inter_arrival'"),
	   0, "neither between counters nor around them");
	job_end(&j);

	job_begin(&j);
	job_finish(&j);
	is(job_ask(&j, "SELECT count(*) FROM distribution"), 0, "no event");
	job_end(&j);
}

/* Operations end in another order than they start; parts are no calls. */
static void of_parts(void)
{
	struct reel_event ev;
	struct job j;

	job_begin(&j);
	for (int i = 9; i >= 0; i--)
		job_feed(&j, moved(REEL_CALL_ASYNC_READ, 10 * i, 1000 - 20 * i,
				   8 * i, 8));
	job_finish(&j);
	is(job_ask(&j, "SELECT sum(calls * (mean = 10)) FROM distribution "
		       "WHERE quantity = 'inter_arrival'"),
	   9, "asynchronous operations are in the order of their starts");
	job_end(&j);

	job_begin(&j);
	job_feed(&j, moved(REEL_CALL_COPY_FILE_RANGE, 100, 50, 0, 10));
	job_feed(&j, moved(REEL_CALL_COPY_OUT, 100, 50, 0, 10));
	job_feed(&j, moved(REEL_CALL_COPY_FILE_RANGE, 200, 50, 10, 10));
	job_feed(&j, moved(REEL_CALL_COPY_OUT, 200, 50, 10, 10));
	job_finish(&j);
	is(job_ask(&j, "SELECT sum(calls) + sum(mean) FROM distribution "
		       "WHERE quantity = 'inter_arrival'"),
	   101, "a copy is one call");
	job_end(&j);

	job_begin(&j);
	ev = moved(REEL_CALL_COPY_FILE_RANGE, 100, 50, 0, 20);
	ev.count = 2;
	job_feed(&j, ev);
	ev.call = REEL_CALL_COPY_OUT;
	job_feed(&j, ev);
	job_feed(&j, moved(REEL_CALL_READ, 200, 50, 20, 10));
	job_finish(&j);
	is(job_ask(&j, "SELECT count(*) FROM distribution "
		       "WHERE quantity = 'inter_arrival'"),
	   0, "a record of several copies has one start, and nothing after it");
	job_end(&j);

	job_begin(&j);
	job_feed(&j, moved(REEL_CALL_FWRITE, 100, 5, 0, 10));
	ev = moved(REEL_CALL_STDIO_WRITE, 900, 0, 10, 500);
	job_feed(&j, ev);
	job_feed(&j, moved(REEL_CALL_FWRITE, 900, 5, 510, 10));
	job_finish(&j);
	is(job_ask(&j, "SELECT count(*) FROM distribution "
		       "WHERE quantity = 'inter_arrival'"),
	   0, "calls of printf() were between, at unknown times");
	job_end(&j);
}

int main(void)
{
	of_one_thread();
	of_many();
	of_parts();
	return done();
}

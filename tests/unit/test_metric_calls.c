/* SPDX-License-Identifier: MIT */
/* The metrics of calls: known answers for cases that are easily wrong. */
#include "tests/unit/test_metric.h"

static struct reel_event event_on(struct reel_event ev, uint32_t process,
				  uint32_t open)
{
	ev.process = ev.thread = process;
	ev.open = open;
	return ev;
}

static void operations(void)
{
	struct reel_event ev;
	struct job j;

	job_begin(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_file(&j, 1, "/a", "file");
	job_file(&j, 2, "pipe:[7]", "pipe");
	job_feed(&j, event(REEL_CALL_OPEN, 0, 10));
	job_feed(&j, moved(REEL_CALL_READ, 10, 10, 0, 1000));
	ev = moved(REEL_CALL_READ, 20, 10, 1000, 0); /* end of file */
	ev.asked = 4096;
	job_feed(&j, ev);
	ev = moved(REEL_CALL_READ, 30, 10, REEL_NO_OFFSET, -1);
	ev.err = 5;
	job_feed(&j, ev);
	ev = moved(REEL_CALL_READ, 40, 500, REEL_NO_OFFSET, 64); /* a message */
	ev.file = 2;
	ev.kind = REEL_KIND_PIPE;
	job_feed(&j, ev);
	ev = event(REEL_CALL_MMAP, 540, 5); /* an address is not a byte count */
	ev.asked = 8192;
	ev.result = 0x7f0000000000;
	job_feed(&j, ev);
	job_feed(&j, moved(REEL_CALL_WRITE, 550, 50, 0, 3000));
	ev = event(REEL_CALL_READLINK, 600, 1);
	ev.asked = 4096;
	ev.result = 77;
	job_feed(&j, ev);
	job_finish(&j);
	is(job_int(&j, "SELECT read_bytes FROM v_summary"), 1000,
	   "bytes read: without messages, addresses and links");
	is(job_int(&j, "SELECT write_bytes FROM v_summary"), 3000,
	   "bytes written");
	is(job_int(&j, "SELECT read_calls FROM v_summary"), 3,
	   "failed reads and reads at EOF are calls");
	is(job_int(&j, "SELECT errors FROM v_summary"), 1, "errors");
	is(job_int(&j, "SELECT eof_reads FROM v_summary"), 1, "EOF reads");
	is(job_int(&j, "SELECT message_bytes FROM v_summary"), 64,
	   "messages are counted apart");
	is(job_int(&j, "SELECT mapped_bytes FROM v_summary"), 8192,
	   "bytes of mappings");
	is(job_int(&j, "SELECT files FROM v_summary"), 1,
	   "a pipe is not a file");
	is(job_int(&j, "SELECT calls FROM transfer_size WHERE op = 'read'"), 1,
	   "EOF reads and errors have no size");
	is(job_int(&j, "SELECT median_bytes FROM transfer_size "
		       "WHERE op = 'all'"),
	   1000, "the median of 1000 and 3000 is one of them");
	is(job_int(&j, "SELECT union_ns FROM io_time WHERE op = 'io' AND "
		       "process_id IS NULL"),
	   96, "I/O time: without the wait on the pipe");
	is(job_int(&j, "SELECT calls FROM v_error WHERE call = 'read' AND "
		       "errno = 5"),
	   1, "errors by errno");
	is(job_int(&j, "SELECT value FROM v_similarity_vector "
		       "WHERE name = 'files'"),
	   1, "number of files");
	job_end(&j);
}

/* cp(1) asks copy_file_range() for all that a file may have. */
static void asked(void)
{
	struct reel_event ev = moved(REEL_CALL_READ, 0, 1, 0, 1000);
	struct job j;

	job_begin(&j);
	job_feed(&j, ev);
	for (int i = 0; i < 2; i++) {
		ev = moved(REEL_CALL_PREAD, 10 + i, 1, 0, 1000);
		ev.asked = INT64_C(0x7fffffffc0000000);
		job_feed(&j, ev);
	}
	job_finish(&j);
	is(job_int(&j, "SELECT asked_bytes FROM v_call WHERE call = 'read'"),
	   1000, "bytes asked");
	is(job_int(&j, "SELECT sum(asked_bytes) > 3000 FROM v_call"), 1,
	   "a sum of bytes asked does not overflow");
	job_end(&j);
}

static void empty(void)
{
	struct job j;

	job_begin(&j);
	job_finish(&j);
	is(job_int(&j, "SELECT min_bytes FROM transfer_size WHERE op = 'all'"),
	   -1, "no bytes: NULL, not 0");
	is(job_int(&j, "SELECT io_ns FROM v_summary"), -1, "no I/O time: NULL");
	is(job_int(&j, "SELECT count(*) FROM v_bandwidth"), 0, "no bandwidth");
	is(job_int(&j, "SELECT value FROM v_similarity_vector "
		       "WHERE name = 'sequential'"),
	   -1, "no sequentiality: NULL");
	job_end(&j);
}

/* Darshan has sizes only in its POSIX module. */
static void darshan_module(void)
{
	struct job j;

	job_begin(&j);
	job_feed(&j, moved(REEL_CALL_READ, 0, 1, 0, 50));
	job_feed(&j, moved(REEL_CALL_FREAD, 1, 1, 0, 60));
	job_feed(&j, moved(REEL_CALL_READ, 2, 1, 0, 0));
	job_finish(&j);
	is(job_int(&j, "SELECT 10 * calls + posix_calls FROM darshan_size "
		       "WHERE op = 'read' AND bin = 0"),
	   21, "one of two reads is in the POSIX layer");
	is(job_int(&j, "SELECT sum(eof_reads) * 10 + sum(posix_eof_reads) "
		       "FROM darshan_size"),
	   11, "and one EOF read");
	job_end(&j);
}

/* The ten bounds of Darshan's bins are inclusive. */
static void darshan_bounds(void)
{
	static const int64_t upper[] = {100,	  1024,	     10240,
					102400,	  1048576,   4194304,
					10485760, 104857600, 1073741824};
	char sql[128];
	struct job j;
	int i;

	job_begin(&j);
	for (i = 0; i < 9; i++) {
		job_feed(&j, moved(REEL_CALL_READ, i, 1, 0, upper[i]));
		job_feed(&j, moved(REEL_CALL_READ, i, 1, 0, upper[i] + 1));
	}
	job_finish(&j);
	for (i = 0; i < 10; i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT calls FROM darshan_size "
			 "WHERE op = 'read' AND bin = %d",
			 i);
		is(job_int(&j, sql), i == 0 || i == 9 ? 1 : 2,
		   "Darshan's bin %d", i);
	}
	is(job_int(&j, "SELECT count(*) FROM v_transfer_size WHERE "
		       "low_bytes <= 1024 AND high_bytes >= 1024"),
	   1, "a power of two is in one of our bins");
	is(job_int(&j, "SELECT calls FROM v_transfer_size WHERE "
		       "low_bytes = 1024"),
	   2, "it is the start of its bin");
	job_end(&j);
}

/* Reads of a stream do not move the position of a descriptor. */
static void darshan_modules(void)
{
	struct job j;
	int i;

	job_begin(&j);
	job_feed(&j, event(REEL_CALL_OPEN, 0, 1));
	for (i = 0; i < 5; i++) {
		job_feed(&j,
			 moved(REEL_CALL_READ, 10 * i + 2, 1, 100 * i, 100));
		if (i == 2)
			job_feed(&j, event(REEL_CALL_FOPEN, 10 * i + 4, 1));
		job_feed(&j, moved(REEL_CALL_FREAD, 10 * i + 6, 1, 7 * i, 7));
	}
	job_finish(&j);
	is(job_int(&j, "SELECT 10 * seq + consec FROM darshan_sequence "
		       "WHERE layer = 'POSIX'"),
	   44, "Darshan's modules: a stream has its own position");
	job_end(&j);
}

/* Counters have no offsets: nothing is known of the order. */
static void darshan_unknown(void)
{
	struct reel_event ev = moved(REEL_CALL_READ, 2, 1, REEL_NO_OFFSET, 300);
	struct job j;

	job_begin(&j);
	ev.count = 3;
	job_feed(&j, event(REEL_CALL_OPEN, 0, 1));
	job_feed(&j, ev);
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM darshan_sequence"), 0,
	   "Darshan's pair: calls at an unknown offset have no order");
	is(job_int(&j, "SELECT count(*) FROM v_similarity_vector WHERE name IN "
		       "('sequential', 'consecutive') AND value IS NULL"),
	   2, "and both shares are not measured");
	job_end(&j);

	job_begin(&j);
	job_feed(&j, moved(REEL_CALL_READ, 0, 1, 0, 100));
	job_feed(&j, ev);
	job_feed(&j, moved(REEL_CALL_READ, 4, 1, 100, 100));
	job_finish(&j);
	is(job_int(&j, "SELECT 10 * ops + seq FROM darshan_sequence"), 21,
	   "beside known ones they are in no sum");
	job_end(&j);
}

static int64_t order_shares(struct job *j, const char *which)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT sum(%s) FROM sequence", which);
	return job_int(j, sql);
}

/* Events have the offset after dup, fork and append. */
static void sequentiality(void)
{
	struct reel_event ev;
	struct job j;

	job_begin(&j);
	job_feed(&j, moved(REEL_CALL_READ, 0, 1, 0, 100));
	ev = moved(REEL_CALL_READ, 1, 1, 100, 100);
	ev.fd = 9; /* through a dup: the same OFD */
	job_feed(&j, ev);
	ev = event_on(moved(REEL_CALL_READ, 2, 1, 200, 100), 2,
		      1); /* after a fork */
	job_feed(&j, ev);
	job_feed(&j,
		 moved(REEL_CALL_PREAD, 3, 1, 5000, 100));  /* forward jump */
	job_feed(&j, moved(REEL_CALL_PREAD, 4, 1, 0, 100)); /* backward jump */
	ev = moved(REEL_CALL_READ, 5, 1, 100, 0);	    /* EOF: no bytes */
	ev.asked = 10;
	job_feed(&j, ev);
	job_feed(&j, moved(REEL_CALL_READ, 6, 1, 100, 5));
	/* Opened again: a first access, not a backward jump. */
	job_feed(&j, event_on(moved(REEL_CALL_READ, 7, 1, 0, 50), 1, 2));
	/* Two appenders: each begins at the end of the other. */
	job_feed(&j, event_on(moved(REEL_CALL_WRITE, 8, 1, 0, 10), 1, 3));
	job_feed(&j, event_on(moved(REEL_CALL_WRITE, 9, 1, 10, 10), 2, 4));
	job_feed(&j, event_on(moved(REEL_CALL_WRITE, 10, 1, 20, 10), 1, 3));
	/* Unknown offset: neither first nor random, and so is the next
	 * access. */
	job_feed(&j, event_on(moved(REEL_CALL_FREAD, 11, 1, REEL_NO_OFFSET, 10),
			      1, 5));
	job_feed(&j, event_on(moved(REEL_CALL_FREAD, 12, 1, 10, 10), 1, 5));
	job_finish(&j);
	is(order_shares(&j, "first"), 4, "first accesses: one per open");
	is(order_shares(&j, "consecutive"), 3,
	   "consecutive: through dup and fork");
	is(order_shares(&j, "sequential"), 2,
	   "sequential: ahead, and the appender");
	is(order_shares(&j, "random"), 1, "random: back");
	is(order_shares(&j, "unknown"), 2, "unknown");
	is(job_int(&j, "SELECT round(1000 * in_order_share) FROM v_sequence "
		       "WHERE op = 'read'"),
	   800, "shares exclude first accesses");
	is(job_int(&j, "SELECT random FROM file_sequence "
		       "WHERE file_id = 1"),
	   1, "the file read backwards is named");
	job_end(&j);
}

/* Issued in order, completed in any order. */
static void asynchronous(void)
{
	enum { N = 9000 }; /* more than are held back */
	struct job j;

	job_begin(&j);
	job_feed(&j, event_on(moved(REEL_CALL_READ, 0, 1, 7000000, 10), 1, 2));
	for (int i = 0; i < N; i++) {
		int at = i / 100 * 100 + 99 - i % 100;

		job_feed(&j, moved(REEL_CALL_ASYNC_WRITE, at, 20000 + i - at,
				   at * 512, 512));
	}
	/* In the order of their ends, like all calls. */
	job_feed(&j, event_on(moved(REEL_CALL_READ, 29500, 1, 0, 10), 1, 2));
	job_feed(&j, event_on(moved(REEL_CALL_READ, 29400, 200, 10, 10), 1, 2));
	job_finish(&j);
	is(order_shares(&j, "random"), 1,
	   "completions in reverse order are not backward accesses");
	is(job_int(&j, "SELECT consecutive FROM v_sequence "
		       "WHERE op = 'write'"),
	   N - 1, "each access began at the end of the previously issued one");
	is(job_int(&j, "SELECT consecutive FROM v_sequence "
		       "WHERE op = 'read'"),
	   1, "synchronous calls are ordered by their end");
	job_end(&j);
}

static void io_time(void)
{
	struct reel_event ev;
	struct job j;

	job_begin(&j);
	job_feed(&j, moved(REEL_CALL_READ, 0, 100, 0, 100));
	ev = moved(REEL_CALL_READ, 50, 100, 0, 100);
	ev.thread = 2;
	job_feed(&j, ev);
	ev = event_on(moved(REEL_CALL_READ, 120, 100, 0, 100), 2, 2);
	ev.thread = 3;
	job_feed(&j, ev);
	job_feed(&j, event(REEL_CALL_STAT, 300, 10));
	job_finish(&j);
	is(job_int(&j, "SELECT union_ns FROM io_time WHERE op = 'io' AND "
		       "process_id = 1"),
	   160, "threads of a process are merged");
	is(job_int(&j, "SELECT union_ns FROM v_io_time WHERE op = 'io'"), 230,
	   "processes too, for the job");
	is(job_int(&j, "SELECT sum_ns FROM v_io_time WHERE op = 'io'"), 310,
	   "the sum is not merged");
	is(job_int(&j, "SELECT process_mean_ns FROM v_io_time "
		       "WHERE op = 'io'"),
	   130, "mean over processes");
	is(job_int(&j, "SELECT busy_bytes_per_s FROM v_bandwidth "
		       "WHERE op = 'read'"),
	   1363636364, "bandwidth while busy");
	is(job_int(&j, "SELECT call_median_bytes_per_s FROM v_bandwidth "
		       "WHERE op = 'read'"),
	   1000000000, "bandwidth per call");
	job_end(&j);
}

static void copies(void)
{
	struct reel_event in = moved(REEL_CALL_SENDFILE, 0, 100, 0, 10);
	struct job j;

	job_begin(&j);
	job_feed(&j, in);
	job_feed(&j, moved(REEL_CALL_COPY_OUT, 0, 100, 0, 10));
	in.start_ns = 200;
	in.kind = REEL_KIND_PIPE;
	job_feed(&j, in);
	job_feed(&j, moved(REEL_CALL_COPY_OUT, 200, 100, 10, 10));
	job_finish(&j);
	is(job_int(&j, "SELECT sum_ns FROM v_io_time WHERE op = 'io'"), 200,
	   "the time of a copy counts once, as its read or its write");
	is(job_int(&j, "SELECT sum(sum_ns) FROM v_io_time "
		       "WHERE op IN ('read', 'write')"),
	   300, "and for each side, where both are I/O");
	is(job_int(&j, "SELECT sum_ns FROM io_time WHERE process_id = 1"), 200,
	   "once in the sum of a process");
	job_end(&j);
}

static void timeline(void)
{
	const int64_t s = 1000000000;
	struct job j;

	job_begin(&j);
	job_feed(&j, moved(REEL_CALL_READ, s / 2, 2 * s, 0, 1001));
	job_feed(&j, moved(REEL_CALL_READ, 2 * s + s / 2, 1, 0, 7));
	job_finish(&j);
	is(job_int(&j, "SELECT count(*) FROM v_timeline"), 3, "three seconds");
	is(job_int(&j, "SELECT sum(read_bytes) FROM v_timeline"), 1008,
	   "bytes add up");
	is(job_int(&j, "SELECT sum(read_ns) FROM v_timeline"), 2 * s + 1,
	   "time adds up");
	is(job_int(&j, "SELECT read_bytes FROM v_timeline "
		       "WHERE start_ns = 1000000000"),
	   500, "spread in proportion");
	is(job_int(&j, "SELECT reads FROM v_timeline "
		       "WHERE start_ns = 2000000000"),
	   2, "a call counts where it ends");
	job_end(&j);
}

/* Numbers that a damaged trace may hold. */
static void hostile(void)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1, -1,	  0,
				      1,	 INT64_MAX - 1, INT64_MAX};
	struct reel_event ev;
	struct job j;
	size_t a, b, c;

	job_begin(&j);
	for (a = 0; a < 7; a++)
		for (b = 0; b < 7; b++)
			for (c = 0; c < 7; c++) {
				ev = moved(REEL_CALL_PREAD, odd[a], odd[b],
					   odd[c], odd[(a + c) % 7]);
				ev.count = (uint32_t)odd[b];
				job_feed(&j, ev);
			}
	job_span(&j, 1, REEL_SPAN_STEP, 0, 0, 100);
	job_span(&j, 99, REEL_SPAN_STEP, -5, 50, 10);
	job_finish(&j);
	ok(job_ask(&j, "SELECT count(*) FROM v_timeline") >= 1,
	   "extreme values do no harm");
	job_end(&j);
}

int main(void)
{
	operations();
	asked();
	empty();
	darshan_module();
	darshan_bounds();
	darshan_modules();
	darshan_unknown();
	sequentiality();
	asynchronous();
	io_time();
	copies();
	timeline();
	hostile();
	return done();
}

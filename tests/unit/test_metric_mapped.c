/* SPDX-License-Identifier: MIT */
/* Bytes through mappings: counted once, separate from reads and writes. */
#include "tests/unit/test_metric.h"

static struct reel_event mmap_event(int64_t start_ns, int64_t length)
{
	struct reel_event ev = event(REEL_CALL_MMAP, start_ns, 5);

	ev.asked = length;
	ev.result = 0x7f0000000000;
	return ev;
}

static struct reel_event page_event(enum reel_call call, int64_t start_ns,
				    int64_t length, int64_t bytes)
{
	struct reel_event ev = event(call, start_ns, 0);

	ev.offset = 0;
	ev.asked = length;
	ev.result = bytes;
	ev.arg = bytes / 4096;
	return ev;
}

static void mappings(void)
{
	struct reel_event ev;
	struct job j;

	job_begin(&j);
	job_process(&j, 1, 0, "main", 1000);
	job_process(&j, 2, 1, "worker", 1000);
	job_file(&j, 1, "/a", "file");
	job_feed(&j, mmap_event(0, 100000));
	job_feed(&j, mmap_event(10, 50000));
	job_feed(&j, page_event(REEL_CALL_MAP_WRITE, 20, 100000, 8192));
	job_feed(&j, page_event(REEL_CALL_MAP_READ, 20, 100000,
				4096)); /* the same pages */
	ev = page_event(REEL_CALL_MAP_READ, 30, 4096, 4096); /* a page fault */
	ev.dur_ns = 10;
	job_feed(&j, ev);
	ev = mmap_event(40, 7000); /* of a killed process */
	ev.process = ev.thread = 2;
	job_feed(&j, ev);
	ev = mmap_event(50, 3000); /* failed */
	ev.err = 12;
	ev.result = -1;
	job_feed(&j, ev);
	ev = mmap_event(60, 9000); /* no file */
	ev.kind = REEL_KIND_MEMORY;
	job_feed(&j, ev);
	job_finish(&j);
	is(job_int(&j, "SELECT mappings FROM v_mapped"), 3, "mappings");
	is(job_int(&j, "SELECT length_bytes FROM v_mapped"), 157000, "length");
	is(job_int(&j, "SELECT read_bytes FROM v_mapped"), 8192, "bytes read");
	is(job_int(&j, "SELECT write_bytes FROM v_mapped"), 8192,
	   "bytes written");
	is(job_int(&j, "SELECT unknown_bytes FROM v_mapped"), 57000,
	   "unknown: a live mapping, and one of a killed process");
	is(job_int(&j, "SELECT untimed_bytes FROM v_mapped"), 12288,
	   "without time and order");
	is(job_int(&j, "SELECT read_bytes FROM v_file"), 8192,
	   "the bytes count for the file, too");
	is(job_int(&j, "SELECT reads FROM v_file"), 0, "but not as reads");
	is(job_int(&j, "SELECT calls FROM transfer_size WHERE op = 'all'"), 0,
	   "no transfer size");
	is(job_int(&j, "SELECT count(*) FROM call_bandwidth WHERE calls > 0"),
	   0, "no bandwidth");
	job_end(&j);
}

static void no_mapping(void)
{
	struct job j;

	job_begin(&j);
	job_finish(&j);
	is(job_int(&j, "SELECT length_bytes FROM v_mapped"), 0, "no mapping");
	job_end(&j);
}

int main(void)
{
	mappings();
	no_mapping();
	return done();
}

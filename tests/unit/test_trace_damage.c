/* SPDX-License-Identifier: MIT */
/*
 * Damaged traces, made by hand: all intact records must be read, once and in
 * order, and damage must be counted and reported.
 */
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/trace/reader.h"
#include "tests/lib/tap.h"
#include "tests/data/trace_writer.h"

static char dir[1024];
static struct tw_block block; /* reused for all traces */
static struct reel_error error;

static const char *in_dir(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void begin_trace(void)
{
	tw_tempdir(dir, sizeof(dir));
	mkdir(in_dir("windows"), 0700);
	memset(&error, 0, sizeof(error));
}

static void head(const char *log, const struct reel_head *h)
{
	tw_write(in_dir(log), "ab", h, sizeof(*h));
}

/* Append the first @part bytes of a sealed block of @n reads. */
static size_t add_blocks(const char *log, uint32_t tid, uint32_t seq,
			 uint64_t base, int n, size_t part)
{
	size_t bytes;

	tw_reads(&block, tid, seq, base, n);
	bytes = tw_seal(&block, base, base);
	tw_write(in_dir(log), "ab", block.data, bytes < part ? bytes : part);
	return bytes;
}

/* Write a window whose only slot has an unflushed block of @n reads. */
static void window(const char *name, const struct reel_head *h, uint32_t tid,
		   uint32_t seq, uint64_t base, int n)
{
	static char page[REEL_WINDOW_HEAD_BYTES];

	memcpy(page, h, sizeof(*h));
	tw_reads(&block, tid, seq, base, n);
	tw_seal(&block, 0, 0);
	tw_write(in_dir(name), "wb", page, sizeof(page));
	tw_write(in_dir(name), "ab", block.data,
		 sizeof(struct reel_block_head) + block.used);
}

struct seen {
	int records, threads, processes, disorder;
	struct reel_trace_damage damage;
	char first[2][32]; /* texts of the first two processes */
};

/* Read all records; times in a thread must never decrease. */
static struct seen read_all(void)
{
	struct reel_trace *tr = NULL;
	struct seen s = {0};
	struct reel_stream *st;
	struct reel_record r;

	if (reel_trace_open(&tr, dir, &error) < 0)
		return s;
	s.threads = reel_trace_threads(tr);
	s.processes = reel_trace_processes(tr);
	for (int i = 0; i < s.threads; i++) {
		uint64_t last = 0;

		if (reel_stream_open(&st, tr, i, &error) < 0)
			break;
		while (reel_stream_next(st, &r, &error) > 0) {
			s.records++;
			s.disorder += r.end_ticks <= last;
			last = r.end_ticks;
		}
		reel_stream_close(st);
	}
	s.damage = *reel_trace_damage(tr);
	reel_trace_close(tr);
	return s;
}

static struct seen close_trace(void)
{
	struct seen s = read_all();

	tw_remove(dir);
	return s;
}

#define WHOLE SIZE_MAX

static void window_and_log(void)
{
	struct reel_head h = tw_head(10, 1000);
	struct seen s;

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	add_blocks("10.log", 10, 1, 2000, 50, WHOLE);
	window("windows/10.win", &h, 10, 1, 2000, 50);
	s = close_trace();
	is(s.records, 100, "a block in the log and in the window counts once");
	is(s.processes, 1, "and their process, too");

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	add_blocks("10.log", 10, 1, 2000, 50, 123);
	window("windows/10.win", &h, 10, 1, 2000, 50);
	s = close_trace();
	is(s.records, 100,
	   "killed during the write: the window holds the whole block");
	is(s.damage.cut_places, 0, "that is no damage: %s", s.damage.first);

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	window("windows/10.win", &h, 10, 1, 2000, 7);
	s = close_trace();
	is(s.records, 57, "an unflushed block is read from the window");
	is(s.disorder, 0, "after the log's blocks");

	begin_trace();
	tw_write(in_dir("10.log"), "wb", "", 0);
	window("windows/10.win", &h, 10, 0, 2000, 7);
	s = close_trace();
	is(s.records, 7, "a log that is still empty");
	is(s.damage.bad_files, 0, "is no damage: %s", s.damage.first);
}

static void cut_logs(void)
{
	struct reel_head h = tw_head(10, 1000);
	struct seen s;

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	add_blocks("10.log", 10, 1, 2000, 50, 56 + 20);
	s = close_trace();
	ok(s.records > 50 && s.records < 60,
	   "a cut tail is read as far as it "
	   "goes (%d)",
	   s.records);
	is(s.damage.cut_places, 1, "and counted once");
	ok(strstr(s.damage.first, "/10.log': block 2 at byte 9") &&
		   strstr(s.damage.first, "is cut short (wanted ") &&
		   strstr(s.damage.first, ", found 20)"),
	   "and named: %s", s.damage.first);

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	add_blocks("10.log", 10, 1, 2000, 50, 80);
	add_blocks("10.log", 11, 0, 2000, 50, WHOLE);
	add_blocks("10.log", 10, 2, 3000, 50, WHOLE);
	s = close_trace();
	ok(s.records > 150 && s.records < 160,
	   "what follows a cut block is "
	   "found (%d)",
	   s.records);
	is(s.damage.seq_gaps, 0, "with no block missing");

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	tw_write(in_dir("10.log"), "ab", "garbage garbage ", 16);
	add_blocks("10.log", 10, 2, 3000, 50, WHOLE);
	s = close_trace();
	is(s.records, 100, "the reader resumes after garbage");
	is(s.damage.cut_bytes, 16, "whose bytes are counted");
	is(s.damage.seq_gaps, 1, "a missing block is counted");
}

static void several_logs(void)
{
	struct reel_head a = tw_head(10, 1000), b = tw_head(10, 5000);
	struct seen s;
	size_t n;

	b.uid = 99;
	begin_trace();
	head("10.log", &a);
	n = add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	a.log_bytes = sizeof(a) + n;
	tw_write(in_dir("10.log"), "r+b", &a, sizeof(a));
	head("10.log", &b);
	add_blocks("10.log", 10, 0, 5000, 20, WHOLE);
	s = close_trace();
	is(s.processes, 2, "two logs in one file, two images of one pid");
	is(s.records, 70, "with their records");
	is(s.threads, 2, "and separate threads");

	begin_trace();
	head("10.log", &a);
	add_blocks("10.log", 10, 0, 1000, 50, WHOLE);
	b.log_bytes = 3;
	head("10.1.log", &b);
	add_blocks("10.1.log", 10, 0, 5000, 20, WHOLE);
	s = close_trace();
	is(s.processes, 2, "exec: a file of its own, the same pid");
	is(s.records, 70, "an impossible length is not trusted");
}

static void tid_again(void)
{
	struct reel_head h = tw_head(10, 1000);
	struct seen s;

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 12, 0, 1000, 50, WHOLE);
	add_blocks("10.log", 12, 1, 2000, 50, WHOLE);
	block.slot = 5;
	add_blocks("10.log", 12, 0, 9000, 50, WHOLE);
	block.slot = 0;
	s = close_trace();
	is(s.records, 150, "a thread id used twice: both threads' records");
	is(s.disorder, 0, "in the order of time");
	is(s.damage.seq_gaps, 0, "and nothing is missing");
}

static void heads(void)
{
	struct reel_head h = tw_head(10, 1000);
	struct seen s;

	begin_trace();
	h.major = 3;
	h.minor = 3;
	head("10.log", &h);
	s = read_all();
	is(error.code, REEL_E_VERSION, "another major is an error");
	ok(strstr(error.text, "3.3") && strstr(error.text, "1.") &&
		   strstr(error.text, "10.log"),
	   "that names both versions: %s", error.text);
	memset(&error, 0, sizeof(error));
	h = tw_head(11, 1000);
	head("11.log", &h);
	add_blocks("11.log", 11, 0, 1000, 5, WHOLE);
	s = close_trace();
	is(error.code, REEL_OK, "unless another log is readable: %s",
	   error.text);
	is(s.damage.bad_files, 1, "then it is one bad file");
	is(s.records, 5, "and the other log is read");

	begin_trace();
	h.head_bytes = 4000000000u;
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 5, WHOLE);
	s = close_trace();
	is(error.code, REEL_E_FORMAT, "a head longer than its file");
	ok(strstr(error.text, "is not a trace"), "is no trace: %s", error.text);

	begin_trace();
	h = tw_head(10, 1000);
	h.minor = 9;
	h.parent_uid = 10;
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 5, WHOLE);
	s = close_trace();
	is(s.records, 5, "a newer minor is read, its own parent or not");
}

static void no_trace(void)
{
	struct reel_head h = tw_head(10, 1000);
	struct seen s;

	begin_trace();
	ok(!reel_trace_is(dir), "an empty directory is no trace");
	read_all();
	is(error.code, REEL_E_FORMAT, "and says so: %s", error.text);
	memset(&error, 0, sizeof(error));
	tw_write(in_dir("job.json"), "wb", "{}", 2);
	ok(reel_trace_is(dir), "with a job.json it is");
	s = close_trace();
	is(error.code, REEL_OK, "a job that recorded nothing: %s", error.text);
	is(s.processes, 0, "has no process");

	begin_trace();
	window("windows/10.win", &h, 10, 0, 1000, 5);
	ok(reel_trace_is(dir), "a window alone is a trace");
	s = close_trace();
	is(s.records, 5, "that can be read");

	begin_trace();
	tw_write(in_dir("job.json"), "wb", "[1,", 3);
	head("10.log", &h);
	mkfifo(in_dir("11.log"), 0600);
	mkdir(in_dir("12.log"), 0700);
	s = close_trace();
	is(error.code, REEL_OK, "broken JSON, a pipe, a directory: %s",
	   error.text);
	is(s.damage.bad_files, 3, "are three bad files");

	snprintf(dir, sizeof(dir), "/nonexistent/x\ny");
	memset(&error, 0, sizeof(error));
	read_all();
	is(error.code, REEL_E_IO, "no directory: %s", error.text);
	ok(!strchr(error.text, '\n'), "in one line");
}

/* An invalid record ends its block, and only its block. */
static void bad_record(void)
{
	struct reel_head h = tw_head(10, 1000);
	struct seen s;
	size_t bytes;

	begin_trace();
	head("10.log", &h);
	tw_reads(&block, 10, 0, 1000, 50);
	bytes = tw_seal(&block, 1000, 1000);
	block.data[sizeof(struct reel_block_head) + 60] = 24;
	memset(block.data + sizeof(struct reel_block_head) + 61, 0xff, 20);
	tw_write(in_dir("10.log"), "ab", block.data, bytes);
	add_blocks("10.log", 10, 1, 2000, 50, WHOLE);
	s = close_trace();
	ok(s.records > 50 && s.records < 70,
	   "records before and after a bad "
	   "one (%d)",
	   s.records);
	is(s.damage.cut_places, 1, "counted once");
	ok(strstr(s.damage.first, "block 1: no record begins at byte"),
	   "and named: %s", s.damage.first);
}

/* Holes and lengths that would take too long to read. */
static void huge_files(void)
{
	struct reel_head h = tw_head(10, 1000);
	struct seen s;

	begin_trace();
	head("10.log", &h);
	add_blocks("10.log", 10, 0, 1000, 5, WHOLE);
	ok(truncate(in_dir("10.log"), 1ll << 42) == 0, "a log of 4 TiB");
	s = read_all();
	is(s.records, 5, "most of it a hole, is read");
	window("windows/10.win", &h, 10, 1, 2000, 7);
	ok(truncate(in_dir("windows/10.win"), 1ll << 42) == 0,
	   "a window of 4 TiB");
	s = close_trace();
	is(s.records, 12, "is read, too");
}

int main(void)
{
	window_and_log();
	cut_logs();
	several_logs();
	tid_again();
	heads();
	no_trace();
	bad_record();
	huge_files();
	free(block.data);
	return done();
}

/* SPDX-License-Identifier: MIT */
/* The writer as a foreign format uses it: rows with unknown values. */
#include <string.h>

#include "analyzer/write/writer.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "tests/lib/tap.h"

static struct reel_error err;
static struct reel_store *st;
static struct reel_writer *w;

/* One integer, or INT64_MIN for NULL. */
static int64_t value_of(const char *sql)
{
	int64_t v = 0;
	bool has = false;

	if (reel_store_int(st, sql, &v, &has, &err))
		return -1;
	return has ? v : INT64_MIN;
}

#define IS(sql, want) ok(value_of(sql) == (want), "%s", sql)
#define IS_NULL(sql) IS(sql, INT64_MIN)

/* A read or write of thread @thread that ends at @end_ns; @apart: of a
 * launcher. */
static void add_event_as(bool apart, uint32_t thread, enum reel_call call,
			 int64_t end_ns, int64_t offset, int64_t bytes)
{
	const struct reel_call_info *info = reel_call_info(call);
	struct reel_event ev = {
		.start_ns = end_ns,
		.process = 1,
		.thread = thread,
		.file = 1,
		.open = 1,
		.count = 1,
		.fd = -1,
		.fd2 = -1,
		.call = (uint16_t)call,
		.layer = (uint8_t)info->layer,
		.group = (uint8_t)info->group,
		.kind = REEL_KIND_FILE,
		.class_ = REEL_CLASS_DATA,
		.offset = offset,
		.asked = bytes,
		.result = bytes,
		.pos = REEL_NO_OFFSET,
	};

	if (apart ? reel_writer_launcher_event(w, &ev, &err)
		  : reel_writer_event(w, &ev, &err))
		ok(false, "an event: %s", err.text);
}

static void add_event(uint32_t thread, enum reel_call call, int64_t end_ns,
		      int64_t offset, int64_t bytes)
{
	add_event_as(false, thread, call, end_ns, offset, bytes);
}

static void add_span(uint32_t id, uint32_t parent, int64_t start_ns)
{
	const struct reel_span_event sp = {
		.start_ns = start_ns,
		.dur_ns = 10,
		.span_id = id,
		.parent = parent,
		.process = 1,
		.thread = 1,
		.kind = REEL_SPAN_USER,
		.count = 1,
		.detail = -1,
		.name = "mine",
	};

	if (reel_writer_span(w, &sp, &err))
		ok(false, "a span: %s", err.text);
}

static int put_rows(void)
{
	const struct reel_writer_process process = {
		.process_id = 1,
		.host_id = 1,
		.pid = 7,
		.rank = -1,
		.role = "main",
		.fork_ns = REEL_NO_OFFSET,
		.ended = "unknown",
		.end_ns = 900,
	};
	const struct reel_open_row open = {
		.open_id = 1,
		.file_id = 1,
		.process_id = 1,
		.fd = -1,
		.flags = -1,
		.open_ns = REEL_NO_OFFSET,
		.close_ns = REEL_NO_OFFSET,
	};
	const struct reel_file_row file = {
		.file_id = 1,
		.path = "/data/a",
		.path_len = 7,
		.kind = REEL_KIND_FILE,
		.class_ = REEL_CLASS_DATA,
		.size_bytes = -1,
	};
	struct reel_writer_thread thread = {.process_id = 1, .end_ns = 900};

	for (uint32_t id = 1; id <= 2; id++) {
		thread.thread_id = id;
		thread.tid = 6 + id;
		if (reel_writer_thread(w, &thread, &err))
			return -1;
	}
	reel_writer_counter(w, REEL_WRITER_CODE_OPENS, 3);
	reel_writer_counter(w, REEL_WRITER_CODE_OPENS, 2);
	return reel_writer_host(w, 1, "", "", &err) ||
			       reel_writer_process(w, &process, &err) ||
			       reel_writer_file(w, &file, &err) ||
			       reel_writer_open(w, &open, &err) ||
			       reel_writer_note(w, 1, 1, "key", "value",
						&err) ||
			       reel_writer_loss(w, 0, "cut", "lines", 4,
						&err) ||
			       reel_writer_loss(w, 1, "cut", "lines", 0, &err)
		       ? -1
		       : 0;
}

/* Events of all kinds between notes, more than a batch holds. */
static void add_mixture(uint32_t pairs)
{
	for (uint32_t i = 0; i < pairs; i++) {
		add_event(1 + i % 2, REEL_CALL_PREAD, 400 + i, i, 1);
		if (reel_writer_note(w, 1, 1, "between", "events", &err))
			ok(false, "a note: %s", err.text);
		add_event_as(true, 1 + i % 2, REEL_CALL_PREAD, 400 + i, i, 1);
	}
}

/* @pairs: as above, 0: none. */
static int write_store(bool counts_only, uint32_t pairs, int threads)
{
	const struct reel_writer_options options = {
		.counts_only = counts_only, .small = true, .threads = threads};
	const struct reel_writer_run run = {
		.name = "job",
		.command = "",
		.wall_ns = REEL_NO_OFFSET,
		.exit_status = REEL_NO_OFFSET,
		.exit_signal = REEL_NO_OFFSET,
		.ranks = 1,
		.job_json = "{}",
	};
	int rc;

	if (reel_store_temporary(&st, "test", &err) ||
	    reel_writer_new(&w, st, &options, &err))
		return -1;
	add_event(1, REEL_CALL_READ, 100, REEL_NO_OFFSET, 4096);
	add_event(2, REEL_CALL_PREAD, 200, 8192, 4096);
	add_event(1, REEL_CALL_WRITE, 300, REEL_NO_OFFSET, 10);
	add_span(1, 0, 310);
	add_span(3, 1, 320);
	add_span(4, 2, 330); /* span 2 never comes */
	add_mixture(pairs);
	rc = reel_writer_settle(w, &err) || put_rows() ||
			     reel_writer_finish(w, &run, &err) ||
			     reel_store_finish(st, &err)
		     ? -1
		     : 0;
	reel_writer_free(w);
	return rc;
}

static void test_unknown_values(void)
{
	ok(!write_store(false, 0, 1), "a store: %s", err.text);
	IS("SELECT count(*) FROM event", 3);
	IS("SELECT count(*) FROM event WHERE offset IS NULL", 2);
	IS_NULL("SELECT rank FROM process");
	IS_NULL("SELECT parent_id FROM process");
	IS_NULL("SELECT fork_ns FROM process");
	IS("SELECT exe IS NULL AND command IS NULL AND cwd IS NULL FROM "
	   "process",
	   1);
	IS("SELECT host IS NULL AND cwd IS NULL AND wall_ns IS NULL AND "
	   "start_real_ns IS NULL AND exit_status IS NULL FROM run",
	   1);
	IS("SELECT open_ns IS NULL AND close_ns IS NULL AND flags IS NULL "
	   "FROM open_file",
	   1);
	IS_NULL("SELECT size_bytes FROM file");
	IS("SELECT span_ns FROM run", 340);
	IS("SELECT events FROM run", 3);
	IS("SELECT opens FROM code_io", 5);
	IS("SELECT count FROM loss WHERE process_id IS NULL", 4);
	IS("SELECT count FROM loss WHERE process_id = 1", 0);
	IS("SELECT count(*) FROM span", 3);
	IS("SELECT parent_id FROM span WHERE span_id = 3", 1);
	IS_NULL("SELECT parent_id FROM span WHERE span_id = 4");
}

/* A metric that lacks a value gives no number, or counts it as unknown. */
static void test_metrics(void)
{
	IS("SELECT read_bytes FROM v_summary", 8192);
	/* the order of the second read after an unknown position, too */
	IS("SELECT unknown FROM v_sequence WHERE op = 'read'", 2);
	IS("SELECT unknown FROM v_sequence WHERE op = 'write'", 1);
	IS_NULL("SELECT busy_bytes_per_s FROM v_bandwidth WHERE op = 'read'");
	IS_NULL("SELECT call_mean_bytes_per_s FROM v_bandwidth WHERE "
		"op = 'read'");
	reel_store_close(st);
}

static void test_counts_only(void)
{
	ok(!write_store(true, 0, 1), "counts only: %s", err.text);
	IS("SELECT count(*) FROM event_block", 0);
	IS("SELECT count(*) FROM span_block", 0);
	IS("SELECT events FROM v_summary", 3);
	reel_store_close(st);
}

/* Events of a launcher are in the blocks and in no metric, wherever they come
 * and whatever comes between; counts keep them, too. */
static void test_launcher_events(int threads)
{
	ok(!write_store(false, 1000, threads), "%d threads: %s", threads,
	   err.text);
	IS("SELECT sum(events) FROM event_block", 2003);
	IS("SELECT sum(calls) FROM rollup", 1003);
	IS("SELECT read_bytes FROM v_summary", 9192);
	IS("SELECT max(max_end_ns) FROM event_block", 1399);
	reel_store_close(st);
	ok(!write_store(true, 1000, threads), "%d threads, counts only: %s",
	   threads, err.text);
	IS("SELECT sum(events) FROM event_block", 1000);
	IS("SELECT sum(calls) FROM rollup", 1003);
	reel_store_close(st);
}

int main(void)
{
	test_unknown_values();
	test_metrics();
	test_counts_only();
	test_launcher_events(1);
	test_launcher_events(2);
	return done();
}

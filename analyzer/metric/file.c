/* SPDX-License-Identifier: MIT */
/*
 * I/O of each file: one row per used file.
 *
 * Memory grows with the number of files alone, so the counts have 32 bits.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/prefetch.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"
#include "lib/store/row_block.h"

#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_file.sql.inc"
	;

struct file {
	uint32_t calls[METRIC_OPS], opens, errors, eof_reads;
	uint32_t last_process; /* to notice a second process */
	uint64_t dur_ns[METRIC_OPS], bytes[2], mapped_bytes;
	bool many;
};

struct files {
	struct file *file; /* by file_id */
	uint32_t room;
};

static inline void count_calls(struct file *f, enum metric_op op,
			       const struct metric_event *ev, uint32_t n)
{
	uint32_t calls = n * ev->calls;

	if (op == METRIC_MAPPED) { /* bytes without a call */
		f->bytes[ev->raw.group == REEL_GROUP_WRITE] +=
			n * (uint64_t)ev->bytes;
		return;
	}
	f->calls[op] += calls;
	f->dur_ns[op] += metric_run_dur_ns(ev, n);
	if (metric_failed(&ev->raw)) {
		f->errors += calls;
		return;
	}
	if (op == METRIC_META) {
		if (ev->raw.group == REEL_GROUP_OPEN)
			f->opens += calls;
		else if (ev->raw.call == REEL_CALL_MMAP && ev->raw.asked > 0)
			f->mapped_bytes += n * (uint64_t)ev->raw.asked;
		return;
	}
	f->bytes[op] += n * (uint64_t)ev->bytes;
	if (metric_eof(ev))
		f->eof_reads += calls;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct files *s = state;
	enum metric_op op = ev->op;
	struct file *f;

	if (!ev->raw.file || (op >= METRIC_OPS && op != METRIC_MAPPED))
		return 0;
	if (reel_array_reach(&s->file, &s->room, ev->raw.file, sizeof(*f), err))
		return -1;
	f = &s->file[ev->raw.file];
	count_calls(f, op, ev, n);
	if (f->last_process && f->last_process != ev->raw.process)
		f->many = true;
	f->last_process = ev->raw.process;
	return 0;
}

METRIC_FEED_RUNS(feed_runs)

static int file_feed(void *state, const struct metric_event *ev, uint32_t n,
		     struct reel_error *err)
{
	const struct files *s = state;

	/* Files that are opened are in no cache: fetch them together. */
	for (uint32_t i = 0; i < n; i += metric_run(&ev[i], n - i))
		if (ev[i].raw.group == REEL_GROUP_OPEN &&
		    ev[i].raw.file < s->room)
			reel_prefetch_range(&s->file[ev[i].raw.file],
					    sizeof(struct file));
	return feed_runs(state, ev, n, err);
}

static void add_row(struct reel_rows *r, uint32_t id, const struct file *f)
{
	const uint64_t column[REEL_FILE_IO_COLUMNS] = {
		[REEL_FILE_IO_SHARED] = f->many,
		[REEL_FILE_IO_OPENS] = f->opens,
		[REEL_FILE_IO_READS] = f->calls[METRIC_READ],
		[REEL_FILE_IO_WRITES] = f->calls[METRIC_WRITE],
		[REEL_FILE_IO_META_CALLS] = f->calls[METRIC_META],
		[REEL_FILE_IO_ERRORS] = f->errors,
		[REEL_FILE_IO_EOF_READS] = f->eof_reads,
		[REEL_FILE_IO_READ_BYTES] = f->bytes[METRIC_READ],
		[REEL_FILE_IO_WRITE_BYTES] = f->bytes[METRIC_WRITE],
		[REEL_FILE_IO_READ_NS] = f->dur_ns[METRIC_READ],
		[REEL_FILE_IO_WRITE_NS] = f->dur_ns[METRIC_WRITE],
		[REEL_FILE_IO_META_NS] = f->dur_ns[METRIC_META],
		[REEL_FILE_IO_MAPPED_BYTES] = f->mapped_bytes,
	};

	for (int i = 0; i < REEL_FILE_IO_COLUMNS; i++)
		r->v[i][r->n] = column[i];
	r->id[r->n++] = id;
}

static int file_finish(void *state, struct reel_store *st,
		       struct reel_error *err)
{
	struct reel_codec *codec = reel_codec_new();
	struct reel_rows rows = {0};
	struct files *s = state;
	struct reel_insert out;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO file_io_block (files, "
				  "min_file_id, max_file_id, data) "
				  "VALUES (?, ?, ?, ?)",
				  err);

	if (!rc && (!codec ||
		    reel_rows_begin(&rows, &reel_row_file_io, REEL_ROW_BLOCK)))
		rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
	for (uint32_t i = 0; !rc && i < s->room; i++) {
		if (!s->file[i].last_process)
			continue;
		add_row(&rows, i, &s->file[i]);
		if (reel_rows_full(&rows))
			rc = reel_insert_block(&out, codec, &rows, err);
	}
	if (!rc)
		rc = reel_insert_block(&out, codec, &rows, err);
	reel_rows_fini(&rows);
	reel_codec_free(codec);
	return reel_insert_close(&out, rc);
}

static void file_fini(void *state)
{
	struct files *s = state;

	free(s->file);
}

const struct reel_metric reel_metric_file = {
	.name = "file",
	.schema = schema,
	.state_bytes = sizeof(struct files),
	.for_counts = true,
	.feed = file_feed,
	.finish = file_finish,
	.fini = file_fini,
};

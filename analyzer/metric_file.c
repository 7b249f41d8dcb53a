/* SPDX-License-Identifier: MIT */
/*
 * One row per file that was touched.
 *
 * The only metric whose memory grows with the number of files alone; the
 * counts are 32 bits wide for that.
 */
#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/idmap.h"
#include "analyzer/metric.h"
#include "analyzer/metric_op.h"
#include "analyzer/metric_row.h"

static const char schema[] =
#include "schemas/metric_file.sql.inc"
	;

struct file {
	uint32_t calls[METRIC_OPS], opens, errors, eof_reads;
	uint32_t last_process; /* to see that there are more */
	uint64_t dur_ns[METRIC_OPS], bytes[2], mapped_bytes;
	bool many;
};

struct files {
	struct file *file; /* by file_id */
	uint32_t room;
};

static int file_init(void **state, struct reel_error *err)
{
	*state = reel_alloc(1, sizeof(struct files), err);
	return *state ? 0 : -1;
}

static void count(struct file *f, enum metric_op op,
		  const struct reel_event *ev)
{
	uint32_t calls = metric_calls(ev);

	f->calls[op] += calls;
	f->dur_ns[op] += (uint64_t)metric_dur(ev);
	if (metric_failed(ev)) {
		f->errors += calls;
		return;
	}
	if (op == METRIC_META) {
		if (ev->group == REEL_GROUP_OPEN)
			f->opens += calls;
		else if (ev->call == REEL_CALL_MMAP && ev->asked > 0)
			f->mapped_bytes += (uint64_t)ev->asked;
		return;
	}
	f->bytes[op] += (uint64_t)metric_bytes(ev);
	if (metric_eof(ev))
		f->eof_reads += calls;
}

static int file_feed(void *state, const struct reel_event *ev,
		     struct reel_error *err)
{
	struct files *s = state;
	enum metric_op op = metric_op(ev);
	struct file *f;

	if (!ev->file || op >= METRIC_OPS)
		return 0;
	if (reel_array_reach(&s->file, &s->room, ev->file, sizeof(*f), err))
		return -1;
	f = &s->file[ev->file];
	count(f, op, ev);
	if (f->last_process && f->last_process != ev->process)
		f->many = true;
	f->last_process = ev->process;
	return 0;
}

static int write_file(struct metric_row *out, uint32_t id, const struct file *f,
		      struct reel_error *err)
{
	int i;

	metric_row_int(out, id);
	metric_row_int(out, f->many);
	metric_row_int(out, f->opens);
	for (i = 0; i < METRIC_OPS; i++)
		metric_row_int(out, f->calls[i]);
	metric_row_int(out, f->errors);
	metric_row_int(out, f->eof_reads);
	metric_row_int(out, (int64_t)f->bytes[METRIC_READ]);
	metric_row_int(out, (int64_t)f->bytes[METRIC_WRITE]);
	for (i = 0; i < METRIC_OPS; i++)
		metric_row_int(out, (int64_t)f->dur_ns[i]);
	metric_row_int(out, (int64_t)f->mapped_bytes);
	return metric_row_done(out, err);
}

static int file_finish(void *state, struct reel_store *st,
		       struct reel_error *err)
{
	struct files *s = state;
	struct metric_row out;
	uint32_t i;
	int rc = metric_row_open(&out, st,
				 "INSERT INTO file_io VALUES "
				 "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
				 err);

	for (i = 0; !rc && i < s->room; i++)
		if (s->file[i].last_process)
			rc = write_file(&out, i, &s->file[i], err);
	return metric_row_close(&out, rc, err);
}

static void file_fini(void *state)
{
	struct files *s = state;

	if (!s)
		return;
	free(s->file);
	free(s);
}

const struct reel_metric reel_metric_file = {
	.name = "file",
	.schema = schema,
	.init = file_init,
	.feed = file_feed,
	.finish = file_finish,
	.fini = file_fini,
};

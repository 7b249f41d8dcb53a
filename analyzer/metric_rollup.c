/* SPDX-License-Identifier: MIT */
/*
 * The rollup that most questions are asked of: per process, call and size bin;
 * the totals of each call; and how many files each process met.
 *
 * This is where load waits for memory, so: a thread makes the same calls to one
 * file after the other, and the row that came after this one last time is
 * nearly always the right one.
 */
#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/idmap.h"
#include "analyzer/insert.h"
#include "analyzer/metric.h"
#include "analyzer/metric_op.h"

static const char schema[] =
#include "schemas/metric_rollup.sql.inc"
	;

#define PAIRS_MOST (1u << 20)
#define NO_BIN 63u /* the call moved nothing */

enum outcome { DONE, FAILED, AT_END };

struct row {
	uint64_t bytes, dur_ns; /* may wrap, not trap */
	uint64_t calls;
	uint32_t process;
	uint32_t what; /* see what_is() */
	uint32_t next; /* the row that came after it, last time */
};

struct place { /* where a thread is */
	uint32_t row, file;
};

struct rollup {
	struct reel_idmap rows;	 /* by process and what */
	struct reel_idmap pairs; /* of process and file */
	struct row *row;
	struct place *place; /* by thread_id */
	uint32_t *files;     /* by process_id: pairs that have it */
	uint32_t row_room, place_room, files_room;
	uint64_t asked_bytes[REEL_CALL_MAX][2]; /* I/O, messages */
};

/* Call, outcome, size bin, message: 10, 2, 6 bits and 1. */
static uint32_t what_is(const struct metric_event *ev, int64_t bytes)
{
	uint32_t outcome = metric_failed(&ev->is) ? FAILED
			   : metric_eof(&ev->is)  ? AT_END
						  : DONE;
	uint32_t bin = NO_BIN, calls = ev->calls;

	if (bytes)
		bin = metric_size_bin(calls == 1 ? bytes : bytes / calls ?: 1);
	return (uint32_t)ev->is.call << 9 | outcome << 7 | bin << 1 |
	       (ev->op == METRIC_MESSAGE);
}

/* The row of @what in @process; @at is where the thread was. NULL with @err. */
static struct row *row_of(struct rollup *r, struct place *at, uint32_t process,
			  uint32_t what, struct reel_error *err)
{
	uint32_t rows = r->rows.used, last = at->row, i;

	if (last < rows) {
		i = r->row[last].next;
		at->row = i;
		if (r->row[i].what == what && r->row[i].process == process)
			return &r->row[i];
	}
	i = reel_idmap_get(&r->rows, (uint64_t)process << 32 | what, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&r->row, &r->row_room, i, sizeof(*r->row), err))
		return NULL;
	if (i == rows)
		r->row[i] = (struct row){
			.process = process, .what = what, .next = i};
	if (last < rows)
		r->row[last].next = i;
	at->row = i;
	return &r->row[i];
}

/* @process turns to @file: one more, if it never did. */
static int count_file(struct rollup *r, uint32_t process, uint32_t file,
		      struct reel_error *err)
{
	uint32_t pairs = r->pairs.used, i;

	if (!file || pairs >= PAIRS_MOST)
		return 0;
	i = reel_idmap_get(&r->pairs, (uint64_t)process << 32 | file, err);
	if (i == REEL_NO_INDEX)
		return -1;
	if (i != pairs)
		return 0;
	if (reel_array_reach(&r->files, &r->files_room, process,
			     sizeof(*r->files), err))
		return -1;
	r->files[process]++;
	return 0;
}

static int add_event(void *state, const struct metric_event *ev,
		     struct reel_error *err)
{
	struct rollup *r = state;
	int64_t bytes = ev->bytes;
	struct place *at;
	struct row *row;

	if (ev->op == METRIC_NOTHING || ev->is.call >= REEL_CALL_MAX ||
	    !ev->is.process)
		return 0;
	if (reel_array_reach(&r->place, &r->place_room, ev->is.thread,
			     sizeof(*at), err))
		return -1;
	at = &r->place[ev->is.thread];
	row = row_of(r, at, ev->is.process, what_is(ev, bytes), err);
	if (!row)
		return -1;
	row->calls += ev->calls;
	row->bytes += (uint64_t)bytes;
	row->dur_ns += (uint64_t)ev->dur_ns;
	if (ev->is.asked > 0 && !metric_failed(&ev->is))
		r->asked_bytes[ev->is.call][row->what & 1] +=
			(uint64_t)ev->is.asked;
	if (ev->is.file == at->file || row->what & 1)
		return 0;
	at->file = ev->is.file;
	return count_file(r, ev->is.process, ev->is.file, err);
}

METRIC_FEED(rollup_feed)

static uint32_t outcome_of(const struct row *row)
{
	return row->what >> 7 & 3;
}

static int write_row(struct reel_insert *out, const struct row *row,
		     struct reel_error *err)
{
	uint32_t bin = row->what >> 1 & 63;

	reel_insert_int(out, row->process);
	reel_insert_int(out, row->what >> 9);
	if (bin == NO_BIN)
		reel_insert_null(out);
	else
		reel_insert_int(out, bin);
	reel_insert_int(out, row->what & 1);
	reel_insert_int(out, (int64_t)row->calls);
	reel_insert_int(out, (int64_t)row->bytes);
	reel_insert_int(out, (int64_t)row->dur_ns);
	reel_insert_int(out,
			outcome_of(row) == FAILED ? (int64_t)row->calls : 0);
	reel_insert_int(out,
			outcome_of(row) == AT_END ? (int64_t)row->calls : 0);
	return reel_insert_done(out, err);
}

static int write_rollup(const struct rollup *r, struct reel_store *st,
			struct reel_error *err)
{
	struct reel_insert out;
	uint32_t i;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO rollup VALUES (?,?,?,?,?,?,?,?,?)", err);

	for (i = 0; !rc && i < r->rows.used; i++)
		rc = write_row(&out, &r->row[i], err);
	return reel_insert_close(&out, rc);
}

static int write_files(const struct rollup *r, struct reel_store *st,
		       struct reel_error *err)
{
	struct reel_insert out;
	uint32_t i;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO process_io VALUES (?,?)", err);

	for (i = 0; !rc && i < r->files_room; i++) {
		if (!r->files[i])
			continue;
		reel_insert_int(&out, i);
		reel_insert_int(&out, r->files[i]);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

struct total {
	uint64_t calls, bytes, dur_ns, errors, eof_reads;
};

/* @total: two for each call. */
static void add_row(struct total *total, const struct row *row)
{
	struct total *t = &total[2 * (row->what >> 9) + (row->what & 1)];

	t->calls += row->calls;
	t->bytes += row->bytes;
	t->dur_ns += row->dur_ns;
	t->errors += outcome_of(row) == FAILED ? row->calls : 0;
	t->eof_reads += outcome_of(row) == AT_END ? row->calls : 0;
}

static int write_total(struct reel_insert *out, const struct rollup *r,
		       uint32_t call, uint32_t message, const struct total *t,
		       struct reel_error *err)
{
	reel_insert_int(out, call);
	reel_insert_int(out, message);
	reel_insert_int(out, (int64_t)t->calls);
	reel_insert_int(out, (int64_t)r->asked_bytes[call][message]);
	reel_insert_int(out, (int64_t)t->bytes);
	reel_insert_int(out, (int64_t)t->dur_ns);
	reel_insert_int(out, (int64_t)t->errors);
	reel_insert_int(out, (int64_t)t->eof_reads);
	return reel_insert_done(out, err);
}

static int write_calls(const struct rollup *r, struct reel_store *st,
		       struct reel_error *err)
{
	struct total *total =
		reel_alloc(2 * REEL_CALL_MAX, sizeof(*total), err);
	struct reel_insert out = {0};
	uint32_t i;
	int rc = -1;

	if (!total)
		goto out;
	for (i = 0; i < r->rows.used; i++)
		add_row(total, &r->row[i]);
	rc = reel_insert_open(
		&out, st, "INSERT INTO call_io VALUES (?,?,?,?,?,?,?,?)", err);
	for (i = 0; !rc && i < 2 * REEL_CALL_MAX; i++)
		if (total[i].calls)
			rc = write_total(&out, r, i / 2, i % 2, &total[i], err);
out:
	free(total);
	return reel_insert_close(&out, rc);
}

static int rollup_finish(void *state, struct reel_store *st,
			 struct reel_error *err)
{
	if (write_rollup(state, st, err) || write_files(state, st, err))
		return -1;
	return write_calls(state, st, err);
}

static void rollup_fini(void *state)
{
	struct rollup *r = state;

	reel_idmap_fini(&r->rows);
	reel_idmap_fini(&r->pairs);
	free(r->row);
	free(r->place);
	free(r->files);
}

const struct reel_metric reel_metric_rollup = {
	.name = "rollup",
	.schema = schema,
	.state_bytes = sizeof(struct rollup),
	.counts = true,
	.feed = rollup_feed,
	.finish = rollup_finish,
	.fini = rollup_fini,
};

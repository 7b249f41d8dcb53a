/* SPDX-License-Identifier: MIT */
/*
 * The rollup behind most queries: sums per process, call and size bin; totals
 * per call; the number of files of each process.
 *
 * Load is bound by memory access here. A thread makes few kinds of calls, so it
 * remembers the rows of its last ones.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"
#include "lib/store/view.h"

#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_rollup.sql.inc"
	;

#define SPAN_BITS 8u /* of a file's id: the files of a span */
#define SPAN_WORDS ((1u << SPAN_BITS) / 64)
#define NO_BIN 63u /* the call transferred nothing */

enum outcome { DONE, FAILED, AT_END };

struct row {
	uint64_t bytes, dur_ns; /* unsigned: may wrap, not trap */
	uint64_t calls;
	uint32_t process;
	uint32_t kind; /* see row_kind() */
};

/* A bit for each file of a span that a process used. Ids follow the order of first
 * use, so the files of a process are neighbours, and a bit costs little. */
struct span {
	uint64_t used[SPAN_WORDS];
	uint32_t process, first; /* id of its first file */
};

#define CURSOR_ROWS 16u

/* The last rows of a thread, by slot_of() their kind, and its last file. */
struct cursor {
	uint32_t row[CURSOR_ROWS], file;
};

struct rollup {
	struct reel_intmap rows;  /* by process and kind */
	struct reel_intmap spans; /* by process and first file */
	struct row *row;
	struct span *span;
	struct cursor *cursor; /* by thread_id */
	uint32_t row_room, span_room, cursor_room;
	uint64_t asked_bytes[REEL_CALL_IDS][2]; /* I/O, messages */
};

/* Call, outcome, size bin, message: 12, 2, 6 bits and 1 bit. */
static inline uint32_t row_kind(const struct metric_event *ev, int64_t bytes)
{
	uint32_t outcome = metric_failed(&ev->raw) ? FAILED
			   : metric_eof(ev)	   ? AT_END
						   : DONE;
	uint32_t bin = NO_BIN, calls = ev->calls;

	if (bytes)
		bin = metric_size_bin(calls == 1 ? bytes : bytes / calls ?: 1);
	return (uint32_t)ev->raw.call << 9 | outcome << 7 | bin << 1 |
	       (ev->op == METRIC_MESSAGE);
}

/* Sizes of a call are in few neighbouring bins, which do not share a slot. */
static inline uint32_t slot_of(uint32_t kind)
{
	return ((kind >> 1) + 5 * (kind >> 9)) % CURSOR_ROWS;
}

/* The row of @kind in @process; @at: of the thread. NULL with @err. */
static inline struct row *find_row(struct rollup *r, struct cursor *at,
				   uint32_t process, uint32_t kind,
				   struct reel_error *err)
{
	uint32_t *last = &at->row[slot_of(kind)];
	uint32_t rows = r->rows.used, i = *last;

	if (i < rows && r->row[i].kind == kind && r->row[i].process == process)
		return &r->row[i];
	i = reel_intmap_get(&r->rows, (uint64_t)process << 32 | kind, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&r->row, &r->row_room, i, sizeof(*r->row), err))
		return NULL;
	if (i == rows)
		r->row[i] = (struct row){.process = process, .kind = kind};
	*last = i;
	return &r->row[i];
}

/* True when the call opened, read, wrote or mapped its file, as v_summary
 * counts files. */
static inline bool uses_file(const struct metric_event *ev)
{
	if (ev->op == METRIC_READ || ev->op == METRIC_WRITE)
		return true;
	if (ev->op == METRIC_MAPPED)
		return ev->bytes > 0;
	return ev->op == METRIC_META && !metric_failed(&ev->raw) &&
	       (ev->raw.group == REEL_GROUP_OPEN ||
		(ev->raw.call == REEL_CALL_MMAP && ev->raw.asked > 0));
}

/* Count @file as used by @process. */
static int count_file(struct rollup *r, uint32_t process, uint32_t file,
		      struct reel_error *err)
{
	uint32_t spans = r->spans.used, in = file % (1u << SPAN_BITS), i;
	uint64_t key = (uint64_t)process << 32 | file >> SPAN_BITS;

	if (!file)
		return 0;
	i = reel_intmap_get(&r->spans, key, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&r->span, &r->span_room, i, sizeof(*r->span), err))
		return -1;
	if (i == spans)
		r->span[i] =
			(struct span){.process = process, .first = file - in};
	r->span[i].used[in / 64] |= UINT64_C(1) << in % 64;
	return 0;
}

/* A program that copies to the end of a file asks for 2^63 bytes in each call: such a
 * sum is at its limit, as are sums over calls. */
static void add_asked(uint64_t *sum, int64_t asked, uint32_t n)
{
	uint64_t left = INT64_MAX / REEL_VIEW_ADDENDS - *sum, more;

	if (__builtin_mul_overflow((uint64_t)asked, n, &more) || more > left)
		more = left;
	*sum += more;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct rollup *r = state;
	int64_t bytes = ev->bytes;
	struct cursor *at;
	struct row *row;

	if (ev->op == METRIC_IGNORE || ev->raw.call >= REEL_CALL_IDS ||
	    !ev->raw.process)
		return 0;
	if (reel_array_reach(&r->cursor, &r->cursor_room, ev->raw.thread,
			     sizeof(*at), err))
		return -1;
	at = &r->cursor[ev->raw.thread];
	row = find_row(r, at, ev->raw.process, row_kind(ev, bytes), err);
	if (!row)
		return -1;
	row->calls += (uint64_t)n * ev->calls;
	row->bytes += n * (uint64_t)bytes;
	row->dur_ns += metric_run_dur_ns(ev, n);
	if (ev->raw.asked > 0 && !metric_failed(&ev->raw))
		add_asked(&r->asked_bytes[ev->raw.call][row->kind & 1],
			  ev->raw.asked, n);
	if (ev->raw.file == at->file || !uses_file(ev))
		return 0;
	at->file = ev->raw.file;
	return count_file(r, ev->raw.process, ev->raw.file, err);
}

METRIC_FEED_RUNS(rollup_feed)

static uint32_t outcome_of(const struct row *row)
{
	return row->kind >> 7 & 3;
}

static int write_row(struct reel_insert *out, const struct row *row,
		     struct reel_error *err)
{
	uint32_t bin = row->kind >> 1 & 63;

	reel_insert_int(out, row->process);
	reel_insert_int(out, row->kind >> 9);
	if (bin == NO_BIN)
		reel_insert_null(out);
	else
		reel_insert_int(out, bin);
	reel_insert_int(out, row->kind & 1);
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

/* Set not_file[id] for directories, pipes and sockets: kinds are known at the
 * end. */
static int read_kinds(struct reel_store *st, uint8_t **not_file, uint32_t *room,
		      struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int rc = reel_store_prepare(st, &q,
				    "SELECT file_id FROM file WHERE kind IN "
				    "('dir', 'pipe', 'socket')",
				    err);
	int step = SQLITE_DONE;

	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int64(q, 0);

		rc = reel_array_reach(not_file, room, id, 1, err);
		if (!rc && *not_file) /* the analyzer does not know that */
			(*not_file)[id] = 1;
	}
	if (!rc && step != SQLITE_DONE)
		rc = reel_fail(err, REEL_E_DB, "cannot read the files: %s",
			       sqlite3_errmsg(st->db));
	sqlite3_finalize(q);
	return rc;
}

/* The files of @s, without those that are none. */
static uint32_t files_of(const struct span *s, const uint8_t *not_file,
			 uint32_t kinds)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < 1u << SPAN_BITS; i++) {
		uint32_t file = s->first + i;

		n += (s->used[i / 64] >> i % 64 & 1) &&
		     !(file < kinds && not_file[file]);
	}
	return n;
}

/* Gives the number of files of each process. */
static int count_files(const struct rollup *r, struct reel_store *st,
		       uint32_t **files, uint32_t *room, struct reel_error *err)
{
	uint8_t *not_file = NULL;
	uint32_t kinds = 0;
	int rc = read_kinds(st, &not_file, &kinds, err);

	for (uint32_t i = 0; !rc && i < r->spans.used; i++) {
		const struct span *s = &r->span[i];

		rc = reel_array_reach(files, room, s->process, sizeof(**files),
				      err);
		if (!rc)
			(*files)[s->process] += files_of(s, not_file, kinds);
	}
	free(not_file);
	return rc;
}

static int write_files(const struct rollup *r, struct reel_store *st,
		       struct reel_error *err)
{
	uint32_t *files = NULL, room = 0, i;
	struct reel_insert out;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO process_io VALUES (?,?)", err);

	if (!rc)
		rc = count_files(r, st, &files, &room, err);
	for (i = 0; !rc && i < room; i++) {
		if (!files[i])
			continue;
		reel_insert_int(&out, i);
		reel_insert_int(&out, files[i]);
		rc = reel_insert_done(&out, err);
	}
	free(files);
	return reel_insert_close(&out, rc);
}

struct total {
	uint64_t calls, bytes, dur_ns, errors, eof_reads;
};

/* @total has two elements for each call. */
static void add_row(struct total *total, const struct row *row)
{
	struct total *t = &total[2 * (row->kind >> 9) + (row->kind & 1)];

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
		reel_alloc(2 * REEL_CALL_IDS, sizeof(*total), err);
	struct reel_insert out = {0};
	uint32_t i;
	int rc = -1;

	if (!total)
		goto out;
	for (i = 0; i < r->rows.used; i++)
		add_row(total, &r->row[i]);
	rc = reel_insert_open(
		&out, st, "INSERT INTO call_io VALUES (?,?,?,?,?,?,?,?)", err);
	for (i = 0; !rc && i < 2 * REEL_CALL_IDS; i++)
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

	reel_intmap_fini(&r->rows);
	reel_intmap_fini(&r->spans);
	free(r->span);
	free(r->row);
	free(r->cursor);
}

const struct reel_metric reel_metric_rollup = {
	.name = "rollup",
	.schema = schema,
	.state_bytes = sizeof(struct rollup),
	.for_counts = true,
	.feed = rollup_feed,
	.finish = rollup_finish,
	.fini = rollup_fini,
};

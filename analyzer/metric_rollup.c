/* SPDX-License-Identifier: MIT */
/*
 * The rollup that most questions are asked of: per process, file, call and
 * size bin; and the totals of each call.
 *
 * This is where load waits for memory, so: a thread stays with a file for some
 * calls, and makes the same calls to the next one. The rows of a (process,
 * file) pair are a ring in the order in which they were first needed, so that
 * the next one is nearly always the right one; the first eight lie together,
 * at eight times the pair's index, and are fetched at once when a thread turns
 * to the pair. Pairs past a limit share the rows of no file.
 */
#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/idmap.h"
#include "analyzer/metric.h"
#include "analyzer/metric_op.h"
#include "analyzer/metric_row.h"

static const char schema[] =
#include "schemas/metric_rollup.sql.inc"
	;

#define PAIRS_MOST (1u << 17)
#define GROUP 8u	     /* rows of a pair that lie together */
#define MORE_FROM (1u << 31) /* index of the first row past the groups */
#define NO_BIN 63u	     /* the call moved nothing */
#define NO_ROW UINT32_MAX

enum outcome { DONE, FAILED, AT_END };

struct row {
	uint64_t bytes, dur_ns; /* may wrap, not trap */
	uint32_t calls;
	uint32_t next; /* of the pair, in a ring */
	uint32_t what; /* see what_is() */
	uint32_t pad;
};
_Static_assert(sizeof(struct row) == 32, "two in a line of cache");

struct pair {
	uint32_t process, file;
	uint32_t last; /* row that was used last, NO_ROW: none yet */
	uint32_t used; /* rows of its group */
};

struct place {		     /* where a thread is */
	uint32_t file, pair; /* pair plus one; 0: nowhere */
};

struct rollup {
	struct reel_idmap pairs;
	struct pair *pair;
	struct row *row; /* GROUP for each pair */
	struct row
		*more; /* what needs more; their index is from MORE_FROM on */
	struct place *place; /* by thread_id */
	uint32_t pair_room, row_room, more_room, place_room, rows_more;
	uint64_t asked_bytes[REEL_CALL_MAX][2]; /* I/O, messages */
};

/* Call, outcome, size bin, message: 10, 2, 6 bits and 1. */
static uint32_t what_is(const struct reel_event *ev, int64_t bytes)
{
	uint32_t outcome = metric_failed(ev) ? FAILED
			   : metric_eof(ev)  ? AT_END
					     : DONE;
	uint32_t bin = NO_BIN, calls = metric_calls(ev);

	if (bytes)
		bin = metric_size_bin(calls == 1 ? bytes : bytes / calls ?: 1);
	return (uint32_t)ev->call << 9 | outcome << 7 | bin << 1 |
	       (metric_op(ev) == METRIC_MESSAGE);
}

static int rollup_init(void **state, struct reel_error *err)
{
	*state = reel_alloc(1, sizeof(struct rollup), err);
	return *state ? 0 : -1;
}

static struct pair *find_pair(struct rollup *r, struct place *at,
			      uint32_t process, uint32_t file,
			      struct reel_error *err)
{
	uint64_t key = (uint64_t)process << 32;
	uint32_t i, k, pairs = r->pairs.used;

	at->file = file;
	if (pairs >= PAIRS_MOST &&
	    reel_idmap_find(&r->pairs, key | file) == REEL_NO_INDEX)
		file = 0;
	i = reel_idmap_get(&r->pairs, key | file, err);
	if (i >= MORE_FROM / GROUP)
		return reel_fail(err, REEL_E_MEMORY, "too many processes"),
		       NULL;
	if (reel_array_reach(&r->pair, &r->pair_room, i, sizeof(*r->pair),
			     err) ||
	    reel_array_reach(&r->row, &r->row_room, GROUP * i + GROUP - 1,
			     sizeof(*r->row), err))
		return NULL;
	if (i == pairs)
		r->pair[i] = (struct pair){process, file, NO_ROW, 0};
	for (k = 0; k < GROUP; k += 2)
		__builtin_prefetch(&r->row[GROUP * i + k], 1);
	at->pair = i + 1;
	return &r->pair[i];
}

static struct pair *pair_of(struct rollup *r, const struct reel_event *ev,
			    struct reel_error *err)
{
	struct place *at;

	if (reel_array_reach(&r->place, &r->place_room, ev->thread, sizeof(*at),
			     err))
		return NULL;
	at = &r->place[ev->thread];
	if (at->pair && at->file == ev->file &&
	    r->pair[at->pair - 1].process == ev->process)
		return &r->pair[at->pair - 1];
	return find_pair(r, at, ev->process, ev->file, err);
}

static struct row *row_at(const struct rollup *r, uint32_t i)
{
	return i < MORE_FROM ? &r->row[i] : &r->more[i - MORE_FROM];
}

static struct row *new_row(struct rollup *r, struct pair *p, uint32_t what,
			   struct reel_error *err)
{
	uint32_t i = GROUP * (uint32_t)(p - r->pair) + p->used;
	struct row *row;

	if (p->used == GROUP) {
		if (reel_array_reach(&r->more, &r->more_room, r->rows_more,
				     sizeof(*r->more), err))
			return NULL;
		i = MORE_FROM + r->rows_more++;
	} else {
		p->used++;
	}
	row = row_at(r, i);
	row->what = what;
	row->next = i;
	if (p->last != NO_ROW) {
		row->next = row_at(r, p->last)->next;
		row_at(r, p->last)->next = i;
	}
	p->last = i;
	return row;
}

static struct row *row_of(struct rollup *r, struct pair *p, uint32_t what,
			  struct reel_error *err)
{
	uint32_t i = p->last;

	if (i == NO_ROW)
		return new_row(r, p, what, err);
	do {
		struct row *row = row_at(r, i);

		if (row->what == what) {
			p->last = i;
			return row;
		}
		i = row->next;
	} while (i != p->last);
	return new_row(r, p, what, err);
}

static int rollup_feed(void *state, const struct reel_event *ev,
		       struct reel_error *err)
{
	struct rollup *r = state;
	int64_t bytes = metric_bytes(ev);
	struct pair *pair;
	struct row *row;

	if (metric_op(ev) == METRIC_NOTHING || ev->call >= REEL_CALL_MAX ||
	    !ev->process)
		return 0;
	pair = pair_of(r, ev, err);
	if (!pair)
		return -1;
	row = row_of(r, pair, what_is(ev, bytes), err);
	if (!row)
		return -1;
	row->calls += metric_calls(ev);
	row->bytes += (uint64_t)bytes;
	row->dur_ns += (uint64_t)metric_dur(ev);
	if (ev->asked > 0 && !metric_failed(ev))
		r->asked_bytes[ev->call][row->what & 1] += (uint64_t)ev->asked;
	return 0;
}

static uint32_t outcome_of(const struct row *row)
{
	return row->what >> 7 & 3;
}

static int write_pair(struct metric_row *out, const struct rollup *r,
		      const struct pair *p, struct reel_error *err)
{
	uint32_t i = p->last;

	if (i == NO_ROW)
		return 0;
	do {
		const struct row *row = row_at(r, i);
		uint32_t bin = row->what >> 1 & 63;

		metric_row_int(out, p->process);
		metric_row_id(out, p->file);
		metric_row_int(out, row->what >> 9);
		if (bin == NO_BIN)
			metric_row_null(out);
		else
			metric_row_int(out, bin);
		metric_row_int(out, row->what & 1);
		metric_row_int(out, row->calls);
		metric_row_int(out, (int64_t)row->bytes);
		metric_row_int(out, (int64_t)row->dur_ns);
		metric_row_int(out, outcome_of(row) == FAILED ? row->calls : 0);
		metric_row_int(out, outcome_of(row) == AT_END ? row->calls : 0);
		if (metric_row_done(out, err))
			return -1;
		i = row->next;
	} while (i != p->last);
	return 0;
}

static int write_rollup(const struct rollup *r, struct reel_store *st,
			struct reel_error *err)
{
	struct metric_row out;
	uint32_t i;
	int rc = metric_row_open(&out, st,
				 "INSERT INTO rollup VALUES "
				 "(?,?,?,?,?,?,?,?,?,?)",
				 err);

	for (i = 0; !rc && i < r->pairs.used; i++)
		rc = write_pair(&out, r, &r->pair[i], err);
	return metric_row_close(&out, rc, err);
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

static int write_total(struct metric_row *out, const struct rollup *r,
		       uint32_t call, uint32_t message, const struct total *t,
		       struct reel_error *err)
{
	metric_row_int(out, call);
	metric_row_int(out, message);
	metric_row_int(out, (int64_t)t->calls);
	metric_row_int(out, (int64_t)r->asked_bytes[call][message]);
	metric_row_int(out, (int64_t)t->bytes);
	metric_row_int(out, (int64_t)t->dur_ns);
	metric_row_int(out, (int64_t)t->errors);
	metric_row_int(out, (int64_t)t->eof_reads);
	return metric_row_done(out, err);
}

static int write_calls(const struct rollup *r, struct reel_store *st,
		       struct reel_error *err)
{
	struct total *total =
		reel_alloc(2 * REEL_CALL_MAX, sizeof(*total), err);
	struct metric_row out = {0};
	uint32_t i;
	int rc = -1;

	if (!total)
		goto out;
	for (i = 0; i < r->row_room; i++)
		add_row(total, &r->row[i]);
	for (i = 0; i < r->rows_more; i++)
		add_row(total, &r->more[i]);
	rc = metric_row_open(
		&out, st, "INSERT INTO call_io VALUES (?,?,?,?,?,?,?,?)", err);
	for (i = 0; !rc && i < 2 * REEL_CALL_MAX; i++)
		if (total[i].calls)
			rc = write_total(&out, r, i / 2, i % 2, &total[i], err);
out:
	free(total);
	return metric_row_close(&out, rc, err);
}

static int rollup_finish(void *state, struct reel_store *st,
			 struct reel_error *err)
{
	if (write_rollup(state, st, err))
		return -1;
	return write_calls(state, st, err);
}

static void rollup_fini(void *state)
{
	struct rollup *r = state;

	if (!r)
		return;
	reel_idmap_fini(&r->pairs);
	free(r->pair);
	free(r->row);
	free(r->more);
	free(r->place);
	free(r);
}

const struct reel_metric reel_metric_rollup = {
	.name = "rollup",
	.schema = schema,
	.init = rollup_init,
	.feed = rollup_feed,
	.finish = rollup_finish,
	.fini = rollup_fini,
};

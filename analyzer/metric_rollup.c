/* SPDX-License-Identifier: MIT */
/*
 * The rollup that most questions are asked of: per process, file, call and
 * size bin; and the totals of each call.
 *
 * A process stays with a file for some calls, and makes the same calls to the
 * next one: so the rows of a (process, file) pair are a ring in the order in
 * which they were first needed, and the next one is nearly always the right
 * one. Pairs past a limit share the row of no file: memory is bounded.
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
#define NO_BIN 63u /* the call moved nothing */
#define NO_ROW UINT32_MAX

struct sums {
	uint64_t calls, asked_bytes, bytes, dur_ns; /* may wrap, not trap */
	uint32_t errors, eof_reads;
};

struct row {
	struct sums sums;
	uint32_t next; /* of the pair, in a ring */
	uint32_t what; /* call << 8 | bin << 1 | message */
};

struct pair {
	uint32_t process, file;
	uint32_t last; /* row that was used last, NO_ROW: none yet */
};

struct place { /* where a process is */
	uint32_t file, pair; /* pair plus one; 0: nowhere */
};

struct rollup {
	struct reel_idmap pairs;
	struct pair *pair;
	struct row *row;
	struct place *place; /* by process_id */
	uint32_t pair_room, row_room, place_room, rows;
};

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
	uint32_t i;

	at->file = file;
	if (r->pairs.used >= PAIRS_MOST &&
	    reel_idmap_find(&r->pairs, key | file) == REEL_NO_INDEX)
		file = 0;
	i = reel_idmap_get(&r->pairs, key | file, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&r->pair, &r->pair_room, i, sizeof(*r->pair), err))
		return NULL;
	if (i == r->pairs.used - 1 && !r->pair[i].process) {
		r->pair[i].process = process;
		r->pair[i].file = file;
		r->pair[i].last = NO_ROW;
	}
	at->pair = i + 1;
	return &r->pair[i];
}

static struct pair *pair_of(struct rollup *r, const struct reel_event *ev,
			    struct reel_error *err)
{
	struct place *at;

	if (reel_array_reach(&r->place, &r->place_room, ev->process,
			     sizeof(*at), err))
		return NULL;
	at = &r->place[ev->process];
	if (at->pair && at->file == ev->file)
		return &r->pair[at->pair - 1];
	return find_pair(r, at, ev->process, ev->file, err);
}

static struct row *row_of(struct rollup *r, struct pair *p, uint32_t what,
			  struct reel_error *err)
{
	uint32_t i = p->last, n = r->rows;

	if (i != NO_ROW) {
		if (r->row[i].what == what)
			return &r->row[i];
		for (i = r->row[i].next; i != p->last; i = r->row[i].next) {
			if (r->row[i].what != what)
				continue;
			p->last = i;
			return &r->row[i];
		}
	}
	if (reel_array_reach(&r->row, &r->row_room, n, sizeof(*r->row), err))
		return NULL;
	r->rows++;
	r->row[n].what = what;
	r->row[n].next = n;
	if (p->last != NO_ROW) {
		r->row[n].next = r->row[p->last].next;
		r->row[p->last].next = n;
	}
	p->last = n;
	return &r->row[n];
}

static void add(struct sums *s, const struct reel_event *ev, int64_t bytes)
{
	uint32_t calls = metric_calls(ev);

	s->calls += calls;
	s->bytes += (uint64_t)bytes;
	s->dur_ns += (uint64_t)metric_dur(ev);
	if (metric_failed(ev)) {
		s->errors += calls;
		return;
	}
	if (ev->asked > 0)
		s->asked_bytes += (uint64_t)ev->asked;
	if (metric_eof(ev))
		s->eof_reads += calls;
}

static int rollup_feed(void *state, const struct reel_event *ev,
		       struct reel_error *err)
{
	struct rollup *r = state;
	enum metric_op op = metric_op(ev);
	int64_t bytes = metric_bytes(ev);
	uint32_t calls = metric_calls(ev), bin = NO_BIN;
	uint32_t message = op == METRIC_MESSAGE;
	struct pair *pair;
	struct row *row;

	if (op == METRIC_NOTHING || ev->call >= REEL_CALL_MAX || !ev->process)
		return 0;
	if (bytes)
		bin = metric_size_bin(calls == 1 ? bytes : bytes / calls ?: 1);
	pair = pair_of(r, ev, err);
	if (!pair)
		return -1;
	row = row_of(r, pair, (uint32_t)ev->call << 8 | bin << 1 | message,
		     err);
	if (!row)
		return -1;
	add(&row->sums, ev, bytes);
	return 0;
}

static int write_sums(struct metric_row *out, const struct sums *s,
		      struct reel_error *err)
{
	metric_row_int(out, (int64_t)s->calls);
	metric_row_int(out, (int64_t)s->asked_bytes);
	metric_row_int(out, (int64_t)s->bytes);
	metric_row_int(out, (int64_t)s->dur_ns);
	metric_row_int(out, s->errors);
	metric_row_int(out, s->eof_reads);
	return metric_row_done(out, err);
}

static int write_pair(struct metric_row *out, const struct rollup *r,
		      const struct pair *p, struct reel_error *err)
{
	uint32_t i = p->last;

	if (i == NO_ROW)
		return 0;
	do {
		const struct row *row = &r->row[i];
		uint32_t bin = row->what >> 1 & 63;

		metric_row_int(out, p->process);
		metric_row_id(out, p->file);
		metric_row_int(out, row->what >> 8);
		if (bin == NO_BIN)
			metric_row_null(out);
		else
			metric_row_int(out, bin);
		metric_row_int(out, row->what & 1);
		if (write_sums(out, &row->sums, err))
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
				 "(?,?,?,?,?,?,?,?,?,?,?)",
				 err);

	for (i = 0; !rc && i < r->pairs.used; i++)
		rc = write_pair(&out, r, &r->pair[i], err);
	return metric_row_close(&out, rc, err);
}

static void add_sums(struct sums *to, const struct sums *s)
{
	to->calls += s->calls;
	to->asked_bytes += s->asked_bytes;
	to->bytes += s->bytes;
	to->dur_ns += s->dur_ns;
	to->errors += s->errors;
	to->eof_reads += s->eof_reads;
}

static int write_calls(const struct rollup *r, struct reel_store *st,
		       struct reel_error *err)
{
	struct sums *total = reel_alloc(2 * REEL_CALL_MAX, sizeof(*total), err);
	struct metric_row out = { 0 };
	uint32_t i;
	int rc = -1;

	if (!total)
		goto out;
	for (i = 0; i < r->rows; i++)
		add_sums(&total[2 * (r->row[i].what >> 8) +
				(r->row[i].what & 1)],
			 &r->row[i].sums);
	rc = metric_row_open(&out, st,
			     "INSERT INTO call_io VALUES (?,?,?,?,?,?,?,?)",
			     err);
	for (i = 0; !rc && i < 2 * REEL_CALL_MAX; i++) {
		if (!total[i].calls)
			continue;
		metric_row_int(&out, i / 2);
		metric_row_int(&out, i % 2);
		rc = write_sums(&out, &total[i], err);
	}
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

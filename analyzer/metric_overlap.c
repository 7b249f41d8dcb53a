/* SPDX-License-Identifier: MIT */
/*
 * I/O time of each process, steps, and the overlap of I/O with computation.
 *
 * While events come, each process's I/O is kept as a log of intervals; which
 * process belongs to which rank, and where the steps began, is known only at
 * the end. Then each rank is swept once: metric_overlap_rank.c.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/idmap.h"
#include "analyzer/insert.h"
#include "analyzer/metric.h"
#include "analyzer/metric_op.h"
#include "analyzer/metric_overlap.h"
#include "analyzer/stream_log.h"

static const char schema[] =
#include "schemas/metric_overlap.sql.inc"
	;

#define LOG_BYTES (24u << 20)
#define HELD_ONE_THREAD 16u
#define HELD_MANY 4096u

struct overlap;

struct io {
	struct reel_union u;
	struct overlap *overlap;
	uint32_t process, thread;
	uint64_t calls, sum_ns;
	int64_t first_ns, last_ns;
	int64_t logged_ns; /* end of the last interval in the log */
};

struct overlap {
	struct reel_stream_log *log;
	struct io **io; /* by process_id */
	uint32_t room;
	struct overlap_span *span;
	uint32_t spans, span_room;
	struct overlap_process *process; /* by process_id, at the end */
	uint32_t processes;
};

static int overlap_init(void *state, struct reel_error *err)
{
	struct overlap *o = state;

	return reel_stream_log_new(&o->log, LOG_BYTES, err);
}

static int log_interval(void *ctx, const struct reel_interval *iv,
			struct reel_error *err)
{
	struct io *io = ctx;
	uint64_t number[4] = {
		(uint64_t)(iv->start_ns - io->logged_ns),
		(uint64_t)(iv->end_ns - iv->start_ns),
		iv->read_bytes,
		iv->write_bytes,
	};

	io->logged_ns = iv->end_ns;
	return reel_stream_log_add(io->overlap->log, io->process, number, 4,
				   err);
}

static struct io *io_of(struct overlap *o, const struct metric_event *ev,
			struct reel_error *err)
{
	struct io *io;

	if (reel_array_reach(&o->io, &o->room, ev->is.process,
			     sizeof(struct io *), err))
		return NULL;
	io = o->io[ev->is.process];
	if (!io) {
		io = o->io[ev->is.process] = reel_alloc(1, sizeof(*io), err);
		if (!io)
			return NULL;
		io->u.most = HELD_ONE_THREAD;
		io->u.emit = log_interval;
		io->u.ctx = io;
		io->overlap = o;
		io->process = ev->is.process;
		io->thread = ev->is.thread;
		io->first_ns = INT64_MAX;
	}
	if (io->thread != ev->is.thread)
		io->u.most = HELD_MANY;
	return io;
}

static int add_event(void *state, const struct metric_event *ev,
		     struct reel_error *err)
{
	enum metric_op op = ev->op;
	struct reel_interval iv = {ev->start_ns, ev->end_ns, 0, 0};
	struct io *io;

	if (op >= METRIC_OPS)
		return 0;
	if (op == METRIC_READ)
		iv.read_bytes = (uint64_t)ev->bytes;
	else if (op == METRIC_WRITE)
		iv.write_bytes = (uint64_t)ev->bytes;
	io = io_of(state, ev, err);
	if (!io)
		return -1;
	io->calls += ev->calls;
	io->sum_ns += (uint64_t)ev->dur_ns;
	if (iv.start_ns < io->first_ns)
		io->first_ns = iv.start_ns;
	if (iv.end_ns > io->last_ns)
		io->last_ns = iv.end_ns;
	return reel_union_add(&io->u, &iv, err);
}

METRIC_FEED(overlap_feed)

static int overlap_span(void *state, const struct reel_span_event *sp,
			struct reel_error *err)
{
	struct overlap *o = state;
	struct overlap_span *s;
	int64_t start_ns = sp->start_ns < 0 ? 0 : sp->start_ns;
	int64_t dur_ns = sp->dur_ns < 0 ? 0 : sp->dur_ns;

	if (sp->kind == REEL_SPAN_USER || sp->kind >= REEL_SPANS)
		return 0;
	if (start_ns > METRIC_TIME_MOST || dur_ns > METRIC_TIME_MOST)
		return 0;
	if (reel_array_reach(&o->span, &o->span_room, o->spans, sizeof(*s),
			     err))
		return -1;
	s = &o->span[o->spans++];
	s->start_ns = start_ns;
	s->end_ns = start_ns + dur_ns;
	s->detail = sp->detail;
	s->process = sp->process;
	s->thread = sp->thread;
	s->kind = sp->kind;
	s->span_id = sp->span_id;
	return 0;
}

static int by_process_kind_start(const void *a, const void *b)
{
	const struct overlap_span *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->span_id < y->span_id ? -1 : x->span_id > y->span_id;
}

static int read_process(struct overlap *o, sqlite3_stmt *q,
			struct reel_error *err)
{
	sqlite3_int64 id = sqlite3_column_int64(q, 0);
	sqlite3_int64 parent = sqlite3_column_int64(q, 1);
	const char *role = (const char *)sqlite3_column_text(q, 3);
	struct overlap_process *p;

	if (id <= 0 || id >= UINT32_MAX)
		return 0;
	if (reel_array_reach(&o->process, &o->processes, (uint32_t)id,
			     sizeof(*p), err))
		return -1;
	p = &o->process[id];
	p->known = true;
	p->process = (uint32_t)id;
	p->parent = parent > 0 && parent < UINT32_MAX ? (uint32_t)parent : 0;
	p->rank = sqlite3_column_type(q, 2) == SQLITE_NULL
			  ? -1
			  : sqlite3_column_int(q, 2);
	p->worker = role && !strcmp(role, "worker");
	p->end_ns = sqlite3_column_int64(q, 4);
	return 0;
}

static int read_processes(struct overlap *o, struct reel_store *st,
			  struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	int rc, step = SQLITE_DONE;

	rc = reel_store_prepare(st, &q,
				"SELECT process_id, parent_id, rank, role, "
				"end_ns FROM process ORDER BY process_id",
				err);
	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = read_process(o, q, err);
	if (!rc && step != SQLITE_DONE)
		rc = reel_fail(err, REEL_E_DB, "cannot read the processes: %s",
			       sqlite3_errmsg(st->db));
	sqlite3_finalize(q);
	return rc;
}

static struct overlap_process *process_at(struct overlap *o, uint32_t id)
{
	return id < o->processes && o->process[id].known ? &o->process[id]
							 : NULL;
}

/* Processes that take steps are ranks; without any, those that fetch. */
static bool mark_ranks(struct overlap *o, bool steps)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < o->spans; i++) {
		uint32_t kind = o->span[i].kind;
		struct overlap_process *p = process_at(o, o->span[i].process);

		if (!p || p->worker)
			continue;
		if (steps ? kind == REEL_SPAN_STEP
			  : kind == REEL_SPAN_FETCH ||
				    kind == REEL_SPAN_COMPUTE) {
			p->root = p->process;
			any = true;
		}
	}
	return any;
}

/* Each process belongs to the nearest rank above it. Each is asked once, so
 * that a long chain costs no more than as many siblings; a damaged store may
 * hold a cycle. */
static void find_roots(struct overlap *o)
{
	uint32_t i, root;

	for (i = 0; i < o->processes; i++) {
		struct overlap_process *p = process_at(o, i), *up = p;

		for (; up && !up->root && !up->asked;
		     up = process_at(o, up->parent))
			up->asked = true;
		root = up ? up->root : 0;
		for (up = p; root && !up->root; up = process_at(o, up->parent))
			up->root = root;
	}
}

/* Each rank's processes, first to last: thousands of ranks look at their own. */
static void list_ranks(struct overlap *o)
{
	uint32_t i;

	for (i = o->processes; i--;) {
		struct overlap_process *p = process_at(o, i), *root;

		root = p ? process_at(o, p->root) : NULL;
		if (!root || root->root != p->root)
			continue;
		p->next = root->first;
		root->first = i;
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of the steady steps: all but the first. -1: there are none. */
static int64_t median(const struct overlap_rank *r, int64_t *room,
		      int64_t (*value)(const struct overlap_step *))
{
	uint32_t n = r->steps > 1 ? r->steps - 1 : 0, i;

	if (!n)
		return -1;
	for (i = 0; i < n; i++)
		room[i] = value(&r->step[i + 1]);
	qsort(room, n, sizeof(*room), by_value);
	return n % 2 ? room[n / 2] : (room[n / 2 - 1] + room[n / 2]) / 2;
}

static int64_t step_dur(const struct overlap_step *s)
{
	return s->dur_ns;
}

static int64_t step_fetch(const struct overlap_step *s)
{
	return s->fetch_ns;
}

static int64_t step_compute(const struct overlap_step *s)
{
	return s->compute_ns;
}

static int64_t step_other(const struct overlap_step *s)
{
	int64_t ns = s->dur_ns - s->fetch_ns - s->compute_ns;

	return ns > 0 ? ns : 0;
}

/* What of a rank's steps was measured. */
static bool knows_fetch(const struct overlap_rank *r)
{
	return r->fetch.n > 0;
}

static bool knows_compute(const struct overlap_rank *r)
{
	return r->compute_source;
}

/* NULL: not measured. */
static void put(struct reel_insert *out, bool known, int64_t v)
{
	if (known)
		reel_insert_int(out, v);
	else
		reel_insert_null(out);
}

static void bind_steady(struct reel_insert *out, const struct overlap_rank *r)
{
	int64_t dur_ns = 0, fetch_ns = 0, compute_ns = 0;
	uint32_t i;

	for (i = 1; i < r->steps; i++) {
		dur_ns += r->step[i].dur_ns;
		fetch_ns += r->step[i].fetch_ns;
		compute_ns += r->step[i].compute_ns;
	}
	reel_insert_int(out, r->steps > 1 ? r->steps - 1 : 0);
	reel_insert_int(out, dur_ns);
	put(out, knows_fetch(r), fetch_ns);
	put(out, knows_compute(r), compute_ns);
}

/* Own I/O and single steps are not told apart yet. */
static void bind_known(struct reel_insert *out, const struct overlap_rank *r)
{
	bool known = knows_fetch(r) || knows_compute(r);
	int64_t dur_ns = 0, steady_ns = 0, from_ns = INT64_MAX, to_ns = 0;
	uint32_t i;

	for (i = 0; i < r->steps; i++) {
		const struct overlap_step *s = &r->step[i];

		dur_ns += s->dur_ns;
		steady_ns += i ? s->dur_ns : 0;
		to_ns = s->start_ns + s->dur_ns;
	}
	if (r->steps)
		from_ns = r->step[0].start_ns;
	if (r->fetch.n && r->fetch.iv[0].start_ns < from_ns)
		from_ns = r->fetch.iv[0].start_ns;
	reel_insert_int(out, known ? 0 : r->steps);
	for (i = 0; i < 3; i++)
		reel_insert_null(out);
	put(out, known && r->steps, to_ns - from_ns);
	put(out, knows_fetch(r) && r->steps,
	    reel_union_within(&r->fetch, from_ns, to_ns, NULL));
	put(out, known && r->steps > 1, steady_ns);
	reel_insert_int(out, known && r->steps ? r->steps - 1 : 0);
	reel_insert_int(out, dur_ns);
	reel_insert_int(out, knows_fetch(r) ? 0 : dur_ns);
	reel_insert_int(out, 0);
}

static int write_rank(struct reel_insert *out, const struct overlap_rank *r,
		      int32_t ordinal, struct reel_error *err)
{
	int64_t *room = reel_alloc(r->steps, sizeof(*room), err);
	const struct {
		int64_t (*of)(const struct overlap_step *);
		bool known;
	} value[] = {{step_dur, true},
		     {step_fetch, knows_fetch(r)},
		     {step_compute, knows_compute(r)},
		     {step_other, knows_compute(r)}};
	size_t i;

	if (!room)
		return -1;
	reel_insert_int(out, r->rank >= 0 ? r->rank : ordinal);
	reel_insert_int(out, r->process);
	reel_insert_text(out, r->compute_source);
	reel_insert_int(out, r->steps);
	bind_steady(out, r);
	for (i = 0; i < sizeof(value) / sizeof(value[0]); i++)
		if (value[i].known)
			reel_insert_stat(out,
					 (double)median(r, room, value[i].of));
		else
			reel_insert_null(out);
	put(out, knows_fetch(r), reel_union_ns(&r->fetch));
	put(out, knows_compute(r), reel_union_ns(&r->compute));
	reel_insert_int(out, r->io_ns);
	put(out, knows_compute(r), r->hidden_ns);
	reel_insert_int(out, r->worker_processes);
	reel_insert_int(out, (int64_t)r->batches);
	reel_insert_int(out, r->worker_busy_ns);
	reel_insert_int(out, r->worker_io_ns);
	reel_insert_int(out, r->worker_alive_ns);
	reel_insert_int(out, reel_union_ns(&r->worker_time));
	bind_known(out, r);
	free(room);
	return reel_insert_done(out, err);
}

static int write_steps(struct reel_insert *out, const struct overlap_rank *r,
		       int32_t ordinal, struct reel_error *err)
{
	uint32_t i;

	for (i = 0; i < r->steps; i++) {
		const struct overlap_step *s = &r->step[i];

		reel_insert_int(out, s->span_id);
		reel_insert_int(out, r->rank >= 0 ? r->rank : ordinal);
		reel_insert_int(out, r->process);
		reel_insert_int(out, i + 1);
		put(out, s->epoch >= 0, s->epoch);
		put(out, s->number >= 0, s->number);
		reel_insert_int(out, i > 0);
		reel_insert_int(out, s->start_ns);
		reel_insert_int(out, s->dur_ns);
		put(out, knows_fetch(r), s->fetch_ns);
		put(out, knows_compute(r), s->compute_ns);
		put(out, knows_compute(r), step_other(s));
		reel_insert_int(out, s->io_ns);
		put(out, knows_compute(r), s->hidden_ns);
		reel_insert_int(out, (int64_t)s->read_bytes);
		reel_insert_int(out, (int64_t)s->write_bytes);
		reel_insert_id(out, s->epoch_span);
		reel_insert_null(out);
		reel_insert_int(out, 1);
		if (reel_insert_done(out, err))
			return -1;
	}
	return 0;
}

static int write_ranks(struct overlap *o, struct reel_insert *rank_row,
		       struct reel_insert *step_row, struct reel_error *err)
{
	int32_t ordinal = 0;
	uint32_t i;

	for (i = 0; i < o->processes; i++) {
		struct overlap_process *p = process_at(o, i);
		struct overlap_rank r = {.process = i};
		int rc;

		if (!p || p->root != i)
			continue;
		r.rank = p->rank;
		rc = overlap_rank_measure(&r, o->span, o->spans, o->process,
					  o->log, err);
		if (!rc)
			rc = write_rank(rank_row, &r, ordinal, err);
		if (!rc)
			rc = write_steps(step_row, &r, ordinal, err);
		overlap_rank_fini(&r);
		if (rc)
			return -1;
		ordinal++;
	}
	return 0;
}

/* The processes' rows of table io_time: their unions are here anyway. */
static int write_io_time(struct overlap *o, struct reel_store *st,
			 struct reel_error *err)
{
	struct reel_insert out;
	uint32_t i;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO io_time VALUES (?,?,?,?,?,?,?,?)", err);

	for (i = 0; !rc && i < o->room; i++) {
		struct io *io = o->io[i];

		if (!io)
			continue;
		rc = reel_union_flush(&io->u, err);
		if (rc)
			break;
		reel_insert_int(&out, i);
		reel_insert_text(&out, "io");
		reel_insert_int(&out, (int64_t)io->calls);
		reel_insert_int(&out, reel_union_ns(&io->u));
		reel_insert_int(&out, (int64_t)io->sum_ns);
		reel_insert_int(&out, io->first_ns);
		reel_insert_int(&out, io->last_ns);
		reel_insert_int(&out, (int64_t)io->u.clipped);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static int overlap_finish(void *state, struct reel_store *st,
			  struct reel_error *err)
{
	struct overlap *o = state;
	struct reel_insert rank_row = {0}, step_row = {0};
	int rc = -1;

	if (write_io_time(o, st, err))
		return -1;
	if (read_processes(o, st, err))
		return -1;
	if (!o->spans || (!mark_ranks(o, true) && !mark_ranks(o, false)))
		return 0;
	find_roots(o);
	list_ranks(o);
	qsort(o->span, o->spans, sizeof(*o->span), by_process_kind_start);
	if (!reel_insert_open(&rank_row, st,
			      "INSERT INTO rank_time VALUES (?,?,?,?,?,?,?,?,?,"
			      "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
			      "?)",
			      err) &&
	    !reel_insert_open(&step_row, st,
			      "INSERT INTO step VALUES "
			      "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			      err))
		rc = write_ranks(o, &rank_row, &step_row, err);
	reel_insert_close(&step_row, rc);
	return reel_insert_close(&rank_row, rc);
}

static void overlap_fini(void *state)
{
	struct overlap *o = state;
	uint32_t i;

	for (i = 0; i < o->room; i++) {
		if (o->io[i])
			reel_union_fini(&o->io[i]->u);
		free(o->io[i]);
	}
	free(o->io);
	free(o->span);
	free(o->process);
	reel_stream_log_close(o->log);
}

const struct reel_metric reel_metric_overlap = {
	.name = "overlap",
	.schema = schema,
	.state_bytes = sizeof(struct overlap),
	.init = overlap_init,
	.feed = overlap_feed,
	.span = overlap_span,
	.finish = overlap_finish,
	.fini = overlap_fini,
};

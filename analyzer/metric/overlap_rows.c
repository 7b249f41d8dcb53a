/* SPDX-License-Identifier: MIT */
/* The rows of tables rank_time, step and evaluation_worker. */
#include "analyzer/metric/overlap.h"

#include <stdlib.h>

#include "lib/error.h"
#include "lib/store/insert.h"

/* Sums over steps; each value is the sum over steps that know it. */
struct sums {
	int64_t dur_ns, known_ns, fetch_ns, compute_ns, own_io_ns;
	int64_t unknown_wait_ns, unknown_io_ns;
	uint64_t steps, known;
	bool fetch_known, compute_known; /* of any step */
};

static struct sums sum_steps(const struct overlap_rank *r, uint32_t first)
{
	struct sums all = {0};
	uint32_t i;

	for (i = first; i < r->steps; i++) {
		const struct overlap_step *s = &r->step[i];

		all.steps += s->count;
		all.dur_ns += s->dur_ns;
		if (s->fetch_known) {
			all.fetch_known = true;
			all.fetch_ns += s->fetch_ns;
			all.own_io_ns += s->own_io_ns;
		} else {
			all.unknown_wait_ns += s->dur_ns;
		}
		if (s->compute_known) {
			all.compute_known = true;
			all.known += s->count;
			all.known_ns += s->dur_ns;
			all.compute_ns += s->compute_ns;
		} else {
			all.unknown_io_ns += s->io_ns;
		}
	}
	return all;
}

/* Times of one step; -1: unknown. */
static int64_t step_dur(const struct overlap_step *s)
{
	return s->dur_ns;
}

static int64_t step_fetch(const struct overlap_step *s)
{
	return s->fetch_known ? s->fetch_ns : -1;
}

static int64_t step_own_io(const struct overlap_step *s)
{
	return s->fetch_known ? s->own_io_ns : -1;
}

static int64_t step_compute(const struct overlap_step *s)
{
	return s->compute_known ? s->compute_ns : -1;
}

static int64_t step_hidden(const struct overlap_step *s)
{
	return s->compute_known ? s->hidden_ns : -1;
}

static int64_t step_other(const struct overlap_step *s)
{
	int64_t ns = s->dur_ns - s->compute_ns;

	if (!s->compute_known)
		return -1;
	if (s->fetch_known)
		ns -= s->fetch_ns + s->own_io_ns;
	return ns > 0 ? ns : 0;
}

struct value {
	int64_t ns;
	uint64_t steps;
};

static int by_value(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The value of step @i, from 0, in the order of @v. */
static int64_t value_at(const struct value *v, uint64_t i)
{
	while (i >= v->steps)
		i -= v++->steps;
	return v->ns;
}

/*
 * The median over the steady steps (all but the first) whose value is known;
 * -1: none. A row of several steps counts as that many steps of their mean.
 */
static int64_t median(const struct overlap_rank *r, struct value *room,
		      int64_t (*value)(const struct overlap_step *))
{
	uint64_t steps = 0;
	uint32_t n = 0, i;

	for (i = 1; i < r->steps; i++) {
		const struct overlap_step *s = &r->step[i];
		int64_t ns = value(s);

		if (ns < 0)
			continue;
		room[n++] = (struct value){ns / s->count, s->count};
		steps += s->count;
	}
	if (!n)
		return -1;
	qsort(room, n, sizeof(*room), by_value);
	return steps % 2 ? value_at(room, steps / 2)
			 : (value_at(room, steps / 2 - 1) +
			    value_at(room, steps / 2)) /
				   2;
}

/* NULL: not measured. */
static void insert_known(struct reel_insert *out, bool known, int64_t v)
{
	if (known)
		reel_insert_int(out, v);
	else
		reel_insert_null(out);
}

static void insert_step(struct reel_insert *out, int64_t v)
{
	insert_known(out, v >= 0, v);
}

/* A rank without steps knows its fetches, and declared computation. */
static bool knows_fetch(const struct overlap_rank *r)
{
	return r->steps ? r->fetch_known > 0 : r->fetch.n > 0;
}

static bool knows_compute(const struct overlap_rank *r)
{
	return r->steps ? r->compute_known > 0 : r->compute_source != NULL;
}

static void bind_known(struct reel_insert *out, const struct overlap_rank *r,
		       const struct sums *all, const struct sums *steady,
		       int64_t median_own_ns)
{
	reel_insert_int(out, (int64_t)(all->steps - all->known));
	insert_known(out, all->fetch_known, all->own_io_ns);
	insert_known(out, steady->fetch_known, steady->own_io_ns);
	insert_step(out, median_own_ns);
	insert_known(out, all->known, r->loop_ns);
	insert_known(out, all->fetch_known, r->loop_wait_ns);
	insert_known(out, steady->known, steady->known_ns);
	reel_insert_int(out, (int64_t)steady->known);
	reel_insert_int(out, all->dur_ns);
	reel_insert_int(out, all->unknown_wait_ns);
	reel_insert_int(out, all->unknown_io_ns);
	insert_known(out, all->fetch_known, all->own_io_ns + r->between_io_ns);
}

static int write_rank(struct reel_insert *out, const struct overlap_rank *r,
		      int32_t ordinal, struct reel_error *err)
{
	struct sums all = sum_steps(r, 0), steady = sum_steps(r, 1);
	struct value *room = reel_alloc(r->steps, sizeof(*room), err);

	if (!room)
		return -1;
	reel_insert_int(out, r->rank >= 0 ? r->rank : ordinal);
	reel_insert_int(out, r->process);
	reel_insert_text(out, r->compute_source);
	reel_insert_int(out, (int64_t)all.steps);
	reel_insert_int(out, (int64_t)steady.steps);
	reel_insert_int(out, steady.dur_ns);
	insert_known(out, steady.fetch_known, steady.fetch_ns);
	insert_known(out, steady.compute_known, steady.compute_ns);
	insert_step(out, median(r, room, step_dur));
	insert_step(out, median(r, room, step_fetch));
	insert_step(out, median(r, room, step_compute));
	insert_step(out, median(r, room, step_other));
	insert_known(out, knows_fetch(r), reel_union_ns(&r->fetch));
	insert_known(out, knows_compute(r), r->compute_ns);
	reel_insert_int(out, r->io_ns);
	insert_known(out, knows_compute(r), r->hidden_ns);
	reel_insert_int(out, r->worker_processes);
	reel_insert_int(out, (int64_t)r->batches);
	reel_insert_int(out, r->worker_busy_ns);
	reel_insert_int(out, r->worker_io_ns);
	reel_insert_int(out, r->worker_alive_ns);
	reel_insert_int(out, reel_union_ns(&r->worker_time));
	bind_known(out, r, &all, &steady, median(r, room, step_own_io));
	free(room);
	return reel_insert_done(out, err);
}

static int write_steps(struct reel_insert *out, const struct overlap_rank *r,
		       int32_t ordinal, struct reel_error *err)
{
	int64_t ordinal_step = 1;
	uint32_t i;

	for (i = 0; i < r->steps; i++) {
		const struct overlap_step *s = &r->step[i];

		reel_insert_int(out, s->span_id);
		reel_insert_int(out, r->rank >= 0 ? r->rank : ordinal);
		reel_insert_int(out, r->process);
		reel_insert_int(out, ordinal_step);
		ordinal_step += s->count;
		insert_known(out, s->epoch >= 0, s->epoch);
		insert_known(out, s->number >= 0, s->number);
		reel_insert_int(out, i > 0);
		reel_insert_int(out, s->start_ns);
		reel_insert_int(out, s->dur_ns);
		insert_step(out, step_fetch(s));
		insert_step(out, step_compute(s));
		insert_step(out, step_other(s));
		reel_insert_int(out, s->io_ns);
		insert_step(out, step_hidden(s));
		reel_insert_int(out, (int64_t)s->read_bytes);
		reel_insert_int(out, (int64_t)s->write_bytes);
		reel_insert_id(out, s->epoch_span);
		insert_step(out, step_own_io(s));
		reel_insert_int(out, s->count);
		if (reel_insert_done(out, err))
			return -1;
	}
	return 0;
}

static int write_workers(struct reel_insert *out, const struct overlap_rank *r,
			 const struct overlap_job *job, struct reel_error *err)
{
	const struct overlap_process *process = job->process;

	for (uint32_t i = process[r->process].first; i; i = process[i].next) {
		if (!process[i].evaluates)
			continue;
		reel_insert_int(out, process[i].process);
		reel_insert_int(out, r->process);
		if (reel_insert_done(out, err))
			return -1;
	}
	return 0;
}

int overlap_rows_open(struct overlap_rows *rows, struct reel_store *st,
		      struct reel_error *err)
{
	*rows = (struct overlap_rows){{0}, {0}, {0}};
	return reel_insert_open(
		       &rows->rank, st,
		       "INSERT INTO rank_time VALUES (?,?,?,?,?,?,?,?,?,"
		       "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		       err) ||
			       reel_insert_open(&rows->step, st,
						"INSERT INTO step VALUES "
						"(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"
						",?,?,?,?)",
						err) ||
			       reel_insert_open(&rows->worker, st,
						"INSERT INTO evaluation_worker "
						"VALUES (?,?)",
						err)
		       ? -1
		       : 0;
}

int overlap_rows_write(struct overlap_rows *rows, const struct overlap_rank *r,
		       const struct overlap_job *job, int32_t ordinal,
		       struct reel_error *err)
{
	return write_rank(&rows->rank, r, ordinal, err) ||
			       write_steps(&rows->step, r, ordinal, err) ||
			       write_workers(&rows->worker, r, job, err)
		       ? -1
		       : 0;
}

int overlap_rows_close(struct overlap_rows *rows, int rc)
{
	rc = reel_insert_close(&rows->worker, rc);
	rc = reel_insert_close(&rows->step, rc);
	return reel_insert_close(&rows->rank, rc);
}

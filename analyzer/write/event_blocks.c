/* SPDX-License-Identifier: MIT */
/*
 * Events into blocks, thread by thread.
 *
 * Memory is bounded by a budget that the active threads share: with many of
 * them blocks are shorter and compress a little worse.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/prefetch.h"

#include "analyzer/write/internal.h"

#define BUDGET_EVENTS (8 * REEL_BLOCK_EVENTS) /* 128 B each: 32 MiB */
#define LEAST_EVENTS 16
#define FIRST_EVENTS 64
#define CACHE_ROWS 8 /* values in a line of a cache */

/* Events after which a thread's block ends. */
static uint32_t block_limit(const struct reel_writer *w)
{
	uint32_t share = BUDGET_EVENTS / (w->active ? w->active : 1);

	if (share > REEL_BLOCK_EVENTS)
		return REEL_BLOCK_EVENTS;
	return share < LEAST_EVENTS ? LEAST_EVENTS : share;
}

static int make_room(struct reel_writer *w, uint32_t id, int thread,
		     struct reel_error *err)
{
	struct reel_event_columns *c = &w->thread[id - 1].cols;
	uint32_t most = block_limit(w), room = c->room * 4;

	if (c->n >= most) {
		if (writer_put_columns(w, INSERT_BLOCK, id, c, thread, err))
			return -1;
		if (c->room > 2 * most)
			reel_event_columns_fini(c);
		if (c->room)
			return 0;
		room = most;
	}
	if (room < FIRST_EVENTS)
		room = FIRST_EVENTS;
	if (room > most)
		room = most;
	if (reel_event_columns_grow(c, room))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	return 0;
}

/* All values of the column, which were one so far, are set. */
static void spread_column(struct reel_event_columns *c, int col)
{
	int64_t *v = c->v[col];

	if (!(c->same >> col & 1))
		return;
	for (uint32_t i = 1; i < c->n; i++)
		v[i] = v[0];
	c->same &= ~(1u << col);
}

/* The columns in REEL_COL_RARE, and their members of an event. */
#define RARE(ROW)                                                              \
	ROW(REEL_COL_FILE2, file2)                                             \
	ROW(REEL_COL_FD2, fd2)                                                 \
	ROW(REEL_COL_ERR, err)                                                 \
	ROW(REEL_COL_ARG, arg)                                                 \
	ROW(REEL_COL_ARG2, arg2)                                               \
	ROW(REEL_COL_POS, pos)                                                 \
	ROW(REEL_COL_COUNT, count)

/* Events of one thread that are alike: metric_run_extend(). */
struct run {
	const struct metric_event *ev;
	uint32_t n;
};

/* Is one of the values not the column's only value? Alike events have one value in
 * most columns, and several in ARG, ARG2 and POS. */
#define OTHER(col, i, field)                                                   \
	other[col] |= (uint64_t)((int64_t)r->ev[i].raw.field ^ c->v[col][0]);
#define OTHER_OF_RUN(col, field) OTHER(col, 0, field)
#define PUT_FIRST(col, field) c->v[col][0] = first->field;
#define PUT_VALUES(col, field)                                                 \
	if (other[col] || !(c->same >> col & 1)) {                             \
		int64_t *v;                                                    \
                                                                               \
		spread_column(c, col);                                         \
		v = c->v[col] + c->n;                                          \
		for (r = run; r < run + runs; r++) {                           \
			*v++ = r->ev->raw.field;                               \
			for (i = 1; i < r->n; i++)                             \
				*v++ = r->ev[i].raw.field;                     \
		}                                                              \
	}

static void put_rare(struct reel_event_columns *c, const struct run *run,
		     uint32_t runs)
{
	const struct reel_event *first = &run->ev->raw;
	uint64_t other[REEL_COLUMNS] = {0};
	const struct run *r;
	uint32_t i;

	if (!c->n) {
		/* a difference is stored for FILE2: only 0 is one value */
		c->same = REEL_COL_RARE &
			  ~(first->file2 ? 1u << REEL_COL_FILE2 : 0);
		RARE(PUT_FIRST)
	}
	for (r = run; r < run + runs; r++) {
		RARE(OTHER_OF_RUN)
		for (i = 1; i < r->n; i++) {
			OTHER(REEL_COL_ARG, i, arg)
			OTHER(REEL_COL_ARG2, i, arg2)
			OTHER(REEL_COL_POS, i, pos)
		}
	}
	RARE(PUT_VALUES)
}

/* Blocks are larger than the caches: prefetch the rows that the thread's next @n
 * events will take. */
static void prefetch_columns(const struct reel_event_columns *c, uint32_t n)
{
	uint32_t ahead = c->n + n + CACHE_ROWS;

	if (ahead > c->room)
		return;
	for (int col = 0; col < REEL_COLUMNS; col++) {
		if (c->same >> col & 1)
			continue;
		for (uint32_t i = c->n; i < ahead; i += CACHE_ROWS)
			reel_prefetch(&c->v[col][i]);
	}
}

/* Add the @n events of @runs to @c, which has room for them. */
static void put_runs(struct reel_event_columns *c, const struct run *run,
		     uint32_t runs, uint32_t n)
{
	int64_t *start = c->v[REEL_COL_START] + c->n;
	int64_t *dur = c->v[REEL_COL_DUR] + c->n;
	int64_t *call = c->v[REEL_COL_CALL] + c->n;
	int64_t *file = c->v[REEL_COL_FILE] + c->n;
	int64_t *open = c->v[REEL_COL_OPEN] + c->n;
	int64_t *fd = c->v[REEL_COL_FD] + c->n;
	int64_t *offset = c->v[REEL_COL_OFFSET] + c->n;
	int64_t *asked = c->v[REEL_COL_ASKED] + c->n;
	int64_t *result = c->v[REEL_COL_RESULT] + c->n;
	uint32_t at = 0;

	for (const struct run *r = run; r < run + runs; r++) {
		const struct metric_event *ev = r->ev;
		const struct reel_event *first = &ev->raw;

		for (uint32_t left = r->n; left; left--, at++, ev++) {
			start[at] = ev->raw.start_ns;
			dur[at] = ev->raw.dur_ns;
			offset[at] = ev->raw.offset;
			call[at] = first->call;
			file[at] = first->file;
			open[at] = first->open;
			fd[at] = first->fd;
			asked[at] = first->asked;
			result[at] = first->result;
		}
	}
	put_rare(c, run, runs);
	c->n += n;
	prefetch_columns(c, n);
}

int writer_block_add(struct reel_writer *w, const struct metric_event *ev,
		     int thread, struct reel_error *err)
{
	uint32_t id = ev->raw.thread;
	struct run alone = {ev, 1};
	struct reel_event_columns *c;

	if (reel_array_reach(&w->thread, &w->thread_room, id - 1,
			     sizeof(*w->thread), err))
		return -1;
	c = &w->thread[id - 1].cols;
	if (c->n == c->room && make_room(w, id, thread, err))
		return -1;
	put_runs(c, &alone, 1, 1);
	return 0;
}

/* The runs of a batch by thread. */
struct groups {
	/* of each group */
	uint32_t thread[WRITER_BATCH], n[WRITER_BATCH], runs[WRITER_BATCH];
	uint32_t groups;
	struct run run[WRITER_BATCH];
};

/* Count the events and runs of each thread. False: some do not fit its block. */
static bool count_groups(struct reel_writer *w, const struct metric_event *ev,
			 uint32_t n, struct groups *g)
{
	bool fit = true;
	uint32_t i, run;

	g->groups = 0;
	for (i = 0; i < n && ev[i].raw.thread <= w->thread_room; i += run) {
		struct writer_thread *t = &w->thread[ev[i].raw.thread - 1];

		run = metric_run(&ev[i], n - i);
		if (!t->runs++)
			g->thread[g->groups++] = ev[i].raw.thread;
		t->batched += run;
	}
	fit = i == n;
	for (i = 0; i < g->groups; i++) {
		struct writer_thread *t = &w->thread[g->thread[i] - 1];

		g->n[i] = t->batched;
		g->runs[i] = t->runs;
		t->batched = t->runs = 0;
		fit &= t->cols.room - t->cols.n >= g->n[i];
	}
	return fit;
}

bool writer_blocks_add(struct reel_writer *w, const struct metric_event *ev,
		       uint32_t n)
{
	struct groups g;
	uint32_t at = 0, run;

	if (!count_groups(w, ev, n, &g))
		return false;
	for (uint32_t i = 0; i < g.groups; at += g.runs[i++])
		w->thread[g.thread[i] - 1].runs = at;
	for (uint32_t i = 0; i < n; i += run) {
		struct writer_thread *t = &w->thread[ev[i].raw.thread - 1];

		run = metric_run(&ev[i], n - i);
		g.run[t->runs++] = (struct run){&ev[i], run};
	}
	at = 0;
	for (uint32_t i = 0; i < g.groups; at += g.runs[i++]) {
		struct writer_thread *t = &w->thread[g.thread[i] - 1];

		t->runs = 0;
		put_runs(&t->cols, g.run + at, g.runs[i], g.n[i]);
	}
	return true;
}

int writer_thread_begin(struct reel_writer *w, uint32_t id,
			struct reel_error *err)
{
	if (reel_array_reach(&w->thread, &w->thread_room, id - 1,
			     sizeof(*w->thread), err))
		return -1;
	if (!w->thread[id - 1].active)
		w->active++;
	w->thread[id - 1].active = true;
	return 0;
}

int writer_thread_end(struct reel_writer *w, uint32_t id, int thread,
		      struct reel_error *err)
{
	struct writer_thread *t;

	if (id > w->thread_room)
		return 0;
	t = &w->thread[id - 1];
	if (t->active)
		w->active--;
	t->active = false;
	if (t->cols.n &&
	    writer_put_columns(w, INSERT_BLOCK, id, &t->cols, thread, err))
		return -1;
	reel_event_columns_fini(&t->cols);
	return 0;
}

int writer_blocks_flush(struct reel_writer *w, struct reel_error *err)
{
	for (uint32_t id = 1; id <= w->thread_room; id++)
		if (writer_thread_end(w, id, 0, err))
			return -1;
	return reel_writer_settle(w, err);
}

void writer_blocks_fini(struct reel_writer *w)
{
	for (uint32_t i = 0; i < w->thread_room; i++)
		reel_event_columns_fini(&w->thread[i].cols);
	free(w->thread);
}

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

/* Is one of the @n values not the column's only value? */
#define FIND_OTHER(col, field)                                                 \
	other[col] |= (uint64_t)((int64_t)ev[i]->field ^ c->v[col][0]);
#define PUT_FIRST(col, field) c->v[col][0] = ev[0]->field;
#define PUT_VALUES(col, field)                                                 \
	if (other[col] || !(c->same >> col & 1)) {                             \
		spread_column(c, col);                                         \
		for (uint32_t i = 0; i < n; i++)                               \
			c->v[col][c->n + i] = ev[i]->field;                    \
	}

static void put_rare(struct reel_event_columns *c,
		     const struct reel_event *const *ev, uint32_t n)
{
	uint64_t other[REEL_COLUMNS] = {0};

	if (!c->n) {
		/* a difference is stored for FILE2: only 0 is one value */
		c->same = REEL_COL_RARE &
			  ~(ev[0]->file2 ? 1u << REEL_COL_FILE2 : 0);
		RARE(PUT_FIRST)
	}
	for (uint32_t i = 0; i < n; i++) {
		RARE(FIND_OTHER)
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

/* Add the @n events to @c, which has room for them. */
static void put_events(struct reel_event_columns *c,
		       const struct reel_event *const *ev, uint32_t n)
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

	for (uint32_t i = 0; i < n; i++) {
		const struct reel_event *e = ev[i];

		start[i] = e->start_ns;
		dur[i] = e->dur_ns;
		call[i] = e->call;
		file[i] = e->file;
		open[i] = e->open;
		fd[i] = e->fd;
		offset[i] = e->offset;
		asked[i] = e->asked;
		result[i] = e->result;
	}
	put_rare(c, ev, n);
	c->n += n;
	prefetch_columns(c, n);
}

int writer_block_add(struct reel_writer *w, const struct reel_event *ev,
		     int thread, struct reel_error *err)
{
	struct reel_event_columns *c;

	if (reel_array_reach(&w->thread, &w->thread_room, ev->thread - 1,
			     sizeof(*w->thread), err))
		return -1;
	c = &w->thread[ev->thread - 1].cols;
	if (c->n == c->room && make_room(w, ev->thread, thread, err))
		return -1;
	put_events(c, &ev, 1);
	return 0;
}

/* The events of a batch by thread. */
struct groups {
	uint32_t thread[WRITER_BATCH], n[WRITER_BATCH]; /* of each group */
	uint32_t groups;
	const struct reel_event *ev[WRITER_BATCH];
};

/* Count the events of each thread. False: some do not fit its block. */
static bool count_groups(struct reel_writer *w, const struct metric_event *ev,
			 uint32_t n, struct groups *g)
{
	bool fit = true;
	uint32_t i;

	g->groups = 0;
	for (i = 0; i < n && ev[i].raw.thread <= w->thread_room; i++) {
		uint32_t id = ev[i].raw.thread;

		if (!w->thread[id - 1].batched++)
			g->thread[g->groups++] = id;
	}
	fit = i == n;
	for (i = 0; i < g->groups; i++) {
		struct writer_thread *t = &w->thread[g->thread[i] - 1];

		g->n[i] = t->batched;
		t->batched = 0;
		fit &= t->cols.room - t->cols.n >= g->n[i];
	}
	return fit;
}

bool writer_blocks_add(struct reel_writer *w, const struct metric_event *ev,
		       uint32_t n)
{
	struct groups g;
	uint32_t at = 0;

	if (!count_groups(w, ev, n, &g))
		return false;
	for (uint32_t i = 0; i < g.groups; at += g.n[i++])
		w->thread[g.thread[i] - 1].batched = at;
	for (uint32_t i = 0; i < n; i++)
		g.ev[w->thread[ev[i].raw.thread - 1].batched++] = &ev[i].raw;
	at = 0;
	for (uint32_t i = 0; i < g.groups; at += g.n[i++]) {
		struct writer_thread *t = &w->thread[g.thread[i] - 1];

		t->batched = 0;
		put_events(&t->cols, g.ev + at, g.n[i]);
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

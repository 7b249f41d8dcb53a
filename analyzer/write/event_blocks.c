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

#include "analyzer/write/internal.h"

#define BUDGET_EVENTS (8 * REEL_BLOCK_EVENTS) /* 128 B each: 32 MiB */
#define LEAST_EVENTS 16
#define FIRST_EVENTS 64

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

/* Row @i of a column in REEL_COL_RARE. */
static inline void put_rare(struct reel_event_columns *c, int col, uint32_t i,
			    int64_t value)
{
	int64_t *v = c->v[col];

	if (i && c->same >> col & 1) {
		if (value == v[0])
			return;
		for (uint32_t before = 1; before < i; before++)
			v[before] = v[0];
		c->same &= ~(1u << col);
	}
	v[i] = value;
}

int writer_block_add(struct reel_writer *w, const struct reel_event *ev,
		     int thread, struct reel_error *err)
{
	struct reel_event_columns *c;
	uint32_t i;

	if (reel_array_reach(&w->thread, &w->thread_room, ev->thread - 1,
			     sizeof(*w->thread), err))
		return -1;
	c = &w->thread[ev->thread - 1].cols;
	if (c->n == c->room && make_room(w, ev->thread, thread, err))
		return -1;
	i = c->n;
	if (!i) /* a difference is stored for FILE2: only 0 is one value */
		c->same =
			REEL_COL_RARE & ~(ev->file2 ? 1u << REEL_COL_FILE2 : 0);
	c->v[REEL_COL_START][i] = ev->start_ns;
	c->v[REEL_COL_DUR][i] = ev->dur_ns;
	c->v[REEL_COL_CALL][i] = ev->call;
	c->v[REEL_COL_FILE][i] = ev->file;
	put_rare(c, REEL_COL_FILE2, i, ev->file2);
	c->v[REEL_COL_OPEN][i] = ev->open;
	c->v[REEL_COL_FD][i] = ev->fd;
	put_rare(c, REEL_COL_FD2, i, ev->fd2);
	c->v[REEL_COL_OFFSET][i] = ev->offset;
	c->v[REEL_COL_ASKED][i] = ev->asked;
	c->v[REEL_COL_RESULT][i] = ev->result;
	put_rare(c, REEL_COL_ERR, i, ev->err);
	put_rare(c, REEL_COL_ARG, i, ev->arg);
	put_rare(c, REEL_COL_ARG2, i, ev->arg2);
	put_rare(c, REEL_COL_POS, i, ev->pos);
	put_rare(c, REEL_COL_COUNT, i, ev->count);
	c->n = i + 1;
	return 0;
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

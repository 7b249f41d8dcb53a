/* SPDX-License-Identifier: MIT */
/*
 * Events into blocks, thread by thread.
 *
 * Memory is bounded by a budget that the open threads share: with many of them
 * blocks are shorter and pack a little worse.
 */
#include "lib/error.h"

#include "analyzer/load/internal.h"

#define BUDGET_EVENTS (12 * REEL_BLOCK_EVENTS) /* 128 B each: 48 MiB */
#define LEAST_EVENTS 64

int load_block_flush(struct load *l, struct load_thread *t,
		     struct reel_error *err)
{
	struct reel_event_columns *c = &t->cols;
	struct reel_insert *out = &l->insert[INSERT_BLOCK];
	int64_t min = INT64_MAX, max = INT64_MIN;
	const void *blob;
	size_t len;

	if (!c->n)
		return 0;
	for (uint32_t i = 0; i < c->n; i++) {
		int64_t start = c->v[REEL_COL_START][i];
		int64_t end = start + c->v[REEL_COL_DUR][i];

		if (start < min)
			min = start;
		if (end > max)
			max = end;
	}
	if (reel_event_block_encode(l->codec, c, &blob, &len))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	reel_insert_int(out, t - l->thread + 1);
	reel_insert_int(out, c->n);
	reel_insert_int(out, min);
	reel_insert_int(out, max);
	reel_insert_blob(out, blob, len);
	c->n = 0;
	return reel_insert_done(out, err);
}

/* Events after which a thread's block ends. */
static uint32_t limit(const struct load *l)
{
	uint32_t share = BUDGET_EVENTS / (uint32_t)(l->active ? l->active : 1);

	if (share > REEL_BLOCK_EVENTS)
		return REEL_BLOCK_EVENTS;
	return share < LEAST_EVENTS ? LEAST_EVENTS : share;
}

static int make_room(struct load *l, struct load_thread *t,
		     struct reel_error *err)
{
	uint32_t most = limit(l), room = t->cols.room * 4;

	if (t->cols.n >= most) {
		if (load_block_flush(l, t, err))
			return -1;
		if (t->cols.room > 2 * most)
			reel_event_columns_fini(&t->cols);
		if (t->cols.room)
			return 0;
		room = most;
	}
	if (room < LEAST_EVENTS)
		room = LEAST_EVENTS;
	if (room > most)
		room = most;
	if (reel_event_columns_grow(&t->cols, room))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	return 0;
}

int load_block_add(struct load *l, struct load_thread *t,
		   const struct reel_event *ev, struct reel_error *err)
{
	struct reel_event_columns *c = &t->cols;
	uint32_t i = c->n;

	if (i == c->room) {
		if (make_room(l, t, err))
			return -1;
		i = c->n;
	}
	c->v[REEL_COL_START][i] = ev->start_ns;
	c->v[REEL_COL_DUR][i] = ev->dur_ns;
	c->v[REEL_COL_CALL][i] = ev->call;
	c->v[REEL_COL_FILE][i] = ev->file;
	c->v[REEL_COL_FILE2][i] = ev->file2;
	c->v[REEL_COL_OPEN][i] = ev->open;
	c->v[REEL_COL_FD][i] = ev->fd;
	c->v[REEL_COL_FD2][i] = ev->fd2;
	c->v[REEL_COL_OFFSET][i] = ev->offset;
	c->v[REEL_COL_ASKED][i] = ev->asked;
	c->v[REEL_COL_RESULT][i] = ev->result;
	c->v[REEL_COL_ERR][i] = ev->err;
	c->v[REEL_COL_ARG][i] = ev->arg;
	c->v[REEL_COL_ARG2][i] = ev->arg2;
	c->v[REEL_COL_POS][i] = ev->pos;
	c->v[REEL_COL_COUNT][i] = ev->count;
	c->n = i + 1;
	return 0;
}

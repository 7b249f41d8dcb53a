/* SPDX-License-Identifier: MIT */
/*
 * Open file descriptions into blocks, as they are closed: a run of them, put
 * in the order of open_id, so that a reader can search it.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/load/internal.h"

/* Ids of one block lie no farther apart, but for what was open for long. */
#define SPREAD_MOST (4 * REEL_BLOCK_EVENTS)

static int by_id(const void *a, const void *b)
{
	const struct reel_open_row *x = a, *y = b;

	return x->open_id < y->open_id ? -1 : x->open_id > y->open_id;
}

/*
 * The rows by open_id: @at[i] becomes the i-th. Ids are dense and each is there
 * once, so that a row finds its place alone: sorting takes ten times as long.
 * False: they are spread too far, or one is there twice.
 */
static bool place(uint32_t at[static SPREAD_MOST],
		  const struct reel_open_row *row, uint32_t rows)
{
	uint32_t min = UINT32_MAX, max = 0, n = 0;

	for (uint32_t i = 0; i < rows; i++) {
		min = row[i].open_id < min ? row[i].open_id : min;
		max = row[i].open_id > max ? row[i].open_id : max;
	}
	if (max - min >= SPREAD_MOST)
		return false;
	memset(at, 0, (max - min + 1) * sizeof(*at));
	for (uint32_t i = 0; i < rows; i++)
		at[row[i].open_id - min] = i + 1;
	for (uint32_t i = 0; i <= max - min; i++)
		if (at[i])
			at[n++] = at[i] - 1;
	return n == rows;
}

static int order(struct load *l, struct reel_error *err)
{
	if (!l->open_at)
		l->open_at = reel_alloc(SPREAD_MOST, sizeof(*l->open_at), err);
	if (!l->open_at)
		return -1;
	if (place(l->open_at, l->open, l->opens))
		return 0;
	qsort(l->open, l->opens, sizeof(*l->open), by_id);
	for (uint32_t i = 0; i < l->opens; i++)
		l->open_at[i] = i;
	return 0;
}

static void put(struct reel_event_columns *c, uint32_t i,
		const struct reel_open_row *row)
{
	bool no_start = row->open_ns == REEL_NO_OFFSET;
	bool no_end = row->close_ns == REEL_NO_OFFSET;

	c->v[REEL_COL_OPEN][i] = row->open_id;
	c->v[REEL_COL_FILE][i] = row->file_id;
	c->v[REEL_COL_CALL][i] = row->process_id;
	c->v[REEL_COL_FD][i] = row->fd;
	c->v[REEL_COL_ARG][i] = row->flags < 0 ? -1 : row->flags;
	c->v[REEL_COL_COUNT][i] = (no_start ? REEL_OPEN_NO_START : 0) |
				  (no_end ? REEL_OPEN_NO_END : 0);
	if (!no_start)
		c->v[REEL_COL_START][i] = row->open_ns;
	else if (!no_end)
		c->v[REEL_COL_START][i] = row->close_ns;
	else if (i) /* nothing is known: nothing has to be stored */
		c->v[REEL_COL_START][i] = c->v[REEL_COL_START][i - 1];
	if (!no_start && !no_end)
		c->v[REEL_COL_DUR][i] = row->close_ns - row->open_ns;
}

int load_open_flush(struct load *l, struct reel_error *err)
{
	struct reel_insert *out = &l->insert[INSERT_OPENS];
	struct reel_event_columns *c = &l->open_cols;
	const void *blob;
	size_t len;

	if (!l->opens)
		return 0;
	if (order(l, err))
		return -1;
	c->n = 0;
	if (reel_event_columns_grow(c, l->opens))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	c->n = l->opens;
	for (int col = 0; col < REEL_COLUMNS; col++)
		memset(c->v[col], 0, c->n * sizeof(*c->v[col]));
	for (uint32_t i = 0; i < l->opens; i++)
		put(c, i, &l->open[l->open_at[i]]);
	if (reel_event_block_encode(l->codec, c, &blob, &len))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	reel_insert_int(out, l->opens);
	reel_insert_int(out, c->v[REEL_COL_OPEN][0]);
	reel_insert_int(out, c->v[REEL_COL_OPEN][l->opens - 1]);
	reel_insert_blob(out, blob, len);
	l->opens = 0;
	return reel_insert_done(out, err);
}

int load_open_add(struct load *l, const struct reel_open_row *row,
		  struct reel_error *err)
{
	if (l->opens == l->open_room) {
		uint32_t room = l->open_room ? 2 * l->open_room : 64;

		if (reel_grow(&l->open, room, sizeof(*l->open), err))
			return -1;
		l->open_room = room;
	}
	l->open[l->opens++] = *row;
	return l->opens < REEL_BLOCK_EVENTS / 2 ? 0 : load_open_flush(l, err);
}

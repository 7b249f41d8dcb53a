/* SPDX-License-Identifier: MIT */
/*
 * Open file descriptions into blocks, as they are closed: each block is sorted
 * by open_id, so that a reader can search it.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/write/internal.h"

/* Ids of a block usually differ by less; a long-lived description is far off.
 */
#define SPREAD_MOST (4 * REEL_BLOCK_EVENTS)

static int by_id(const void *a, const void *b)
{
	const struct reel_open_row *x = a, *y = b;

	return x->open_id < y->open_id ? -1 : x->open_id > y->open_id;
}

/*
 * Sort the rows by open_id: @at[i] becomes the index of the i-th. Ids are dense
 * and unique, so each row is placed by its id: qsort() takes ten times as long.
 * False: the ids are spread too far, or two are equal.
 */
static bool place_by_id(uint32_t at[static SPREAD_MOST],
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

static int sort_opens(struct reel_writer *w, struct reel_error *err)
{
	if (!w->open_order)
		w->open_order =
			reel_alloc(SPREAD_MOST, sizeof(*w->open_order), err);
	if (!w->open_order)
		return -1;
	if (place_by_id(w->open_order, w->open, w->opens))
		return 0;
	qsort(w->open, w->opens, sizeof(*w->open), by_id);
	for (uint32_t i = 0; i < w->opens; i++)
		w->open_order[i] = i;
	return 0;
}

static void put_open(struct reel_event_columns *c, uint32_t i,
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
	else if (i) /* no time is known: repeat one, it compresses to nothing */
		c->v[REEL_COL_START][i] = c->v[REEL_COL_START][i - 1];
	if (!no_start && !no_end)
		c->v[REEL_COL_DUR][i] = row->close_ns - row->open_ns;
}

int writer_opens_flush(struct reel_writer *w, int thread,
		       struct reel_error *err)
{
	struct reel_event_columns *c = &w->open_cols;

	if (!w->opens)
		return 0;
	if (sort_opens(w, err))
		return -1;
	c->n = 0;
	if (reel_event_columns_grow(c, w->opens))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	c->n = w->opens;
	for (int col = 0; col < REEL_COLUMNS; col++)
		memset(c->v[col], 0, c->n * sizeof(*c->v[col]));
	for (uint32_t i = 0; i < w->opens; i++)
		put_open(c, i, &w->open[w->open_order[i]]);
	w->opens = 0;
	return writer_put_columns(w, INSERT_OPENS, 0, c, thread, err);
}

int writer_open_keep(struct reel_writer *w, const struct reel_open_row *row,
		     int thread, struct reel_error *err)
{
	if (w->opens == w->open_room) {
		uint32_t room = w->open_room ? 2 * w->open_room : 64;

		if (reel_grow(&w->open, room, sizeof(*w->open), err))
			return -1;
		w->open_room = room;
	}
	w->open[w->opens++] = *row;
	return w->opens < REEL_BLOCK_EVENTS / 2
		       ? 0
		       : writer_opens_flush(w, thread, err);
}

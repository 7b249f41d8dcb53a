/* SPDX-License-Identifier: MIT */
/*
 * Open file descriptions into blocks, as they are closed: a run of them, put
 * in the order of open_id, so that a reader can search it.
 */
#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/load_internal.h"

static int by_id(const void *a, const void *b)
{
	const struct reel_open_row *x = a, *y = b;

	return x->open_id < y->open_id ? -1 : x->open_id > y->open_id;
}

static void put(struct reel_columns *c, uint32_t i,
		const struct reel_open_row *row)
{
	bool no_start = row->open_ns == REEL_NO_OFFSET;
	bool no_end = row->close_ns == REEL_NO_OFFSET;

	for (int col = 0; col < REEL_COLUMNS; col++)
		c->v[col][i] = 0;
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
	struct reel_columns *c = &l->open_cols;
	const void *blob;
	size_t len;

	if (!l->opens)
		return 0;
	qsort(l->open, l->opens, sizeof(*l->open), by_id);
	c->n = 0;
	if (reel_columns_grow(c, l->opens))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	for (uint32_t i = 0; i < l->opens; i++)
		put(c, i, &l->open[i]);
	c->n = l->opens;
	if (reel_block_encode(l->codec, c, &blob, &len))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	reel_insert_int(out, l->opens);
	reel_insert_int(out, l->open[0].open_id);
	reel_insert_int(out, l->open[l->opens - 1].open_id);
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

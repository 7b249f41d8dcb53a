/* SPDX-License-Identifier: MIT */
/*
 * Event blocks: a run of one thread's events as compressed columns, the blob
 * in event_block.data. ioreel-store(5), "Blocks", is the specification.
 *
 * This file goes into ioreel_sqlite.so too, so it needs only SQLite and zstd.
 */
#ifndef LIB_STORE_EVENT_BLOCK_H
#define LIB_STORE_EVENT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/store/byte_planes.h" /* struct reel_codec */

/* The order is on disk. */
enum reel_column {
	REEL_COL_START,
	REEL_COL_DUR,
	REEL_COL_CALL,
	REEL_COL_FILE,
	REEL_COL_FILE2,
	REEL_COL_OPEN,
	REEL_COL_FD,
	REEL_COL_FD2,
	REEL_COL_OFFSET,
	REEL_COL_ASKED,
	REEL_COL_RESULT,
	REEL_COL_ERR,
	REEL_COL_ARG,
	REEL_COL_ARG2,
	REEL_COL_POS,
	REEL_COL_COUNT,
	REEL_COLUMNS
};
#define REEL_COL_ALL ((1u << REEL_COLUMNS) - 1)

#define REEL_BLOCK_EVENTS 32768 /* a writer ends a block here */
#define REEL_BLOCK_EVENTS_MAX REEL_PLANES_ROWS_MAX

/* Values of @n events by column; room for @room. Zeroed is valid and empty. */
struct reel_event_columns {
	uint32_t n;
	uint32_t room;
	int64_t *v[REEL_COLUMNS]; /* one allocation, at v[0] */
};

/* 0, or -1: no memory, and @c as it was. Keeps the first c->n events. */
int reel_event_columns_grow(struct reel_event_columns *c, uint32_t room);
void reel_event_columns_fini(struct reel_event_columns *c);

/*
 * Encode @c, in the order of the events' ends, as a blob that lives in @k until
 * the next call. 0, or -1: no memory.
 */
int reel_event_block_encode(struct reel_codec *k,
			    const struct reel_event_columns *c,
			    const void **blob, size_t *len);

/*
 * Decode the columns of @mask (and those they need) into @c. @nested: starts
 * are not in order. 0; or -1 with @why: the blob is damaged, or no memory.
 */
int reel_event_block_decode(struct reel_codec *k, const void *blob, size_t len,
			    uint32_t mask, struct reel_event_columns *c,
			    bool *nested, const char **why);

/*
 * Open file descriptions in a block of the same format, in the order of
 * open_id. Columns: OPEN, FILE, FD as they are; CALL process_id; ARG flags, -1:
 * not known; START open_ns, DUR until close_ns; COUNT says what of these two
 * is not known: a description without open_ns has START close_ns.
 */
#define REEL_OPEN_NO_START 1
#define REEL_OPEN_NO_END 2

#endif

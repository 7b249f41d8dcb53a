/* SPDX-License-Identifier: MIT */
/*
 * Event blocks: consecutive events of one thread as compressed columns, the
 * blob in event_block.data. Specification: ioreel-store(5), "Blocks".
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

/* Columns that are one value in most blocks. */
#define REEL_COL_RARE                                                          \
	(1u << REEL_COL_FILE2 | 1u << REEL_COL_FD2 | 1u << REEL_COL_ERR |      \
	 1u << REEL_COL_ARG | 1u << REEL_COL_ARG2 | 1u << REEL_COL_POS |       \
	 1u << REEL_COL_COUNT)

/*
 * Values of @n events by column; room for @room. Zeroed is valid and empty.
 * @same is a mask of columns whose values are all v[column][0], which alone is
 * set: a writer that fills a block event by event touches half of the memory.
 */
struct reel_event_columns {
	uint32_t n;
	uint32_t room;
	uint32_t same;
	int64_t *v[REEL_COLUMNS]; /* one allocation, at v[0] */
};

/* The values of column @col that are set: 1 or @n. */
static inline uint32_t
reel_event_columns_set(const struct reel_event_columns *c, int col)
{
	return c->same >> col & 1 ? 1 : c->n;
}

/* Make room for @room events; keeps the first c->n. 0, or -1: no memory, and @c
 * is unchanged. */
int reel_event_columns_grow(struct reel_event_columns *c, uint32_t room);
void reel_event_columns_fini(struct reel_event_columns *c);

/*
 * Encode @c, whose events are in the order of their ends, as a blob that is
 * valid in @k until the next call. 0, or -1: no memory.
 */
int reel_event_block_encode(struct reel_codec *k,
			    const struct reel_event_columns *c,
			    const void **blob, size_t *len);

/* A block being decoded, column by column. */
struct reel_event_block {
	struct reel_byte_planes planes;
	uint64_t first_start;
	uint32_t have; /* mask of columns that are decoded */
	bool nested;   /* starts are not in order */
};

/*
 * Read the head of @blob, which @b borrows, and make room for its events in
 * @c, empty so far. 0; or -1 with @why: the blob is damaged, or no memory.
 */
int reel_event_block_open(struct reel_codec *k, const void *blob, size_t len,
			  struct reel_event_block *b,
			  struct reel_event_columns *c, const char **why);
/* Decode into @c the columns of @mask that it lacks, and the columns they
 * depend on. 0, or -1 with @why: damaged. */
int reel_event_block_columns(struct reel_codec *k, struct reel_event_block *b,
			     uint32_t mask, struct reel_event_columns *c,
			     const char **why);

/*
 * Decode START, DUR and the columns of @mask into @c, all at once.
 * @nested: starts are not in order. 0; or -1 with @why: the blob is damaged, or
 * no memory.
 */
int reel_event_block_decode(struct reel_codec *k, const void *blob, size_t len,
			    uint32_t mask, struct reel_event_columns *c,
			    bool *nested, const char **why);

/*
 * Open file descriptions use a block of the same format, in the order of
 * open_id. Columns: OPEN, FILE and FD have their usual meaning; CALL is
 * process_id; ARG flags, -1: unknown; START open_ns, DUR the time until
 * close_ns. Bits in COUNT: open_ns or close_ns is unknown; a description
 * without open_ns has close_ns in START.
 */
#define REEL_OPEN_NO_START 1
#define REEL_OPEN_NO_END 2

#endif

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

struct sqlite3;

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
struct reel_columns {
	uint32_t n;
	uint32_t room;
	int64_t *v[REEL_COLUMNS]; /* one allocation, at v[0] */
};

/* 0, or -1: no memory, and @c as it was. Keeps the first c->n events. */
int reel_columns_grow(struct reel_columns *c, uint32_t room);
void reel_columns_fini(struct reel_columns *c);

/*
 * Encode @c, in the order of the events' ends, as a blob that lives in @k until
 * the next call. 0, or -1: no memory.
 */
int reel_block_encode(struct reel_codec *k, const struct reel_columns *c,
		      const void **blob, size_t *len);

/*
 * Decode the columns of @mask (and those they need) into @c. @nested: starts
 * are not in order. 0; or -1 with @why: the blob is damaged, or no memory.
 */
int reel_block_decode(struct reel_codec *k, const void *blob, size_t len,
		      uint32_t mask, struct reel_columns *c, bool *nested,
		      const char **why);

/*
 * Open file descriptions in a block of the same format, in the order of
 * open_id. Columns: OPEN, FILE, FD as they are; CALL process_id; ARG flags, -1:
 * not known; START open_ns, DUR until close_ns; COUNT says what of these two
 * is not known: a description without open_ns has START close_ns.
 */
#define REEL_OPEN_NO_START 1
#define REEL_OPEN_NO_END 2

/*
 * Walk over the events of a store's blocks, thread after thread, each thread
 * in the order of start.
 */
struct reel_walk;

struct reel_walk_range {
	int64_t thread;	 /* 0: all */
	int64_t process; /* 0: all */
	int64_t min_start_ns,
		max_start_ns; /* blocks outside are skipped; events
		outside may still come */
	uint32_t mask;	      /* columns wanted; START and DUR always come */
};

/* The event that the walk stands on. */
struct reel_walk_row {
	int64_t block_id;
	uint32_t thread, process;
	const struct reel_columns *cols;
	uint32_t at; /* in cols */
};

/* 0; or -1 with @why. Borrows @db until reel_walk_close(). */
int reel_walk_open(struct reel_walk **out, struct sqlite3 *db,
		   const struct reel_walk_range *range, const char **why);
/* 1 and @row, 0 at the end, -1 with @why. */
int reel_walk_next(struct reel_walk *w, struct reel_walk_row *row,
		   const char **why);
void reel_walk_close(struct reel_walk *w);

#endif

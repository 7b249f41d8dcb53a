/* SPDX-License-Identifier: MIT */
/*
 * A walk over the events of a store's blocks: thread after thread, each thread
 * in the order of start.
 *
 * This file goes into ioreel_sqlite.so too, so it needs only SQLite.
 */
#ifndef LIB_STORE_EVENT_WALK_H
#define LIB_STORE_EVENT_WALK_H

#include "lib/store/event_block.h"

struct sqlite3;

struct reel_event_walk;

struct reel_event_range {
	int64_t thread;	 /* 0: all */
	int64_t process; /* 0: all */
	/* Blocks outside are skipped; single events outside may be returned. */
	int64_t min_start_ns, max_start_ns;
	uint32_t mask; /* wanted columns; START and DUR are always included */
};

/* The current event of the walk. */
struct reel_event_row {
	int64_t block_id;
	uint32_t thread, process;
	const struct reel_event_columns *cols;
	uint32_t at; /* index in cols */
};

/* 0; or -1 with @why. Borrows @db until reel_event_walk_close(). */
int reel_event_walk_open(struct reel_event_walk **out, struct sqlite3 *db,
			 const struct reel_event_range *range,
			 const char **why);
/* 1 and @row, 0 at the end, -1 with @why. */
int reel_event_walk_next(struct reel_event_walk *w, struct reel_event_row *row,
			 const char **why);
void reel_event_walk_close(struct reel_event_walk *w);

#endif

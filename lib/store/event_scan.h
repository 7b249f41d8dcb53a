/* SPDX-License-Identifier: MIT */
/*
 * A scan of the events of a store, block after block, for SQL.
 *
 * It decodes the columns of its conditions first, and the other columns only of
 * blocks with a match. This file goes into ioreel_sqlite.so too, so it needs only
 * SQLite and zstd.
 */
#ifndef LIB_STORE_EVENT_SCAN_H
#define LIB_STORE_EVENT_SCAN_H

#include <stdlib.h>

#include "lib/store/event_block.h"

struct sqlite3;

/* A set of 32-bit ids, in pages: memory grows with the ids in it. */
#define REEL_IDSET_PAGES 65536

/* Zeroed is empty. */
struct reel_idset {
	uint64_t **page; /* of 65,536 ids each; NULL: none in it */
	uint32_t first, last;
};

static inline bool reel_idset_has(const struct reel_idset *s, int64_t id)
{
	uint64_t u = (uint64_t)id;
	const uint64_t *p;

	if (u > UINT32_MAX || !s->page)
		return false;
	p = s->page[u >> 16];
	return p && (p[(u & 0xffff) >> 6] >> (u & 63) & 1);
}

/* 0, or -1: no memory. An id beyond 32 bits is left out: no event has it. */
static inline int reel_idset_add(struct reel_idset *s, int64_t id)
{
	uint64_t u = (uint64_t)id;
	uint32_t at = (uint32_t)(u >> 16);

	if (u > UINT32_MAX)
		return 0;
	if (!s->page) {
		s->page = calloc(REEL_IDSET_PAGES, sizeof(*s->page));
		if (!s->page)
			return -1;
		s->first = s->last = at;
	}
	if (!s->page[at] && !(s->page[at] = calloc(1024, sizeof(uint64_t))))
		return -1;
	s->first = at < s->first ? at : s->first;
	s->last = at > s->last ? at : s->last;
	s->page[at][(u & 0xffff) >> 6] |= 1ull << (u & 63);
	return 0;
}

/* Remove all ids; the list of pages is kept. */
static inline void reel_idset_clear(struct reel_idset *s)
{
	for (uint32_t i = s->first; s->page && i <= s->last; i++) {
		free(s->page[i]);
		s->page[i] = NULL;
	}
	s->first = REEL_IDSET_PAGES - 1;
	s->last = 0;
}

static inline void reel_idset_fini(struct reel_idset *s)
{
	reel_idset_clear(s);
	free(s->page);
	s->page = NULL;
}

/* The wanted events; a set that is not asked for holds all. */
struct reel_event_wanted {
	int64_t min_start_ns, max_start_ns;
	bool by_thread, by_call, by_file;
	struct reel_idset thread, call, file;
	uint32_t mask; /* columns to decode */
};

struct reel_scan_block {
	int64_t block_id, thread, min_start_ns, max_end_ns;
};

struct reel_event_scan {
	struct reel_codec *codec;
	struct sqlite3_stmt *fetch;
	struct reel_scan_block *list; /* by thread and smallest start */
	size_t blocks, room, next;
	const struct reel_event_wanted *wanted;
	const struct reel_scan_block *on; /* block of the current row */
	const struct reel_scan_block *decoded;
	struct reel_event_block block;
	struct reel_event_columns cols;
	uint32_t *row, *spare; /* the wanted rows of the block, as indices */
	uint32_t rows, row_room;
	bool all; /* each row of the block is wanted, in its order */
};

/* 0; or -1 with @why. Borrows @db. Gives *@out. */
int reel_event_scan_open(struct reel_event_scan **out, struct sqlite3 *db,
			 const char **why);
/* Begin anew; borrows @wanted until the end of the scan. */
void reel_event_scan_start(struct reel_event_scan *s,
			   const struct reel_event_wanted *wanted);
/* Find the wanted rows of the next block that has any. 1; 0 at the end; -1 with
 * @why. */
int reel_event_scan_block(struct reel_event_scan *s, const char **why);
void reel_event_scan_close(struct reel_event_scan *s);

/* Order @n rows by @start; stable. @spare has room for as many. */
void reel_rows_by_start(uint32_t *row, uint32_t *spare, uint32_t n,
			const int64_t *start);

#endif

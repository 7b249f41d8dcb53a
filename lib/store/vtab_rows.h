/* SPDX-License-Identifier: MIT */
/*
 * A virtual table of rows with an id, stored in blocks: the description of a
 * table (vtab_tables.c), and the cursor over it (vtab_rows.c).
 */
#ifndef LIB_STORE_VTAB_ROWS_H
#define LIB_STORE_VTAB_ROWS_H

#include "lib/store/event_block.h"
#include "lib/store/row_block.h"
#include "lib/store/vtab.h"

struct reel_row_entry; /* a block, in the list and decoded */
struct reel_row_cursor;

struct reel_row_table {
	const char *module, *columns;
	const struct reel_row_kind *kind; /* of its blocks; NULL: open_block */
	const char *list, *fetch, *rows;  /* queries */
	/* block columns needed for the columns @used of a query */
	uint32_t (*mask)(uint64_t used);
	/* give the value of a column of the current row; 0, or -1 with @why */
	int (*value)(struct reel_row_cursor *c, sqlite3_context *ctx,
		     int column, const char **why);
};

struct reel_row_entry {
	int64_t block_id, min_id, max_id;
	int64_t most_id;   /* the largest max_id up to here */
	const int64_t *id; /* n ids, once decoded */
	uint32_t n;
	bool used; /* since the hand passed */
	size_t bytes;
	struct reel_event_columns columns; /* of open_file */
	struct reel_rows rows;		   /* of the other tables */
};

struct reel_row_cursor {
	sqlite3_vtab_cursor base;
	const struct reel_row_table *table;
	struct reel_codec *codec;
	sqlite3_stmt *fetch;
	struct reel_row_entry *entry; /* by min_id */
	size_t entries, room;
	size_t kept_bytes, hand;
	uint32_t mask;
	const struct reel_row_entry *on; /* block of the current row */
	uint32_t at;
	size_t next;  /* next entry of a scan */
	int64_t only; /* the wanted id; 0: all */
	bool end;
	struct reel_row_text text;
};

/* Register @table, which is static. Returns SQLite's result code. */
int reel_vtab_rows_add(sqlite3 *db, const struct reel_row_table *table);

#endif

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

/* The value of SQL that a number of a block becomes. */
enum reel_row_value {
	REEL_VALUE_NUMBER,
	REEL_VALUE_ID,		/* the id of the row, no column of the block */
	REEL_VALUE_TEXT,	/* the text of the row */
	REEL_VALUE_PLUS_ONE,	/* v - 1; 0: NULL */
	REEL_VALUE_SIGNED,	/* zigzag, + 1; 0: NULL */
	REEL_VALUE_BEFORE,	/* id - v; 0: NULL */
	REEL_VALUE_NOT_BELOW_0, /* NULL: negative */
	REEL_VALUE_KIND,	/* the name of an enum reel_kind */
	REEL_VALUE_CLASS,	/* the name of an enum reel_class */
	REEL_VALUE_OPEN_NS,	/* of an open file description */
	REEL_VALUE_CLOSE_NS,
};

struct reel_row_column {
	const char *name; /* NULL: the end */
	enum reel_row_value value;
	int from; /* column of the block */
};

#define REEL_ROW_TABLE_COLUMNS 16 /* the most, the end included */

struct reel_row_table {
	const char *module;
	const struct reel_row_kind *kind; /* of its blocks; NULL: open_block */
	const char *list, *fetch, *rows;  /* queries */
	struct reel_row_column column[REEL_ROW_TABLE_COLUMNS];
};

/* Files, by file_id; the C columns of its rows are those of file_block. */
extern const struct reel_row_table reel_row_table_file;

struct reel_row_entry { /* a block, in the list and decoded */
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

/* A cursor over @table for C. Gives *@out; reel_row_cursor_close() takes NULL.
 * 0, or -1 with @why. */
int reel_row_cursor_open(struct reel_row_cursor **out, sqlite3 *db,
			 const struct reel_row_table *table, const char **why);
void reel_row_cursor_close(struct reel_row_cursor *c);
/*
 * Go to the row with id @only, or to the first one (0), and decode the columns
 * of @mask; then c->end, or the row c->at of block c->on. 0, or -1 with @why.
 */
int reel_row_cursor_start(struct reel_row_cursor *c, uint32_t mask,
			  int64_t only, const char **why);
int reel_row_cursor_next(struct reel_row_cursor *c, const char **why);

/* Register @table, which is static. Returns SQLite's result code. */
int reel_vtab_rows_add(sqlite3 *db, const struct reel_row_table *table);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * An SQLite file of another program, read table by table. Nothing in it runs:
 * no view, trigger, virtual table or function of its schema. A compressed file
 * is unpacked into a temporary one first.
 */
#ifndef ANALYZER_IMPORT_NSYS_DB_H
#define ANALYZER_IMPORT_NSYS_DB_H

#include <stdbool.h>
#include <stdint.h>

struct nsys_db;
struct reel_error;
struct sqlite3_stmt;

/* Columns of a table, of which each may be absent. */
#define NSYS_COLUMNS_MOST 12

struct nsys_rows {
	struct sqlite3_stmt *statement; /* NULL: the table is absent */
	const char *table;
	struct nsys_db *db;
	int column[NSYS_COLUMNS_MOST]; /* of the table; -1: absent */
	uint64_t n;
};

/* Gives *@out for nsys_db_close(). 0, or -1 with @err: REEL_E_IO,
 * REEL_E_FORMAT. */
int nsys_db_open(struct nsys_db **out, const char *path,
		 struct reel_error *err);
void nsys_db_close(struct nsys_db *db); /* NULL too */

/*
 * Read table @table by @sql, "SELECT * FROM TABLE". @columns: names, ended by
 * NULL; they are numbered from 0. A table that is absent has no rows. 0, or -1.
 */
int nsys_rows_open(struct nsys_rows *rows, struct nsys_db *db,
		   const char *table, const char *sql,
		   const char *const *columns, struct reel_error *err);
void nsys_rows_close(struct nsys_rows *rows); /* zeroed too */
/* The next row. 1, 0 at the end, or -1 with @err: file, table and row. */
int nsys_rows_next(struct nsys_rows *rows, struct reel_error *err);
/* The integer of @column; false: it is absent, NULL or no integer. */
bool nsys_rows_int(const struct nsys_rows *rows, int column, int64_t *value);
/* The text of @column; NULL: absent or no text. Borrowed until the next row. */
const char *nsys_rows_text(const struct nsys_rows *rows, int column);

/* The text @id of table StringIds; NULL: none. Borrowed until the close. */
const char *nsys_db_string(const struct nsys_db *db, int64_t id);

/* Has the SQLite file @path, plain or compressed, tables of Nsight Systems? */
bool nsys_db_is_export(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/* Rows as an aligned table. */
#ifndef ANALYZER_EXPORT_ROWS_TABLE_H
#define ANALYZER_EXPORT_ROWS_TABLE_H

#include <sqlite3.h>

struct reel_error;

/*
 * Step @stmt to its end and print its rows on stdout. The widths come from the
 * first rows; a wider cell of a later row breaks the alignment of its row.
 * SQLITE_DONE or another code of SQLite; -1 with @err.
 */
int sql_table(sqlite3_stmt *stmt, struct reel_error *err);

#endif

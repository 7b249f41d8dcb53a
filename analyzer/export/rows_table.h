/* SPDX-License-Identifier: MIT */
/* Rows as an aligned table, for people. */
#ifndef ANALYZER_EXPORT_ROWS_TABLE_H
#define ANALYZER_EXPORT_ROWS_TABLE_H

#include <sqlite3.h>

struct reel_error;

/*
 * Step @stmt to its end, its rows on stdout. The widths are those of the first rows; later ones
 * that are wider stand out. SQLITE_DONE or what SQLite said; -1 with @err.
 */
int sql_table(sqlite3_stmt *stmt, struct reel_error *err);

#endif

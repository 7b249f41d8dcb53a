/* SPDX-License-Identifier: MIT */
/* Results of queries in the formats of ioreel-sql(1). */
#ifndef ANALYZER_EXPORT_ROWS_H
#define ANALYZER_EXPORT_ROWS_H

#include <stdio.h>

#include <sqlite3.h>

struct reel_error;

enum sql_format { SQL_TABLE, SQL_TSV, SQL_CSV, SQL_JSON };
#define SQL_FORMATS "table|tsv|csv|json"

/*
 * Step @stmt to its end and print its rows to @f; a statement without columns
 * prints nothing. 0, or -1 with @err (REEL_E_DB: the message of SQLite;
 * REEL_E_IO: @f cannot be written).
 */
int sql_output(FILE *f, sqlite3_stmt *stmt, enum sql_format format,
	       struct reel_error *err);

#endif

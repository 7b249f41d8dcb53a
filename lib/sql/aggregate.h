/* SPDX-License-Identifier: MIT */
/* Functions that ioreel adds to SQL. */
#ifndef LIB_SQL_AGGREGATE_H
#define LIB_SQL_AGGREGATE_H

#ifdef REEL_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

/* Register percentile(), hist_bin(), union_ns() and overlap_ns(), see
 * ioreel-sql(1). Returns SQLite's result code. */
int reel_aggregate_register(sqlite3 *db);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Functions of SQL that ioreel adds: percentile(), hist_bin(), union_ns() and
 * overlap_ns(), see ioreel-sql(1). This file goes into ioreel_sqlite.so too.
 */
#ifndef LIB_STORE_AGGREGATE_H
#define LIB_STORE_AGGREGATE_H

struct sqlite3;

/* Register them on @db. Returns SQLite's result code. */
int reel_aggregate_register(struct sqlite3 *db);

#endif

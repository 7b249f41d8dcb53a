/* SPDX-License-Identifier: MIT */
/*
 * The texts of schemas/. A store file holds every table and every view, so that
 * any SQLite program lists them. The tables of events, files and spans are
 * virtual: a program that has not loaded ioreel_sqlite.so reports
 * "no such module: ioreel_sqlite_event" for a view that needs them.
 */
#ifndef LIB_STORE_SCHEMA_H
#define LIB_STORE_SCHEMA_H

#include <stdio.h>

struct sqlite3;

/* Create everything in @sql, a text of schemas/. SQLite's result code. */
int reel_schema_create(struct sqlite3 *db, const char *sql);

/* Create what the store @db lacks of all texts: a load that only counts skips
 * metrics. SQLite's result code. */
int reel_schema_complete(struct sqlite3 *db);

/*
 * Override each view of the store @db whose text is not that of this program by
 * a temporary view: an older store gets columns that were added since, and a
 * store from elsewhere cannot redefine a figure. SQLite's result code.
 */
int reel_schema_override_views(struct sqlite3 *db);

/* Print the definition of table or view @name, or all when it is NULL. */
void reel_schema_show(FILE *out, const char *name);

#endif

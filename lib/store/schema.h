/* SPDX-License-Identifier: MIT */
/*
 * The texts of schemas/. A store has the tables that have rows; the views, and
 * the other tables, are made by whoever opens it, as temporary ones: a store
 * has no more than it needs, and an old one gets the views of today.
 */
#ifndef LIB_STORE_SCHEMA_H
#define LIB_STORE_SCHEMA_H

#include <stdio.h>

struct sqlite3;

/* Make the tables of @sql, a text of schemas/. SQLite's result code. */
int reel_schema_tables(struct sqlite3 *db, const char *sql);

/* Make what the store at @db lacks, of all texts. SQLite's result code. */
int reel_schema_rest(struct sqlite3 *db);

/* How table or view @name was made, or all when it is NULL. */
void reel_schema_show(FILE *out, const char *name);

#endif

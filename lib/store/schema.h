/* SPDX-License-Identifier: MIT */
/*
 * The texts of schemas/. A store file holds every table and every view, so that
 * any SQLite program lists them. The tables of events, files and spans are
 * virtual: a program that has not loaded ioreel_sqlite.so reports
 * "no such module: ioreel_sqlite_event" for a view that needs them.
 */
#ifndef LIB_STORE_SCHEMA_H
#define LIB_STORE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sqlite3;

/* Create all tables of @sql, a text of schemas/. SQLite's result code. */
int reel_schema_create(struct sqlite3 *db, const char *sql);

/* Create what the store @db lacks of all texts: its views, and the tables of the
 * metrics that a load skips, as one that only counts. SQLite's result code. */
int reel_schema_complete(struct sqlite3 *db);

/* Drop all views and triggers of @db. SQLite's result code. */
int reel_schema_drop_views(struct sqlite3 *db);

/*
 * Give each table of @db that this program knows the columns that it has here:
 * unknown ones are dropped, missing ones are NULL. Virtual tables are dropped,
 * for reel_schema_complete(). SQLite's result code.
 */
int reel_schema_conform(struct sqlite3 *db);

/*
 * Override the views of the store @db by temporary ones where the text of any is not
 * that of this program: an older store gets columns that were added since, and a store
 * from elsewhere cannot redefine a figure. A view in the file sees only others in the
 * file, so it is all of them or none. SQLite's result code.
 */
int reel_schema_override_views(struct sqlite3 *db);

/*
 * Stores of earlier versions (upgrade.c). Reading does not change a file: it is
 * copied into a temporary database, and the copy is brought to the schema of this
 * program.
 */

/* Can stores of @version be upgraded? If not, *@why says the reason, or is NULL
 * for a version that never was. */
bool reel_upgrade_known(int64_t version, const char **why);

/*
 * Copy @old, of @version, into the empty database @db, and upgrade that. Columns
 * that the version did not have are NULL, tables are empty; all views are those
 * of this program. SQLite's result code; the message is that of @db.
 */
int reel_upgrade_copy(struct sqlite3 *db, struct sqlite3 *old, int64_t version);

/* Print the definition of table or view @name, or all when it is NULL. */
void reel_schema_show(FILE *out, const char *name);

#endif

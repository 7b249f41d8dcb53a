/* SPDX-License-Identifier: MIT */
/*
 * ioreel_sqlite.so: the virtual tables of a store for any SQLite program.
 *
 * SQLite derives the name of the entry point from the file name: keep them in
 * step.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "lib/store/store.h"

__attribute__((visibility("default"))) int
sqlite3_ioreelsqlite_init(sqlite3 *db, char **message,
			  const sqlite3_api_routines *api);

int sqlite3_ioreelsqlite_init(sqlite3 *db, char **message,
			      const sqlite3_api_routines *api)
{
	SQLITE_EXTENSION_INIT2(api);
	return reel_vtab_register(db);
}

/* SPDX-License-Identifier: MIT */
/*
 * ioreel_sqlite.so: the virtual tables and the views for any SQLite program.
 *
 * SQLite derives the name of the entry point from the file name: keep them in
 * step.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include "lib/store/schema.h"
#include "lib/store/store.h"

__attribute__((visibility("default"))) int
sqlite3_ioreelsqlite_init(sqlite3 *db, char **message,
			  const sqlite3_api_routines *api);

/* Views are for stores only: their names may be in use in other databases. */
static bool is_store(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	bool is = sqlite3_prepare_v2(db, "PRAGMA main.application_id", -1,
				     &stmt, NULL) == SQLITE_OK &&
		  sqlite3_step(stmt) == SQLITE_ROW &&
		  sqlite3_column_int64(stmt, 0) == REEL_STORE_APPLICATION_ID;

	sqlite3_finalize(stmt);
	return is;
}

int sqlite3_ioreelsqlite_init(sqlite3 *db, char **message,
			      const sqlite3_api_routines *api)
{
	int rc;

	SQLITE_EXTENSION_INIT2(api);
	rc = reel_vtab_register(db);
	return rc == SQLITE_OK && is_store(db) ? reel_schema_rest(db) : rc;
}

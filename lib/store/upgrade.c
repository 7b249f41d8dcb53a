/* SPDX-License-Identifier: MIT */
/*
 * Stores of earlier versions: schemas/upgrade/N.sql leads from version N to the
 * next one; then tables and columns that are missing are added, empty.
 *
 * Columns were added, and some renamed, without a new version. So a statement of
 * upgrade/ may begin with "-- if TABLE.COLUMN" or "-- unless TABLE.COLUMN".
 */
#include "lib/store/schema.h"

#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/store/store.h"

static const char sql_2[] =
#include "schemas/upgrade/2.sql.inc"
	;
static const char sql_3[] =
#include "schemas/upgrade/3.sql.inc"
	;
static const char sql_4[] =
#include "schemas/upgrade/4.sql.inc"
	;

static const struct {
	const char *sql; /* NULL: no statement is needed */
	const char *why; /* it cannot be upgraded */
} versions[REEL_STORE_VERSION] = {
	[1] = {NULL, "its events are in blocks of a format that was replaced; "
		     "load its trace again (ioreel load TRACE -o STORE)"},
	[2] = {sql_2, NULL},
	[3] = {sql_3, NULL},
	[4] = {sql_4, NULL},
	[5] = {NULL, NULL}, /* its first programs wrote no evaluation_worker */
	[6] = {NULL, NULL}, /* its blocks have no sparse columns */
};

bool reel_upgrade_known(int64_t version, const char **why)
{
	*why = NULL;
	if (version < 1 || version >= REEL_STORE_VERSION)
		return false;
	*why = versions[version].why;
	return !*why;
}

static bool has_column(sqlite3 *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db, "main", table, column, NULL,
					     NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* Is the condition above the statement, between @text and @end, true? Of a table
 * that is missing none is. */
static bool condition_holds(sqlite3 *db, const char *text, const char *end)
{
	char table[64], column[64];

	for (const char *line = text; line < end;) {
		const char *next = strchr(line, '\n');
		bool unless = !strncmp(line, "-- unless ", 10);

		if ((unless || !strncmp(line, "-- if ", 6)) &&
		    sscanf(line + (unless ? 10 : 6),
			   "%63[a-z_0-9].%63[a-z_0-9]", table, column) == 2)
			return has_column(db, table, NULL) &&
			       has_column(db, table, column) != unless;
		line = next ? next + 1 : end;
	}
	return true;
}

/* Execute the statements of @sql whose conditions hold. */
static int run_upgrade(sqlite3 *db, const char *sql)
{
	int rc = SQLITE_OK;

	while (sql && *sql && rc == SQLITE_OK) {
		sqlite3_stmt *stmt = NULL;
		const char *end = strstr(sql, ";\n");

		if (!end)
			break;
		if (condition_holds(db, sql, end)) {
			rc = sqlite3_prepare_v2(db, sql, (int)(end - sql),
						&stmt, NULL);
			if (rc == SQLITE_OK &&
			    sqlite3_step(stmt) != SQLITE_DONE)
				rc = SQLITE_ERROR;
			sqlite3_finalize(stmt);
		}
		sql = end + 2;
	}
	return rc;
}

/* Copy all pages. A page size of its own would be refused, so @db is empty. */
static int copy_pages(sqlite3 *db, sqlite3 *old)
{
	sqlite3_backup *b = sqlite3_backup_init(db, "main", old, "main");

	if (!b)
		return sqlite3_errcode(db);
	sqlite3_backup_step(b, -1);
	return sqlite3_backup_finish(b);
}

int reel_upgrade_copy(struct sqlite3 *db, struct sqlite3 *old, int64_t version)
{
	/* No trigger or view of the file takes part, nor does its text. */
	static const char pragmas[] = "PRAGMA trusted_schema = OFF;"
				      "PRAGMA legacy_alter_table = ON;"
				      "PRAGMA foreign_keys = OFF;"
				      "PRAGMA journal_mode = OFF;"
				      "PRAGMA synchronous = OFF;"
				      "PRAGMA temp_store = FILE;";
	int rc = copy_pages(db, old);

	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, pragmas, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = reel_schema_drop_views(db);
	for (; rc == SQLITE_OK && version < REEL_STORE_VERSION; version++)
		rc = run_upgrade(db, versions[version].sql);
	if (rc == SQLITE_OK)
		rc = reel_schema_conform(db);
	return rc == SQLITE_OK ? reel_schema_complete(db) : rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * The texts of schemas/. A paragraph, up to an empty line, has one statement
 * with its comments, or describes a virtual table: "-- NAME(columns ...".
 *
 * In a small store comments, views and empty tables would be a fifth of all:
 * they stay here.
 * This file goes into ioreel_sqlite.so too, so it needs only SQLite.
 */
#include "lib/store/schema.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store/vtab.h"

static const char all_sql[] =
#include "schemas/all.sql.inc"
	;

#define VIEW "CREATE VIEW "
#define TABLE "CREATE TABLE "
#define TEMP_VIEW "CREATE TEMP VIEW IF NOT EXISTS "
#define TEMP_TABLE "CREATE TEMP TABLE IF NOT EXISTS "

/* Next to these a space says nothing. Not "-": two of them are a comment. */
static bool is_mark(char c)
{
	return c && strchr("(),;=<>*+/|", c);
}

/*
 * The statement at *@sql, moving behind it, without comments and the space that
 * it can do without, to @out. Returns its length, 0: there is none.
 */
static size_t statement(const char **sql, char *out)
{
	const char *p = *sql;
	bool space = false, quoted = false;
	size_t n = 0;

	for (; *p && (quoted || *p != ';'); p++) {
		if (!quoted && p[0] == '-' && p[1] == '-')
			p += strcspn(p, "\n");
		if (!*p)
			break;
		if (!quoted && isspace((unsigned char)*p)) {
			space = true;
			continue;
		}
		if (space && n && !is_mark(out[n - 1]) && !is_mark(*p))
			out[n++] = ' ';
		space = false;
		if (*p == '\'')
			quoted = !quoted;
		out[n++] = *p;
	}
	*sql = p + (*p == ';');
	out[n] = 0;
	return n;
}

/* Does @bare begin with @start? */
static bool begins(const char *bare, const char *start)
{
	return !strncmp(bare, start, strlen(start));
}

int reel_schema_tables(sqlite3 *db, const char *sql)
{
	char *bare = malloc(strlen(sql) + 1);
	int rc = bare ? SQLITE_OK : SQLITE_NOMEM;

	while (rc == SQLITE_OK && statement(&sql, bare))
		if (!begins(bare, VIEW))
			rc = sqlite3_exec(db, bare, NULL, NULL, NULL);
	free(bare);
	return rc;
}

/* Does @db have table NAME of "NAME(..." at @text itself? */
static bool has_table(sqlite3 *db, const char *text)
{
	char name[64];
	size_t n = strcspn(text, "(");

	if (n >= sizeof(name))
		return false;
	memcpy(name, text, n);
	name[n] = 0;
	return sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL,
					     NULL, NULL, NULL) == SQLITE_OK;
}

int reel_schema_rest(sqlite3 *db)
{
	const size_t room = sizeof(TEMP_VIEW) + sizeof(TEMP_TABLE);
	const char *sql = all_sql;
	char *text = malloc(room + sizeof(all_sql)), *bare = text + room;
	int rc = text ? SQLITE_OK : SQLITE_NOMEM;

	while (rc == SQLITE_OK && statement(&sql, bare)) {
		const char *start;
		char *todo = bare;

		if (begins(bare, VIEW)) {
			todo += strlen(VIEW);
			start = TEMP_VIEW;
		} else if (begins(bare, TABLE) &&
			   !has_table(db, bare + strlen(TABLE))) {
			todo += strlen(TABLE);
			start = TEMP_TABLE;
		} else {
			continue;
		}
		todo -= strlen(start);
		memcpy(todo, start, strlen(start));
		rc = sqlite3_exec(db, todo, NULL, NULL, NULL);
	}
	free(text);
	return rc;
}

/* Does @line, behind @start, name @name? */
static bool names(const char *line, const char *start, const char *name)
{
	size_t len = strlen(start), name_len = strlen(name);

	if (strncmp(line, start, len) || strncmp(line + len, name, name_len))
		return false;
	line += len + name_len;
	return !isalnum((unsigned char)*line) && *line != '_';
}

/* Is the paragraph at @p, up to @end, about @name? */
static bool is_about(const char *p, const char *end, const char *name)
{
	static const char *const starts[] = {
		"CREATE TABLE ",
		"CREATE VIEW ",
		"CREATE INDEX ",
		"-- ",
	};

	while (p < end) {
		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
			if (names(p, starts[i], name))
				return true;
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return false;
}

void reel_schema_show(FILE *out, const char *name)
{
	const char *p = all_sql;

	while (*p) {
		const char *end = strstr(p, "\n\n");

		end = end ? end + 2 : p + strlen(p);
		if (!name || is_about(p, end, name))
			fwrite(p, 1, (size_t)(end - p), out);
		p = end;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The texts of schemas/: a statement begins with CREATE at the start of a line,
 * ends with a semicolon at the end of a line, and has its description above it.
 * Paragraphs are separated by an empty line.
 */
#include "lib/store/schema.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include <sqlite3.h>

static const char all_sql[] =
#include "schemas/all.sql.inc"
	;

#define VIEW "CREATE VIEW "

struct statement {
	const char *text;
	int len; /* without the semicolon */
	char name[64];
};

/* Find the first statement at or after *@at and move *@at behind it. */
static bool next_statement(const char **at, struct statement *s)
{
	const char *p = *at, *end;

	if (strncmp(p, "CREATE ", 7)) {
		p = strstr(p, "\nCREATE ");
		if (!p)
			return false;
		p++;
	}
	end = strstr(p, ";\n");
	if (!end || sscanf(p, "CREATE %*[A-Z ]%63[a-z0-9_]", s->name) != 1)
		return false;
	s->text = p;
	s->len = (int)(end - p);
	*at = end + 1;
	return true;
}

static bool is_view(const struct statement *s)
{
	return !strncmp(s->text, VIEW, strlen(VIEW));
}

static int run(sqlite3 *db, const char *sql, int len)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, len, &stmt, NULL);

	if (rc == SQLITE_OK && sqlite3_step(stmt) != SQLITE_DONE)
		rc = SQLITE_ERROR;
	sqlite3_finalize(stmt);
	return rc;
}

/* Look up the text that the file has for the name of @s: NULL if it has none.
 * Borrowed from @lookup until its next use. */
static const char *text_in_file(sqlite3_stmt *lookup, const struct statement *s)
{
	sqlite3_reset(lookup);
	sqlite3_bind_text(lookup, 1, s->name, -1, SQLITE_STATIC);
	if (sqlite3_step(lookup) != SQLITE_ROW)
		return NULL;
	return (const char *)sqlite3_column_text(lookup, 0);
}

static int prepare_lookup(sqlite3 *db, sqlite3_stmt **out)
{
	return sqlite3_prepare_v2(
		db, "SELECT sql FROM main.sqlite_schema WHERE name = ?1", -1,
		out, NULL);
}

int reel_schema_create(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int reel_schema_complete(sqlite3 *db)
{
	const char *at = all_sql;
	sqlite3_stmt *lookup = NULL;
	struct statement s;
	int rc = prepare_lookup(db, &lookup);

	while (rc == SQLITE_OK && next_statement(&at, &s)) {
		bool has = text_in_file(lookup, &s);

		sqlite3_reset(lookup);
		if (!has)
			rc = run(db, s.text, s.len);
	}
	sqlite3_finalize(lookup);
	return rc;
}

static int create_temp_view(sqlite3 *db, const struct statement *s)
{
	int skip = (int)strlen(VIEW), rc;
	char *sql = sqlite3_mprintf("CREATE TEMP VIEW %.*s", s->len - skip,
				    s->text + skip);

	if (!sql)
		return SQLITE_NOMEM;
	rc = run(db, sql, -1);
	sqlite3_free(sql);
	return rc;
}

int reel_schema_override_views(sqlite3 *db)
{
	const char *at = all_sql;
	sqlite3_stmt *lookup = NULL;
	struct statement s;
	int rc = prepare_lookup(db, &lookup);

	while (rc == SQLITE_OK && next_statement(&at, &s)) {
		const char *text;
		bool same;

		if (!is_view(&s))
			continue;
		text = text_in_file(lookup, &s);
		same = text && !strncmp(text, s.text, (size_t)s.len) &&
		       !text[s.len];
		sqlite3_reset(lookup);
		if (!same)
			rc = create_temp_view(db, &s);
	}
	sqlite3_finalize(lookup);
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
		"CREATE TABLE ", "CREATE VIRTUAL TABLE ",
		"CREATE VIEW ",	 "CREATE INDEX ",
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

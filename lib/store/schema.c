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
#define VIRTUAL "CREATE VIRTUAL TABLE "
#define INDEX "CREATE INDEX "

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
	struct statement s;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && next_statement(&sql, &s))
		if (!is_view(&s))
			rc = run(db, s.text, s.len);
	return rc;
}

/* Write view @s as a row, as VACUUM does: to execute it, SQLite would parse its
 * text twice and read the whole schema. */
static int put_view(sqlite3_stmt *insert, const struct statement *s)
{
	sqlite3_reset(insert);
	sqlite3_bind_text(insert, 1, s->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 2, s->text, s->len, SQLITE_STATIC);
	return sqlite3_step(insert) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
}

static int complete(sqlite3 *db, sqlite3_stmt *lookup, sqlite3_stmt *insert)
{
	const char *at = all_sql;
	struct statement s;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && next_statement(&at, &s)) {
		bool has = text_in_file(lookup, &s);

		sqlite3_reset(lookup);
		if (!has)
			rc = is_view(&s) ? put_view(insert, &s)
					 : run(db, s.text, s.len);
	}
	return rc;
}

int reel_schema_complete(sqlite3 *db)
{
	static const char put[] =
		"INSERT INTO main.sqlite_schema(type, name, tbl_name, "
		"rootpage, sql) VALUES ('view', ?1, ?1, 0, ?2)";
	sqlite3_stmt *lookup = NULL, *insert = NULL;
	int rc = run(db, "PRAGMA writable_schema = ON", -1);

	if (rc == SQLITE_OK)
		rc = prepare_lookup(db, &lookup);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, put, -1, &insert, NULL);
	if (rc == SQLITE_OK)
		rc = complete(db, lookup, insert);
	sqlite3_finalize(lookup);
	sqlite3_finalize(insert);
	/* SQLite reads the schema again when it needs it */
	if (rc == SQLITE_OK)
		rc = run(db, "PRAGMA writable_schema = RESET", -1);
	return rc;
}

/* Execute the text that query @sql gives as its first column, for each row.
 * Column 1 of the query is bound to @name. */
static int run_each(sqlite3 *db, const char *sql, const char *name)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL),
	    step = SQLITE_ROW;
	sqlite3_str *all = sqlite3_str_new(db);
	char *text;

	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt))
		sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (step = sqlite3_step(stmt)) == SQLITE_ROW)
		sqlite3_str_appendf(all, "%s;", sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	text = sqlite3_str_finish(all);
	if (rc == SQLITE_OK && step != SQLITE_DONE)
		rc = SQLITE_ERROR;
	if (rc == SQLITE_OK && text)
		rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	sqlite3_free(text);
	return rc;
}

int reel_schema_drop_views(sqlite3 *db)
{
	static const char drop[] =
		"SELECT printf('DROP %s main.\"%w\"', type, name) FROM "
		"main.sqlite_schema WHERE type IN ('trigger', 'view') "
		"ORDER BY type";

	return run_each(db, drop, NULL);
}

/* The columns of table @name, as text: NULL, there is none, or no memory. */
static char *columns_of(sqlite3 *db, const char *name)
{
	static const char sql[] =
		"SELECT group_concat(name) FROM pragma_table_info(?1, 'main')";
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW &&
		    sqlite3_column_type(stmt, 0) != SQLITE_NULL)
			text = sqlite3_mprintf("%s",
					       sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return text;
}

/* Make the table of @s anew, with the columns of this program, from "before". A
 * column that the table lacks may be NULL. */
static int remake_table(sqlite3 *db, const struct statement *s)
{
	static const char copy[] =
		"SELECT printf('INSERT INTO main.%w (%s) SELECT %s FROM "
		"main.before', ?1, list, list) FROM (SELECT "
		"group_concat(printf('\"%w\"', n.name)) AS list FROM "
		"pragma_table_info(?1, 'main') n JOIN "
		"pragma_table_info('before', 'main') USING (name)) "
		"WHERE list IS NOT NULL";
	char *text = sqlite3_mprintf("%.*s", s->len, s->text);
	int rc = text ? SQLITE_OK : SQLITE_NOMEM;

	for (char *p = text; p && (p = strstr(p, "NOT NULL"));)
		memset(p, ' ', strlen("NOT NULL"));
	if (rc == SQLITE_OK)
		rc = run(db, text, -1);
	sqlite3_free(text);
	if (rc == SQLITE_OK)
		rc = run_each(db, copy, s->name);
	return rc == SQLITE_OK ? run(db, "DROP TABLE main.before", -1) : rc;
}

/* Conform the table of @s; @model has it as this program makes it. */
static int conform_table(sqlite3 *db, sqlite3 *model, const struct statement *s)
{
	char *have = columns_of(db, s->name), *want, *text;
	int rc;

	if (!have)
		return SQLITE_OK;
	if (!strncmp(s->text, VIRTUAL, strlen(VIRTUAL))) {
		text = sqlite3_mprintf("DROP TABLE main.\"%w\"", s->name);
		rc = run(db, text, -1);
		sqlite3_free(text);
		sqlite3_free(have);
		return rc;
	}
	rc = run(model, s->text, s->len);
	want = columns_of(model, s->name);
	if (rc == SQLITE_OK && want && strcmp(have, want)) {
		text = sqlite3_mprintf(
			"ALTER TABLE main.\"%w\" RENAME TO before", s->name);
		rc = run(db, text, -1);
		sqlite3_free(text);
		if (rc == SQLITE_OK)
			rc = remake_table(db, s);
	}
	sqlite3_free(have);
	sqlite3_free(want);
	return rc;
}

int reel_schema_conform(sqlite3 *db)
{
	const char *at = all_sql;
	sqlite3 *model = NULL;
	struct statement s;
	int rc = sqlite3_open(":memory:", &model);

	while (rc == SQLITE_OK && next_statement(&at, &s))
		if (!is_view(&s) && strncmp(s.text, INDEX, strlen(INDEX)))
			rc = conform_table(db, model, &s);
	sqlite3_close(model);
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

/* Does the file have each view with the text of this program? */
static int has_all_views(sqlite3 *db, bool *out)
{
	const char *at = all_sql;
	sqlite3_stmt *lookup = NULL;
	struct statement s;
	int rc = prepare_lookup(db, &lookup);

	*out = true;
	while (rc == SQLITE_OK && *out && next_statement(&at, &s)) {
		const char *text;

		if (!is_view(&s))
			continue;
		text = text_in_file(lookup, &s);
		*out = text && !strncmp(text, s.text, (size_t)s.len) &&
		       !text[s.len];
	}
	sqlite3_finalize(lookup);
	return rc;
}

int reel_schema_override_views(sqlite3 *db)
{
	const char *at = all_sql;
	struct statement s;
	bool all;
	int rc = has_all_views(db, &all);

	while (rc == SQLITE_OK && !all && next_statement(&at, &s))
		if (is_view(&s))
			rc = create_temp_view(db, &s);
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

/* Is the paragraph at @p, up to @end, about @name? Its comment begins with a name;
 * later lines of it may be "-- source: ...". */
static bool is_about(const char *p, const char *end, const char *name)
{
	static const char *const starts[] = {
		"CREATE TABLE ",
		"CREATE VIRTUAL TABLE ",
		"CREATE VIEW ",
		"CREATE INDEX ",
	};

	if (names(p, "-- ", name))
		return true;
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

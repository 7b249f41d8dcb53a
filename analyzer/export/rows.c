/* SPDX-License-Identifier: MIT */
/*
 * Rows as TSV, CSV and JSON, streamed; tables are in rows_table.c.
 *
 * A file name may hold any byte. TSV and CSV keep the bytes; JSON has to be
 * UTF-8, so a byte of a broken name becomes \xNN.
 */
#include "analyzer/export/rows.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/json.h"

#include "analyzer/export/rows_table.h"

static void put_blob(FILE *f, sqlite3_stmt *stmt, int i)
{
	const unsigned char *p = sqlite3_column_blob(stmt, i);
	int n = sqlite3_column_bytes(stmt, i);

	fputs("x'", f);
	for (int k = 0; k < n; k++)
		fprintf(f, "%02x", p[k]);
	fputc('\'', f);
}

static void put_tsv(FILE *f, const char *s, size_t n)
{
	static const char special[] = "\t\n\r\\", letter[] = "tnr\\";
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const char *p = s[i] ? strchr(special, s[i]) : NULL;

		if (!p)
			continue;
		fwrite(s + from, 1, i - from, f);
		fputc('\\', f);
		fputc(letter[p - special], f);
		from = i + 1;
	}
	fwrite(s + from, 1, n - from, f);
}

static void put_csv(FILE *f, const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && !strchr("\",\r\n", s[i]))
		i++;
	if (i == n && n) {
		fwrite(s, 1, n, f);
		return;
	}
	/* empty text is quoted, NULL is empty */
	fputc('"', f);
	for (i = 0; i < n; i++) {
		if (s[i] == '"')
			fputc('"', f);
		fputc(s[i], f);
	}
	fputc('"', f);
}

static void put_plain(FILE *f, sqlite3_stmt *stmt, int i,
		      void (*put)(FILE *, const char *, size_t))
{
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_NULL:
		break;
	case SQLITE_BLOB:
		put_blob(f, stmt, i);
		break;
	case SQLITE_INTEGER:
		fprintf(f, "%lld", (long long)sqlite3_column_int64(stmt, i));
		break;
	default: {
		const char *s = (const char *)sqlite3_column_text(stmt, i);

		put(f, s ? s : "", (size_t)sqlite3_column_bytes(stmt, i));
	}
	}
}

static int print_plain(FILE *f, sqlite3_stmt *stmt, char between,
		       void (*put)(FILE *, const char *, size_t))
{
	int n = sqlite3_column_count(stmt), rc;

	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(stmt, i);

		if (i)
			fputc(between, f);
		put(f, name ? name : "", name ? strlen(name) : 0);
	}
	fputc('\n', f);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		for (int i = 0; i < n; i++) {
			if (i)
				fputc(between, f);
			put_plain(f, stmt, i, put);
		}
		fputc('\n', f);
	}
	return rc;
}

/* Append any bytes as a JSON string. */
static int json_text(struct reel_buf *b, const char *s, size_t len,
		     struct reel_error *err)
{
	json_t *j = reel_json_text(s, len);
	char *dump = json_dumps(j, JSON_ENCODE_ANY);
	int rc;

	json_decref(j);
	if (!dump)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	rc = reel_buf_puts(b, dump, err);
	free(dump);
	return rc;
}

/* Append "name": for column @i; a repeated name gets ":2", ":3". */
static int json_key(struct reel_buf *b, sqlite3_stmt *stmt, int i,
		    struct reel_error *err)
{
	const char *name = sqlite3_column_name(stmt, i);
	struct reel_buf full = REEL_BUF_INIT;
	int same = 1, rc = -1;

	name = name ? name : "";
	for (int k = 0; k < i; k++) {
		const char *other = sqlite3_column_name(stmt, k);

		same += other && !strcmp(other, name);
	}
	if (reel_buf_puts(&full, name, err) ||
	    (same > 1 && reel_buf_printf(&full, err, ":%d", same)) ||
	    json_text(b, reel_buf_text(&full), full.len, err) ||
	    reel_buf_puts(b, ":", err))
		goto out;
	rc = 0;
out:
	reel_buf_fini(&full);
	return rc;
}

static int json_value(struct reel_buf *b, sqlite3_stmt *stmt, int i,
		      struct reel_error *err)
{
	const char *s;
	double d;

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_NULL:
		return reel_buf_puts(b, "null", err);
	case SQLITE_INTEGER:
		return reel_buf_printf(
			b, err, "%lld",
			(long long)sqlite3_column_int64(stmt, i));
	case SQLITE_FLOAT:
		d = sqlite3_column_double(stmt, i);
		if (!isfinite(d))
			return reel_buf_puts(b, "null", err);
		return reel_buf_puts(
			b, (const char *)sqlite3_column_text(stmt, i), err);
	case SQLITE_BLOB: {
		const unsigned char *p = sqlite3_column_blob(stmt, i);
		int n = sqlite3_column_bytes(stmt, i);

		if (reel_buf_puts(b, "\"x'", err))
			return -1;
		for (int k = 0; k < n; k++)
			if (reel_buf_printf(b, err, "%02x", p[k]))
				return -1;
		return reel_buf_puts(b, "'\"", err);
	}
	default:
		s = (const char *)sqlite3_column_text(stmt, i);
		return json_text(b, s ? s : "",
				 (size_t)sqlite3_column_bytes(stmt, i), err);
	}
}

/* SQLITE_DONE or another code of SQLite; -1 with @err. */
static int print_json(FILE *f, sqlite3_stmt *stmt, struct reel_error *err)
{
	int n = sqlite3_column_count(stmt), rc = -1, step;
	struct reel_buf *key = reel_alloc((size_t)n + 1, sizeof(*key), err);
	struct reel_buf row = REEL_BUF_INIT;
	bool first = true;

	if (!key)
		return -1;
	for (int i = 0; i < n; i++)
		if (json_key(&key[i], stmt, i, err))
			goto out;
	fputs("[", f);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		reel_buf_reset(&row);
		for (int i = 0; i < n; i++)
			if (reel_buf_puts(&row, i ? "," : "{", err) ||
			    reel_buf_puts(&row, reel_buf_text(&key[i]), err) ||
			    json_value(&row, stmt, i, err))
				goto out;
		fprintf(f, "%s\n", first ? "" : ",");
		fwrite(row.data, 1, row.len, f);
		fputc('}', f);
		first = false;
	}
	fputs(first ? "]\n" : "\n]\n", f);
	rc = step;
out:
	for (int i = 0; i < n; i++)
		reel_buf_fini(&key[i]);
	free(key);
	reel_buf_fini(&row);
	return rc;
}

int sql_output(FILE *f, sqlite3_stmt *stmt, enum sql_format format,
	       struct reel_error *err)
{
	int rc;

	if (!sqlite3_column_count(stmt))
		rc = sqlite3_step(stmt);
	else if (format == SQL_TSV)
		rc = print_plain(f, stmt, '\t', put_tsv);
	else if (format == SQL_CSV)
		rc = print_plain(f, stmt, ',', put_csv);
	else if (format == SQL_JSON)
		rc = print_json(f, stmt, err);
	else
		rc = sql_table(stmt, err);
	if (rc == -1)
		return -1;
	if (rc == SQLITE_AUTH)
		return reel_fail(err, REEL_E_DB, "the store is read-only");
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		return reel_fail(err, REEL_E_DB, "%s",
				 sqlite3_errmsg(sqlite3_db_handle(stmt)));
	if ((fflush(f) || ferror(f)) && errno != EPIPE)
		return reel_fail(err, REEL_E_IO,
				 "cannot write to standard output: %s",
				 strerror(errno));
	return 0;
}

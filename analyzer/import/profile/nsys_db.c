/* SPDX-License-Identifier: MIT */
/*
 * An SQLite file of another program, table by table. SQLite survives damage,
 * but a file can be made so that its tree has rows without end: their number is
 * bounded by the size of the file.
 */
#include "analyzer/import/profile/nsys_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/source.h"

#define MAGIC "SQLite format 3"
#define HEAD_BYTES 100
#define COPY_BYTES (256u << 10)
#define ROW_BYTES_LEAST 4 /* of a row in the file */
#define VALUE_BYTES_MOST (1 << 20)
#define DEFLATE_MOST 1100 /* bytes of a compressed byte, at most */

struct nsys_db {
	sqlite3 *sql;
	char *path; /* as the user named it */
	uint64_t bytes;
	/* StringIds */
	struct reel_intmap by_id;
	char **string;
	uint32_t strings, string_room;
};

static int damaged(const struct nsys_db *db, const char *table, uint64_t row,
		   const char *why, struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is damaged in table %s after row %llu: %s",
			 db->path, table, (unsigned long long)row, why);
}

/* --- open ----------------------------------------------------------------- */

/* SQLite reads a file that is shorter than its head says until it finds out. */
static int check_size(struct nsys_db *db, const char *file,
		      struct reel_error *err)
{
	uint8_t head[HEAD_BYTES] = {0};
	FILE *f = fopen(file, "rb");
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;
	uint64_t page, pages;
	struct stat st;
	int rc = f ? fstat(fileno(f), &st) : -1;

	if (f)
		fclose(f);
	if (rc)
		return reel_fail_io(err, "open", db->path, errno);
	if (n < HEAD_BYTES || memcmp(head, MAGIC, sizeof(MAGIC)))
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' is no SQLite file (offset 0)", db->path);
	db->bytes = (uint64_t)st.st_size;
	page = (uint64_t)head[16] << 8 | head[17];
	page = page == 1 ? 65536 : page;
	pages = (uint64_t)head[28] << 24 | (uint64_t)head[29] << 16 |
		(uint64_t)head[30] << 8 | head[31];
	return page * pages <= db->bytes
		       ? 0
		       : reel_fail(err, REEL_E_FORMAT,
				   "'%s' is damaged at offset %llu: it is cut "
				   "off (%llu bytes are missing)",
				   db->path, (unsigned long long)db->bytes,
				   (unsigned long long)(page * pages -
							db->bytes));
}

static int copy_source(struct reel_source *source, int fd, uint64_t most,
		       struct reel_error *err)
{
	char *buf = reel_alloc(COPY_BYTES, 1, err);
	uint64_t done = 0;
	int64_t n = buf ? 1 : -1;

	while (n > 0) {
		n = reel_source_read(source, buf, COPY_BYTES, err);
		if (n <= 0)
			break;
		done += (uint64_t)n;
		if (done > most)
			n = reel_fail(
				err, REEL_E_FORMAT,
				"'%s' is damaged at offset %llu: "
				"it grows without end",
				reel_source_path(source),
				(unsigned long long)reel_source_offset(source));
		else if (write(fd, buf, (size_t)n) != n)
			n = reel_fail(err, REEL_E_IO,
				      "cannot write a temporary file of %llu "
				      "bytes: %m",
				      (unsigned long long)done);
	}
	free(buf);
	return n < 0 ? -1 : 0;
}

/* Is the file SQLite as it is? 1; 0: compressed; or -1. */
static int is_plain(const char *path, struct reel_error *err)
{
	char head[sizeof(MAGIC)] = "";
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;

	if (!f)
		return reel_fail_io(err, "open", path, errno);
	fclose(f);
	return n == sizeof(head) && !memcmp(head, MAGIC, sizeof(MAGIC));
}

/* Unpack @path into a temporary file, whose name is added to @name. */
static int unpack(const char *path, struct reel_buf *name,
		  struct reel_error *err)
{
	const char *dir = getenv("TMPDIR");
	struct reel_source *source = NULL;
	int fd, rc = -1;
	struct stat st;

	if (stat(path, &st) || reel_source_open(&source, path, err))
		return reel_fail_io(err, "open", path, errno);
	if (reel_buf_printf(name, err, "%s/ioreel.XXXXXX",
			    dir && *dir ? dir : "/tmp"))
		goto out;
	fd = mkstemp(name->data);
	if (fd < 0) {
		reel_fail_io(err, "create", name->data, errno);
		reel_buf_reset(name);
		goto out;
	}
	rc = copy_source(source, fd,
			 (uint64_t)st.st_size * DEFLATE_MOST + COPY_BYTES, err);
	close(fd);
	if (rc)
		unlink(name->data);
out:
	reel_source_close(source);
	return rc;
}

/* Only reads of tables, and no function: the schema may name some. */
static int authorize(void *arg, int action, const char *a, const char *b,
		     const char *database, const char *trigger)
{
	return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK
								: SQLITE_DENY;
}

static void set_limits(sqlite3 *sql)
{
	sqlite3_db_config(sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_limit(sql, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MOST);
	sqlite3_limit(sql, SQLITE_LIMIT_SQL_LENGTH, 100000);
	sqlite3_limit(sql, SQLITE_LIMIT_COLUMN, 200);
	sqlite3_limit(sql, SQLITE_LIMIT_EXPR_DEPTH, 50);
	sqlite3_limit(sql, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(sql, SQLITE_LIMIT_VDBE_OP, 25000);
	sqlite3_set_authorizer(sql, authorize, NULL);
}

/* "immutable": no lock, journal or log beside the file is looked at. */
static int open_sqlite(struct nsys_db *db, const char *file,
		       struct reel_error *err)
{
	struct reel_buf uri = REEL_BUF_INIT;
	int rc = reel_buf_puts(&uri, "file:", err);

	for (const char *p = file; *p && !rc; p++)
		rc = strchr("%?#", *p) ? reel_buf_printf(&uri, err, "%%%02x",
							 (unsigned char)*p)
				       : reel_buf_add(&uri, p, 1, err);
	if (!rc)
		rc = reel_buf_puts(&uri, "?immutable=1", err);
	if (!rc && sqlite3_open_v2(reel_buf_text(&uri), &db->sql,
				   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
				   NULL) != SQLITE_OK)
		rc = reel_fail(err, REEL_E_IO, "cannot open '%s': %s", db->path,
			       sqlite3_errmsg(db->sql));
	if (!rc)
		set_limits(db->sql);
	reel_buf_fini(&uri);
	return rc;
}

/* --- rows ----------------------------------------------------------------- */

int nsys_rows_open(struct nsys_rows *rows, struct nsys_db *db,
		   const char *table, const char *sql,
		   const char *const *columns, struct reel_error *err)
{
	int n;

	*rows = (struct nsys_rows){.db = db, .table = table};
	for (int i = 0; i < NSYS_COLUMNS_MOST; i++)
		rows->column[i] = -1;
	if (sqlite3_table_column_metadata(db->sql, NULL, table, NULL, NULL,
					  NULL, NULL, NULL,
					  NULL) != SQLITE_OK) {
		int code = sqlite3_errcode(db->sql);

		return code == SQLITE_ERROR
			       ? 0
			       : damaged(db, table, 0, sqlite3_errmsg(db->sql),
					 err);
	}
	if (sqlite3_prepare_v2(db->sql, sql, -1, &rows->statement, NULL) !=
	    SQLITE_OK)
		return damaged(db, table, 0, sqlite3_errmsg(db->sql), err);
	n = sqlite3_column_count(rows->statement);
	for (int c = 0; columns[c] && c < NSYS_COLUMNS_MOST; c++)
		for (int i = 0; i < n; i++)
			if (!sqlite3_stricmp(
				    sqlite3_column_name(rows->statement, i),
				    columns[c]))
				rows->column[c] = i;
	return 0;
}

void nsys_rows_close(struct nsys_rows *rows)
{
	sqlite3_finalize(rows->statement);
	rows->statement = NULL;
}

int nsys_rows_next(struct nsys_rows *rows, struct reel_error *err)
{
	struct nsys_db *db = rows->db;

	if (!rows->statement)
		return 0;
	switch (sqlite3_step(rows->statement)) {
	case SQLITE_DONE:
		return 0;
	case SQLITE_ROW:
		if (++rows->n <= db->bytes / ROW_BYTES_LEAST)
			return 1;
		return damaged(db, rows->table, rows->n,
			       "more rows than the file can hold", err);
	default:
		return damaged(db, rows->table, rows->n,
			       sqlite3_errmsg(db->sql), err);
	}
}

bool nsys_rows_int(const struct nsys_rows *rows, int column, int64_t *value)
{
	int i = rows->column[column];

	if (i < 0 || sqlite3_column_type(rows->statement, i) != SQLITE_INTEGER)
		return false;
	*value = sqlite3_column_int64(rows->statement, i);
	return true;
}

const char *nsys_rows_text(const struct nsys_rows *rows, int column)
{
	int i = rows->column[column];

	if (i < 0 || sqlite3_column_type(rows->statement, i) != SQLITE_TEXT)
		return NULL;
	return (const char *)sqlite3_column_text(rows->statement, i);
}

/* --- strings -------------------------------------------------------------- */

static int add_string(struct nsys_db *db, int64_t id, const char *text,
		      struct reel_error *err)
{
	uint32_t i = reel_intmap_get(&db->by_id, (uint64_t)id, err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&db->string, &db->string_room, i,
			     sizeof(*db->string), err))
		return -1;
	if (i < db->strings)
		return 0; /* ids are unique */
	db->strings++;
	db->string[i] = reel_strdup(text, err);
	return db->string[i] ? 0 : -1;
}

static int read_strings(struct nsys_db *db, struct reel_error *err)
{
	static const char *const columns[] = {"id", "value", NULL};
	struct nsys_rows rows = {0};
	uint64_t bytes = 0;
	int64_t id;
	int more = nsys_rows_open(&rows, db, "StringIds",
				  "SELECT * FROM StringIds", columns, err);

	while (!more && (more = nsys_rows_next(&rows, err)) > 0) {
		const char *text = nsys_rows_text(&rows, 1);

		more = 0;
		if (!text || !nsys_rows_int(&rows, 0, &id))
			continue;
		bytes += strlen(text);
		more = bytes > db->bytes
			       ? damaged(db, "StringIds", rows.n,
					 "more text than the file can hold",
					 err)
			       : add_string(db, id, text, err);
	}
	nsys_rows_close(&rows);
	return more;
}

const char *nsys_db_string(const struct nsys_db *db, int64_t id)
{
	uint32_t i = reel_intmap_find(&db->by_id, (uint64_t)id);

	return i == REEL_NO_INDEX ? NULL : db->string[i];
}

/* A virtual table would run code of SQLite with the words of its schema. */
static int check_schema(struct nsys_db *db, struct reel_error *err)
{
	static const char *const columns[] = {"name", "sql", NULL};
	static const char begin[] = "CREATE VIRTUAL";
	struct nsys_rows rows = {0};
	int more = nsys_rows_open(&rows, db, "sqlite_master",
				  "SELECT * FROM sqlite_master", columns, err);

	while (!more && (more = nsys_rows_next(&rows, err)) > 0) {
		const char *name = nsys_rows_text(&rows, 0);
		const char *sql = nsys_rows_text(&rows, 1);

		more = 0;
		if (sql && !strncasecmp(sql, begin, strlen(begin)))
			more = reel_fail(
				err, REEL_E_FORMAT,
				"'%s' has a virtual table %.60s, which "
				"Nsight Systems does not make",
				db->path, name ? name : "");
	}
	nsys_rows_close(&rows);
	return more;
}

int nsys_db_open(struct nsys_db **out, const char *path, struct reel_error *err)
{
	struct nsys_db *db = reel_alloc(1, sizeof(*db), err);
	struct reel_buf name = REEL_BUF_INIT;
	int plain = -1, rc = -1;

	if (!db || !(db->path = reel_strdup(path, err)))
		goto out;
	plain = is_plain(path, err);
	if (plain < 0 || (!plain && unpack(path, &name, err)))
		goto out;
	if (!check_size(db, plain ? path : reel_buf_text(&name), err) &&
	    !open_sqlite(db, plain ? path : reel_buf_text(&name), err))
		rc = 0;
	if (!plain)
		unlink(reel_buf_text(&name)); /* SQLite has it open */
	if (!rc)
		rc = check_schema(db, err) || read_strings(db, err) ? -1 : 0;
out:
	reel_buf_fini(&name);
	if (rc)
		nsys_db_close(db);
	else
		*out = db;
	return rc;
}

void nsys_db_close(struct nsys_db *db)
{
	if (!db)
		return;
	for (uint32_t i = 0; i < db->strings; i++)
		free(db->string[i]);
	free(db->string);
	reel_intmap_fini(&db->by_id);
	sqlite3_close(db->sql);
	free(db->path);
	free(db);
}

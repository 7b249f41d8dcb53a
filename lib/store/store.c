/* SPDX-License-Identifier: MIT */
/*
 * The store: an SQLite file that is written under another name and renamed.
 *
 * It is written without a journal and without sync: an incomplete file is removed,
 * so there is nothing to roll back to.
 */
#include "lib/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/output.h"
#include "lib/store/schema.h"

static const char store_sql[] =
#include "schemas/store.sql.inc"
	;

/* For writing: fast, bounded memory, no second file. Pages as the kernel's: with 1024
 * bytes a load takes 10 % more time and a scan of all events 7 %. The tables of few
 * rows take 130 kB more, until shrink(). */
static const char write_pragmas[] = "PRAGMA page_size = 4096;"
				    "PRAGMA journal_mode = OFF;"
				    "PRAGMA synchronous = OFF;"
				    "PRAGMA locking_mode = EXCLUSIVE;"
				    "PRAGMA cache_size = -2048;"
				    "PRAGMA temp_store = FILE;";

/* Each table has a page of its own: in a small store empty ones are half of
 * it. */
#define SMALL_BYTES (2 << 20)
static const char shrink_pragmas[] = "PRAGMA temp_store = MEMORY;"
				     "PRAGMA page_size = 512;"
				     "VACUUM;";

/* For reading: the file may come from elsewhere and be hostile. */
static const char read_pragmas[] = "PRAGMA trusted_schema = OFF;"
				   "PRAGMA cell_size_check = ON;"
				   "PRAGMA query_only = ON;";

#define DB_HEADER_BYTES 100
#define DB_MAGIC "SQLite format 3"
#define DB_APPLICATION_ID_AT 68

enum file_type { FILE_ABSENT, FILE_EMPTY, FILE_STORE, FILE_OTHER, FILE_BAD };

/* Classify the file at @path; FILE_BAD with errno set when it cannot be read. */
static enum file_type file_type(const char *path)
{
	unsigned char head[DB_HEADER_BYTES];
	enum file_type type = FILE_BAD;
	struct stat st;
	uint32_t id;
	ssize_t n;
	int fd;

	if (stat(path, &st))
		return errno == ENOENT ? FILE_ABSENT : FILE_BAD;
	if (!S_ISREG(st.st_mode))
		return FILE_OTHER;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return FILE_BAD;
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		goto out;
	if (n == 0) {
		type = FILE_EMPTY;
		goto out;
	}
	type = FILE_OTHER;
	if ((size_t)n < sizeof(head) ||
	    memcmp(head, DB_MAGIC, sizeof(DB_MAGIC)))
		goto out;
	id = (uint32_t)head[DB_APPLICATION_ID_AT] << 24 |
	     (uint32_t)head[DB_APPLICATION_ID_AT + 1] << 16 |
	     (uint32_t)head[DB_APPLICATION_ID_AT + 2] << 8 |
	     head[DB_APPLICATION_ID_AT + 3];
	if (id == REEL_STORE_APPLICATION_ID)
		type = FILE_STORE;
out:
	close(fd);
	return type;
}

static int db_fail(struct reel_store *st, const char *what,
		   struct reel_error *err)
{
	return reel_fail(err, REEL_E_DB, "cannot %s store '%s': %s", what,
			 st->path, sqlite3_errmsg(st->db));
}

static int run_sql(struct reel_store *st, const char *sql, const char *what,
		   struct reel_error *err)
{
	if (sqlite3_exec(st->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(st, what, err);
	return 0;
}

/* The tables, in a fresh database at @file ("": temporary, gone at close). */
static int create_in(struct reel_store *st, const char *file,
		     struct reel_error *err)
{
	/* No mutex: only one thread uses it, and a lock at each bound value costs
	 * 7 % of a small load. */
	if (sqlite3_open_v2(file, &st->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				    SQLITE_OPEN_NOMUTEX,
			    *file ? NULL : reel_store_vfs()) != SQLITE_OK)
		return db_fail(st, "create", err);
	if (reel_vtab_register(st->db) != SQLITE_OK ||
	    run_sql(st, write_pragmas, "create", err) ||
	    run_sql(st, "BEGIN EXCLUSIVE", "create", err) ||
	    reel_schema_create(st->db, store_sql) != SQLITE_OK)
		return db_fail(st, "create", err);
	/* application_id and user_version are REEL_STORE_* */
	return run_sql(st,
		       "PRAGMA application_id = 1768911409;"
		       "PRAGMA user_version = 7;",
		       "create", err);
}
_Static_assert(REEL_STORE_APPLICATION_ID == 1768911409, "as in the pragma");
_Static_assert(REEL_STORE_VERSION == 7, "as in the pragma");

int reel_store_create(struct reel_store **out, const char *path,
		      struct reel_error *err)
{
	struct reel_store *st = reel_alloc(1, sizeof(*st), err);
	struct reel_buf tmp = REEL_BUF_INIT;
	int rc = -1;

	if (!st || !(st->path = reel_strdup(path, err)))
		goto out;
	switch (file_type(path)) {
	case FILE_OTHER:
		reel_fail(err, REEL_E_IO,
			  "cannot create store '%s': it exists "
			  "and is not a store",
			  path);
		goto out;
	case FILE_BAD:
		reel_fail_io(err, "create store", path, errno);
		goto out;
	default:
		break;
	}
	st->target = reel_output_path(path, err);
	if (!st->target || reel_buf_printf(&tmp, err, "%s.tmp.%ld", st->target,
					   (long)getpid()))
		goto out;
	/* remove a stale one of a reused pid; open() reports why it cannot */
	unlink(tmp.data);
	int fd = open(tmp.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		reel_fail_io(err, "create store", path, errno);
		goto out;
	}
	close(fd);
	st->tmp = tmp.data;
	tmp.data = NULL;
	if (create_in(st, st->tmp, err))
		goto out;
	*out = st;
	st = NULL;
	rc = 0;
out:
	reel_buf_fini(&tmp);
	reel_store_close(st);
	return rc;
}

int reel_store_temporary(struct reel_store **out, const char *name,
			 struct reel_error *err)
{
	struct reel_store *st = reel_alloc(1, sizeof(*st), err);

	if (!st || !(st->path = reel_strdup(name, err)) ||
	    create_in(st, "", err)) {
		reel_store_close(st);
		return -1;
	}
	*out = st;
	return 0;
}

static int shrink(struct reel_store *st, struct reel_error *err)
{
	struct stat file;

	/* of the file: for PRAGMA page_count SQLite would read the schema */
	if (stat(st->tmp, &file))
		return reel_fail_io(err, "create store", st->path, errno);
	if (file.st_size > SMALL_BYTES)
		return 0;
	return run_sql(st, shrink_pragmas, "write", err);
}

int reel_store_finish(struct reel_store *st, struct reel_error *err)
{
	if (run_sql(st, "COMMIT", "write", err) ||
	    (st->tmp && shrink(st, err)) || run_sql(st, "BEGIN", "write", err))
		return -1;
	/* last, as SQLite would parse the views to shrink */
	if (reel_schema_complete(st->db) != SQLITE_OK)
		return db_fail(st, "write", err);
	if (run_sql(st, "COMMIT", "write", err))
		return -1;
	if (st->tmp && rename(st->tmp, st->target))
		return reel_fail_io(err, "create store", st->path, errno);
	free(st->tmp);
	st->tmp = NULL;
	return run_sql(st, read_pragmas, "read", err);
}

static int fail_version(struct reel_store *st, int64_t version, const char *why,
			struct reel_error *err)
{
	if (version < 1)
		return reel_fail(err, REEL_E_FORMAT,
				 "cannot read store '%s': "
				 "it has no version",
				 st->path);
	return reel_fail(err, REEL_E_VERSION,
			 "cannot read store '%s': "
			 "it has version %lld, this program reads %d%s%s",
			 st->path, (long long)version, REEL_STORE_VERSION,
			 why ? ": " : "", why ? why : "");
}

/* Go on with an upgraded copy of the store, which is of @version. */
static int open_copy(struct reel_store *st, int64_t version,
		     struct reel_error *err)
{
	sqlite3 *copy = NULL;
	int rc = sqlite3_open_v2(
		"", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (rc == SQLITE_OK)
		rc = reel_vtab_register(copy);
	if (rc == SQLITE_OK)
		rc = reel_upgrade_copy(copy, st->db, version);
	if (rc != SQLITE_OK)
		reel_fail(err, REEL_E_DB,
			  "cannot upgrade store '%s' of version %lld: %s",
			  st->path, (long long)version, sqlite3_errmsg(copy));
	sqlite3_close_v2(st->db);
	st->db = copy;
	return rc == SQLITE_OK ? 0 : -1;
}

/* Refuse other versions, and upgrade earlier ones. */
static int check_version(struct reel_store *st, struct reel_error *err)
{
	const char *why = NULL;
	int64_t version;
	bool has;

	if (reel_store_int(st, "PRAGMA user_version", &version, &has, err))
		return -1;
	if (version == REEL_STORE_VERSION)
		return 0;
	if (!reel_upgrade_known(version, &why))
		return fail_version(st, version, why, err);
	return open_copy(st, version, err);
}

static int fail_type(const char *path, struct reel_error *err)
{
	struct stat st;

	if (stat(path, &st) ||
	    access(path, S_ISDIR(st.st_mode) ? R_OK | X_OK : R_OK))
		return reel_fail_io(err, "open", path, errno);
	if (S_ISREG(st.st_mode) && !st.st_size)
		return reel_fail(err, REEL_E_FORMAT, "'%s' is empty", path);
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is neither a trace nor a store, nor a log in a "
			 "format that ioreel import --list shows",
			 path);
}

int reel_store_open(struct reel_store **out, const char *path,
		    struct reel_error *err)
{
	struct reel_store *st = reel_alloc(1, sizeof(*st), err);
	int rc = -1;

	if (!st || !(st->path = reel_strdup(path, err)))
		goto out;
	switch (file_type(path)) {
	case FILE_STORE:
		break;
	case FILE_ABSENT:
		errno = ENOENT;
		/* fall through */
	case FILE_BAD:
		reel_fail_io(err, "open", path, errno);
		goto out;
	default:
		fail_type(path, err);
		goto out;
	}
	if (sqlite3_open_v2(path, &st->db, SQLITE_OPEN_READONLY,
			    reel_store_vfs()) != SQLITE_OK ||
	    reel_vtab_register(st->db) != SQLITE_OK) {
		db_fail(st, "open", err);
		goto out;
	}
	sqlite3_busy_timeout(st->db, 2000);
	if (check_version(st, err))
		goto out;
	sqlite3_db_config(st->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (reel_schema_override_views(st->db) != SQLITE_OK) {
		db_fail(st, "open", err);
		goto out;
	}
	if (run_sql(st, read_pragmas, "open", err))
		goto out;
	*out = st;
	st = NULL;
	rc = 0;
out:
	reel_store_close(st);
	return rc;
}

void reel_store_close(struct reel_store *st)
{
	if (!st)
		return;
	sqlite3_close_v2(st->db);
	if (st->tmp)
		unlink(st->tmp);
	free(st->tmp);
	free(st->target);
	free(st->path);
	free(st);
}

int reel_store_prepare(struct reel_store *st, sqlite3_stmt **out,
		       const char *sql, struct reel_error *err)
{
	if (sqlite3_prepare_v3(st->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out,
			       NULL) != SQLITE_OK)
		return db_fail(st, "query", err);
	return 0;
}

int reel_store_int(struct reel_store *st, const char *sql, int64_t *value,
		   bool *has, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = -1, step;

	*has = false;
	*value = 0;
	if (reel_store_prepare(st, &stmt, sql, err))
		return -1;
	step = sqlite3_step(stmt);
	if (step == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
		*value = sqlite3_column_int64(stmt, 0);
		*has = true;
	}
	if (step == SQLITE_ROW || step == SQLITE_DONE)
		rc = 0;
	else
		db_fail(st, "query", err);
	sqlite3_finalize(stmt);
	return rc;
}

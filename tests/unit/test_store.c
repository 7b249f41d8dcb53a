/* SPDX-License-Identifier: MIT */
/*
 * The life of a store: it appears when it is complete, destroys no other file,
 * and reports clear errors; and its events in both orders.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/store/event_block.h"
#include "analyzer/metric/metric.h"
#include "analyzer/run/run.h"
#include "lib/store/row_block.h"
#include "lib/store/schema.h"
#include "lib/store/store.h"
#include "lib/error.h"
#include "tests/lib/tap.h"

static char dir[] = "/tmp/ioreel-store.XXXXXX";

static int file_exists(const char *name)
{
	return access(name, F_OK) == 0;
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	fputs(text, f);
	fclose(f);
}

static int files_here(void)
{
	FILE *p = popen("ls -A | wc -l", "r");
	int n = -1;

	if (fscanf(p, "%d", &n) != 1)
		n = -1;
	pclose(p);
	return n;
}

static void test_life(void)
{
	struct reel_error err = {0};
	struct reel_store *st = NULL;

	ok(!reel_store_create(&st, "a.db", &err), "create %s", err.text);
	ok(!file_exists("a.db") && files_here() == 1,
	   "the store does not exist yet");
	reel_store_close(st);
	is(files_here(), 0, "closed before finish: no file is left");
	reel_store_create(&st, "a.db", &err);
	ok(!reel_store_finish(st, &err) && file_exists("a.db"),
	   "finished: there");
	ok(sqlite3_exec(st->db, "DELETE FROM run", NULL, NULL, NULL),
	   "and for reading only");
	reel_store_close(st);
	is(files_here(), 1, "one file, no journal");
	reel_store_create(&st, "a.db", &err);
	ok(file_exists("a.db"),
	   "the old store stays while a new one is written");
	ok(!reel_store_finish(st, &err), "and is replaced %s", err.text);
	reel_store_close(st);
}

static void expect_error(int rc, struct reel_error *err,
			 enum reel_error_code code, const char *text)
{
	ok(rc == -1 && err->code == code && strstr(err->text, text), "%s",
	   err->text);
	memset(err, 0, sizeof(*err));
}

static void test_refusals(void)
{
	struct reel_error err = {0};
	struct reel_store *st = NULL;
	sqlite3 *db;

	write_file("notes.txt",
		   "mine, and longer than a header of a hundred "
		   "bytes, so that it is read as far as one would be ........");
	expect_error(reel_store_create(&st, "notes.txt", &err), &err, REEL_E_IO,
		     "exists and is not a store");
	expect_error(reel_store_open(&st, "notes.txt", &err), &err,
		     REEL_E_FORMAT,
		     "'notes.txt' is neither a trace nor a store");
	expect_error(reel_run_open(&st, "notes.txt", &err), &err, REEL_E_FORMAT,
		     "neither");
	expect_error(reel_run_open(&st, ".", &err), &err, REEL_E_FORMAT,
		     "neither");
	expect_error(reel_run_open(&st, "nowhere", &err), &err, REEL_E_IO,
		     "No such file");
	expect_error(reel_store_create(&st, "no/dir/a.db", &err), &err,
		     REEL_E_IO, "No such file");
	sqlite3_open("other.db", &db);
	sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL);
	sqlite3_close(db);
	expect_error(reel_store_create(&st, "other.db", &err), &err, REEL_E_IO,
		     "not a store");
	expect_error(reel_store_open(&st, "other.db", &err), &err,
		     REEL_E_FORMAT, "neither");
	sqlite3_open("a.db", &db);
	sqlite3_exec(db, "PRAGMA user_version = 9", NULL, NULL, NULL);
	sqlite3_close(db);
	expect_error(reel_store_open(&st, "a.db", &err), &err, REEL_E_VERSION,
		     "it has version 9, this program reads 7");
	sqlite3_open("a.db", &db);
	sqlite3_exec(db, "PRAGMA user_version = 1", NULL, NULL, NULL);
	sqlite3_close(db);
	expect_error(reel_store_open(&st, "a.db", &err), &err, REEL_E_VERSION,
		     "it has version 1, this program reads 7: its events are "
		     "in blocks of a format that was replaced; load its trace "
		     "again");
	write_file("empty", "");
	ok(!reel_store_create(&st, "empty", &err), "an empty file may go %s",
	   err.text);
	reel_store_close(st);
	ok(truncate("a.db", 2000) == 0, "a truncated store");
	expect_error(reel_store_open(&st, "a.db", &err), &err, REEL_E_DB,
		     "a.db");
}

static void add_file(struct reel_rows *r, enum reel_kind kind,
		     enum reel_class class_, uint64_t size, const char *path)
{
	r->id[r->n] = r->n + 1;
	r->v[REEL_FILE_KIND][r->n] = kind;
	r->v[REEL_FILE_CLASS][r->n] = class_;
	r->v[REEL_FILE_SIZE][r->n] = size;
	reel_rows_text_add(r, "", 0, path, strlen(path));
	r->n++;
}

/* Files: 1, a pipe of unknown size, and 2, a checkpoint of 5 bytes. */
static void make_files(struct reel_store *st, struct reel_codec *k)
{
	struct reel_rows r = {0};
	sqlite3_stmt *stmt = NULL;
	const void *blob;
	size_t len;

	reel_rows_begin(&r, &reel_row_file, 2);
	add_file(&r, REEL_KIND_PIPE, REEL_CLASS_PIPE, 0, "/p");
	add_file(&r, REEL_KIND_FILE, REEL_CLASS_CHECKPOINT, 6, "/f");
	reel_rows_encode(k, &r, &blob, &len);
	sqlite3_prepare_v2(st->db,
			   "INSERT INTO file_block VALUES "
			   "(NULL, 2, 1, 2, ?)",
			   -1, &stmt, NULL);
	sqlite3_bind_blob64(stmt, 1, blob, len, SQLITE_TRANSIENT);
	sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	reel_rows_fini(&r);
}

/* Thread 1: [0,100] around [10,20] and [30,40]; thread 2: [15,35]. */
/* Thread 2 has one event, of @dur_ns from @start_ns on. */
static void make_events(struct reel_store *st, int64_t start_ns, int64_t dur_ns)
{
	static const int64_t t1[][2] = {{10, 10}, {30, 10}, {0, 100}};
	const int64_t t2[][2] = {{start_ns, dur_ns}};
	struct reel_codec *k = reel_codec_new();

	make_files(st, k);
	sqlite3_exec(
		st->db,
		"INSERT INTO host VALUES (1, 'h', 'b');"
		"INSERT INTO call VALUES (24, 'read', 'POSIX', 'read', 0);"
		"INSERT INTO process VALUES (7, 1, NULL, 1, NULL, 'main', "
		"'', '', '', NULL, NULL, 0, 100, 'exit', 4, 0, 0, 0, 0, NULL);"
		"INSERT INTO thread VALUES (1, 7, 1, 0, 100, 3, 0), "
		"(2, 7, 2, 0, 35, 1, 0);",
		NULL, NULL, NULL);
	for (int t = 1; t <= 2; t++) {
		struct reel_event_columns c = {0};
		sqlite3_stmt *stmt = NULL;
		const void *blob;
		size_t len;

		reel_event_columns_grow(&c, 8);
		c.n = t == 1 ? 3 : 1;
		for (uint32_t i = 0; i < c.n; i++) {
			const int64_t *e = t == 1 ? t1[i] : t2[i];

			for (int col = 0; col < REEL_COLUMNS; col++)
				c.v[col][i] = 0;
			c.v[REEL_COL_START][i] = e[0];
			c.v[REEL_COL_DUR][i] = e[1];
			c.v[REEL_COL_CALL][i] = 24;
			c.v[REEL_COL_FILE][i] = t == 1 ? i + 1 : 99;
			c.v[REEL_COL_OFFSET][i] = REEL_NO_OFFSET;
			c.v[REEL_COL_FD2][i] = -1;
			c.v[REEL_COL_POS][i] = REEL_NO_OFFSET;
			c.v[REEL_COL_RESULT][i] = 12;
		}
		reel_event_block_encode(k, &c, &blob, &len);
		sqlite3_prepare_v2(st->db,
				   "INSERT INTO event_block VALUES "
				   "(NULL, ?, ?, ?, 100, ?)",
				   -1, &stmt, NULL);
		sqlite3_bind_int(stmt, 1, t);
		sqlite3_bind_int64(stmt, 2, c.n);
		sqlite3_bind_int64(stmt, 3, t == 1 ? 0 : 15);
		sqlite3_bind_blob64(stmt, 4, blob, len, SQLITE_TRANSIENT);
		sqlite3_step(stmt);
		sqlite3_finalize(stmt);
		reel_event_columns_fini(&c);
	}
	reel_codec_free(k);
}

static void order(struct reel_store *st, uint32_t thread, const char *want)
{
	struct reel_error err = {0};
	struct reel_events *it = NULL;
	struct reel_event ev;
	char got[128] = "";
	size_t n = 0;
	int rc = reel_events_open(&it, st, thread, &err);

	while (!rc && (rc = reel_events_next(it, &ev, &err)) == 1) {
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%lld ",
				      (long long)ev.start_ns);
		rc = 0;
	}
	ok(!rc && !strcmp(got, want), "thread %u: %s%s", thread, got, err.text);
	reel_events_close(it);
}

static void test_events(void)
{
	struct reel_error err = {0};
	struct reel_store *st = NULL;
	struct reel_events *it = NULL;
	struct reel_event ev;
	int64_t n;
	bool has;

	reel_store_create(&st, "e.db", &err);
	for (int i = 0; reel_metrics[i]; i++)
		reel_schema_create(st->db, reel_metrics[i]->schema);
	make_events(st, 15, 20);
	ok(!reel_store_finish(st, &err), "a store with events %s", err.text);
	reel_store_close(st);
	ok(!reel_store_open(&st, "e.db", &err), "opens %s", err.text);
	order(st, 1, "0 10 30 ");
	order(st, 2, "15 ");
	order(st, 3, "");
	order(st, 0, "10 15 30 0 ");
	reel_events_open(&it, st, 1, &err);
	reel_events_next(it, &ev, &err);
	reel_events_next(it, &ev, &err);
	ok(ev.process == 7 && ev.kind == REEL_KIND_PIPE &&
		   ev.class_ == REEL_CLASS_PIPE && ev.fd2 == -1,
	   "an event knows its process and its file's kind");
	reel_events_close(it);
	reel_events_open(&it, st, 2, &err);
	reel_events_next(it, &ev, &err);
	ok(!ev.file && !ev.kind, "a file that the store lacks is no file");
	reel_events_close(it);
	reel_store_int(st, "SELECT count(*) FROM v_event", &n, &has, &err);
	is(n, 4, "v_event has them all %s", err.text);
	reel_store_int(st,
		       "SELECT count(*) FROM event WHERE thread_id = 1 AND "
		       "start_ns >= 5 AND start_ns < 30",
		       &n, &has, &err);
	is(n, 1, "bounds are exact");
	reel_store_int(st,
		       "SELECT count(*) FROM event WHERE process_id = 7.0 "
		       "AND start_ns > 9.5 AND start_ns <= '15'",
		       &n, &has, &err);
	is(n, 2, "whatever their type");
	reel_store_int(st, "SELECT count(*) FROM event WHERE thread_id = NULL",
		       &n, &has, &err);
	is(n, 0, "NULL matches nothing");
	reel_store_int(st,
		       "SELECT count(*) FROM file WHERE (file_id, path, "
		       "kind, class, ifnull(size_bytes, -1)) IN (VALUES "
		       "(1, '/p', 'pipe', 'pipe', -1), "
		       "(2, '/f', 'file', 'checkpoint', 5))",
		       &n, &has, &err);
	is(n, 2, "files have their values %s", err.text);
	reel_store_int(st,
		       "SELECT count(*) FROM file WHERE file_id IN "
		       "(0, 2, 3, NULL, 'x', 2.5, -1)",
		       &n, &has, &err);
	is(n, 1, "and are found by id");
	reel_store_int(st, "SELECT count(*) FROM v_file, v_span, v_summary", &n,
		       &has, &err);
	ok(!err.code, "views of tables without rows %s", err.text);
	reel_store_int(st, "SELECT offset FROM event", &n, &has, &err);
	ok(!has, "an unknown offset is NULL");
	ok(sqlite3_exec(st->db, "DELETE FROM event", NULL, NULL, NULL),
	   "event refuses writes: %s", sqlite3_errmsg(st->db));
	reel_store_close(st);
}

static const char *const all_queries[] = {
	"SELECT count(*), max(length(path)) FROM v_event",
	"SELECT count(*), sum(length(path)), sum(size_bytes) FROM file",
	"SELECT sum(read_bytes) FROM file_io",
	"SELECT sum(length(name)), sum(parent_id) FROM span",
	"SELECT sum(close_ns) FROM open_file",
	"SELECT * FROM v_summary",
};

/* Users of events add their times: sums must not overflow. */
static void test_extreme_times(void)
{
	struct reel_error err = {0};
	struct reel_store *st = NULL;
	struct reel_events *it = NULL;
	struct reel_event ev = {0};

	reel_store_create(&st, "far.db", &err);
	for (int i = 0; reel_metrics[i]; i++)
		reel_schema_create(st->db, reel_metrics[i]->schema);
	make_events(st, -5, INT64_MAX);
	reel_store_finish(st, &err);
	reel_store_close(st);
	reel_store_open(&st, "far.db", &err);
	reel_events_open(&it, st, 2, &err);
	ok(reel_events_next(it, &ev, &err) == 1 && ev.start_ns == 0 &&
		   ev.dur_ns > 0 && ev.dur_ns < INT64_MAX / 2,
	   "impossible times are clamped: %lld for %lld",
	   (long long)ev.start_ns, (long long)ev.dur_ns);
	reel_events_close(it);
	reel_store_close(st);
}

/* A changed byte anywhere: an error or an answer, never a crash. */
static void test_hostile(void)
{
	uint64_t seed = 88172645463325252ull;
	unsigned char *whole, was;
	int opened = 0;
	long size;
	FILE *f = fopen("e.db", "rb+");

	fseek(f, 0, SEEK_END);
	size = ftell(f);
	whole = malloc((size_t)size);
	rewind(f);
	if (fread(whole, 1, (size_t)size, f) != (size_t)size)
		exit(1);
	for (int i = 0; i < 1500; i++) {
		struct reel_store *st = NULL;
		struct reel_error err = {0};
		int64_t n;
		bool has;
		long at;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		at = (long)((seed >> 20) % (uint64_t)size);
		was = whole[at];
		fseek(f, at, SEEK_SET);
		fputc((int)(was ^ (1 + (seed >> 12) % 255)), f);
		fflush(f);
		if (!reel_store_open(&st, "e.db", &err)) {
			opened++;
			for (size_t q = 0;
			     q < sizeof(all_queries) / sizeof(*all_queries);
			     q++)
				reel_store_int(st, all_queries[q], &n, &has,
					       &err);
		}
		reel_store_close(st);
		fseek(f, at, SEEK_SET);
		fputc(was, f);
	}
	ok(opened > 100, "1,500 changed bytes, %d stores opened", opened);
	free(whole);
	fclose(f);
}

int main(void)
{
	char clean[64];

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	test_life();
	test_refusals();
	test_events();
	test_extreme_times();
	test_hostile();
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	if (chdir("/") || system(clean))
		return 1;
	return done();
}

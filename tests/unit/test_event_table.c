/* SPDX-License-Identifier: MIT */
/* The virtual table `event`: each value in SQL is the one of the block, or NULL. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/store/event.h"
#include "lib/store/event_block.h"
#include "lib/store/store.h"
#include "tests/lib/random.h"
#include "tests/lib/tap.h"

#define BLOCKS 3
#define ROWS 3000
#define READ 24
#define WRITE 25
#define OPEN 46
#define UNKNOWN 70000 /* beyond the ids of calls */

static struct reel_event_columns block[BLOCKS];

/* Calls of all sorts; the last block is not in the order of its starts. */
static void fill_block(struct reel_event_columns *c, bool nested)
{
	static const int64_t calls[] = {READ, WRITE, OPEN, UNKNOWN, -1, 0};
	static const int64_t offsets[] = {REEL_NO_OFFSET, 0, 4096, 1ll << 40};

	if (reel_event_columns_grow(c, ROWS))
		exit(1);
	c->n = ROWS;
	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t at = 100 * i + (nested ? chance_below(5000) : 0);

		for (int col = 0; col < REEL_COLUMNS; col++)
			c->v[col][i] = (int64_t)chance_below(3);
		c->v[REEL_COL_START][i] = (int64_t)at;
		c->v[REEL_COL_CALL][i] = calls[chance_below(6)];
		c->v[REEL_COL_ERR][i] = chance_below(4) ? 0 : 2;
		c->v[REEL_COL_FD][i] = (int64_t)chance_below(4) - 1;
		c->v[REEL_COL_FD2][i] = (int64_t)chance_below(2) - 1;
		c->v[REEL_COL_OFFSET][i] = offsets[chance_below(4)];
		c->v[REEL_COL_POS][i] = offsets[chance_below(4)];
		c->v[REEL_COL_ASKED][i] =
			chance_below(2) ? REEL_NO_SIZE : 1 << 20;
		c->v[REEL_COL_RESULT][i] = (int64_t)chance_below(1 << 21) - 1;
	}
}

static void insert_block(struct reel_store *st, struct reel_codec *k, int i)
{
	sqlite3_stmt *stmt = NULL;
	const void *blob;
	size_t len;

	reel_event_block_encode(k, &block[i], &blob, &len);
	sqlite3_prepare_v2(st->db,
			   "INSERT INTO event_block VALUES (?1, ?1, ?2, 0, "
			   "1000000, ?3)",
			   -1, &stmt, NULL);
	sqlite3_bind_int(stmt, 1, i + 1);
	sqlite3_bind_int64(stmt, 2, block[i].n);
	sqlite3_bind_blob64(stmt, 3, blob, len, SQLITE_TRANSIENT);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		exit(1);
	sqlite3_finalize(stmt);
}

static struct reel_store *make_store(void)
{
	struct reel_codec *k = reel_codec_new();
	struct reel_error err = {0};
	struct reel_store *st = NULL;

	if (reel_store_temporary(&st, "events", &err))
		exit(1);
	sqlite3_exec(
		st->db,
		"INSERT INTO host VALUES (1, 'h', 'b');"
		"INSERT INTO call VALUES (24, 'read', 'POSIX', 'read', 0), "
		"(25, 'write', 'POSIX', 'write', 0), "
		"(46, 'open', 'POSIX', 'open', 0);"
		"INSERT INTO process VALUES (7, 1, NULL, 70, NULL, 'main', "
		"'', '', '', NULL, NULL, 0, 100, 'exit', 4, 0, 0, 0, 0, NULL);"
		"INSERT INTO thread VALUES (1, 7, 71, 0, 100, 3, 0), "
		"(2, 7, 72, 0, 35, 1, 0);",
		NULL, NULL, NULL);
	for (int i = 0; i < BLOCKS; i++) {
		fill_block(&block[i], i == BLOCKS - 1);
		insert_block(st, k, i);
	}
	reel_codec_free(k);
	if (reel_store_finish(st, &err))
		exit(1);
	return st;
}

/* The bytes that row @i of @c moved; false: NULL. */
static bool moved_bytes(const struct reel_event_columns *c, uint32_t i,
			int64_t *bytes)
{
	int64_t call = c->v[REEL_COL_CALL][i];

	*bytes = c->v[REEL_COL_RESULT][i];
	return (call == READ || call == WRITE) && !c->v[REEL_COL_ERR][i];
}

struct table_column {
	const char *name;
	int column; /* of the block; -1: bytes */
	int64_t null;
};

/* Is column @column of the current row of @stmt the one of the block? */
static bool is_value(sqlite3_stmt *stmt, int column,
		     const struct table_column *t,
		     const struct reel_event_columns *c, uint32_t i)
{
	bool null = sqlite3_column_type(stmt, column) == SQLITE_NULL;
	int64_t want;

	if (t->column < 0) {
		if (!moved_bytes(c, i, &want))
			return null;
	} else {
		want = c->v[t->column][i];
		if (want == t->null)
			return null;
	}
	return !null && sqlite3_column_int64(stmt, column) == want;
}

/* Read @t and @and in one query; a rowid is a block and a row in it. */
static void read_columns(struct reel_store *st, const struct table_column *t,
			 const struct table_column *and, const char *where)
{
	char *sql = sqlite3_mprintf("SELECT rowid, %s, %s FROM event %s",
				    t->name, and->name, where);
	sqlite3_stmt *stmt = NULL;
	int rows = 0, good = 0;

	sqlite3_prepare_v2(st->db, sql, -1, &stmt, NULL);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(stmt, 0);
		const struct reel_event_columns *c =
			&block[id / REEL_BLOCK_EVENTS_MAX - 1];
		uint32_t i = (uint32_t)(id % REEL_BLOCK_EVENTS_MAX);

		rows++;
		good += is_value(stmt, 1, t, c, i) &&
			is_value(stmt, 2, and, c, i);
	}
	ok(rows >= ROWS / 100 && good == rows && (*where || rows == 3 * ROWS),
	   "%s, %s %s: %d of %d rows", t->name, and->name, where, good, rows);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

static void test_values(struct reel_store *st)
{
	static const struct table_column columns[] = {
		{"start_ns", REEL_COL_START, INT64_MAX},
		{"dur_ns", REEL_COL_DUR, INT64_MAX},
		{"call_id", REEL_COL_CALL, INT64_MAX},
		{"file_id", REEL_COL_FILE, 0},
		{"file2_id", REEL_COL_FILE2, 0},
		{"open_id", REEL_COL_OPEN, 0},
		{"fd", REEL_COL_FD, -1},
		{"fd2", REEL_COL_FD2, -1},
		{"offset", REEL_COL_OFFSET, REEL_NO_OFFSET},
		{"asked", REEL_COL_ASKED, REEL_NO_SIZE},
		{"result", REEL_COL_RESULT, INT64_MAX},
		{"errno", REEL_COL_ERR, INT64_MAX},
		{"arg", REEL_COL_ARG, INT64_MAX},
		{"arg2", REEL_COL_ARG2, INT64_MAX},
		{"pos", REEL_COL_POS, REEL_NO_OFFSET},
		{"calls", REEL_COL_COUNT, INT64_MAX},
		{"bytes", -1, 0},
	};
	static const char *const where[] = {
		"",
		"WHERE event_call = 'read'",
		"WHERE start_ns BETWEEN 70000 AND 90000 AND event_tid = 71",
		"WHERE file_id = 2 AND thread_id = 3",
	};
	size_t n = sizeof(columns) / sizeof(*columns);

	for (size_t i = 0; i < n; i++)
		for (size_t w = 0; w < sizeof(where) / sizeof(*where); w++)
			read_columns(st, &columns[i], &columns[(i + w) % n],
				     where[w]);
}

/* Sums and counts, from the blocks: no other column is decoded first. */
static void test_sums(struct reel_store *st)
{
	struct reel_error err = {0};
	int64_t sum = 0, reads = 0, moved = 0, n = 0, bytes;
	bool has;

	for (int b = 0; b < BLOCKS; b++)
		for (uint32_t i = 0; i < block[b].n; i++) {
			int64_t start = block[b].v[REEL_COL_START][i];

			reads += block[b].v[REEL_COL_CALL][i] == READ &&
				 start >= 1000 && start <= 200000;
			if (!moved_bytes(&block[b], i, &bytes))
				continue;
			sum += bytes;
			moved++;
		}
	reel_store_int(st, "SELECT sum(bytes) FROM event", &n, &has, &err);
	is(n, sum, "the sum of bytes");
	reel_store_int(st, "SELECT sum(bytes) FROM v_event", &n, &has, &err);
	is(n, sum, "the sum of bytes in the view");
	reel_store_int(st, "SELECT count(bytes) FROM event", &n, &has, &err);
	is(n, moved, "calls that move none have no bytes");
	reel_store_int(st,
		       "SELECT count(*) FROM event WHERE event_call = 'read' "
		       "AND start_ns BETWEEN 1000 AND 200000",
		       &n, &has, &err);
	is(n, reads, "the reads of a time");
	ok(!err.code, "no error %s", err.text);
}

int main(void)
{
	struct reel_store *st = make_store();

	test_values(st);
	test_sums(st);
	reel_store_close(st);
	for (int i = 0; i < BLOCKS; i++)
		reel_event_columns_fini(&block[i]);
	return done();
}

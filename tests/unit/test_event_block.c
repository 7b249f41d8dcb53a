/* SPDX-License-Identifier: MIT */
/* Event blocks: values are read as written, and hostile blobs only fail. */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/store/event.h"
#include "lib/store/event_walk.h"
#include "tests/lib/random.h"
#include "tests/lib/tap.h"

static void room(struct reel_event_columns *c, uint32_t n)
{
	if (reel_event_columns_grow(c, n))
		exit(1);
	c->n = n;
}

/* Values of every width, including the sentinels. */
static int64_t random_value(void)
{
	switch (chance() % 6) {
	case 0:
		return INT64_MIN;
	case 1:
		return INT64_MAX;
	case 2:
		return -1;
	case 3:
		return 0;
	default:
		return (int64_t)(chance() >> chance() % 64);
	}
}

static int same_columns(const struct reel_event_columns *a,
			const struct reel_event_columns *b, uint32_t mask)
{
	if (a->n != b->n)
		return 0;
	for (int col = 0; col < REEL_COLUMNS; col++)
		if ((mask >> col & 1) &&
		    memcmp(a->v[col], b->v[col], a->n * sizeof(int64_t)))
			return 0;
	return 1;
}

static void round_trip(struct reel_codec *k,
		       const struct reel_event_columns *in, uint32_t mask,
		       const char *what)
{
	struct reel_event_columns out = {0};
	const void *blob;
	const char *why = "";
	size_t len = 0;
	bool nested;
	int rc = reel_event_block_encode(k, in, &blob, &len);
	void *copy = malloc(len ? len : 1); /* of the exact size, for ASan */

	if (!rc)
		memcpy(copy, blob, len);
	rc = rc ? rc
		: reel_event_block_decode(k, copy, len, mask, &out, &nested,
					  &why);
	ok(!rc && same_columns(in, &out, mask),
	   "%s: %u events, mask %x, %zu bytes%s", what, in->n, mask, len,
	   rc ? why : "");
	free(copy);
	reel_event_columns_fini(&out);
}

/*
 * An offset must not be 2^63 from the predicted one: that code means "none".
 * Ids have 32 bits.
 */
static void fill_any(struct reel_event_columns *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		for (int col = 0; col < REEL_COLUMNS; col++)
			c->v[col][i] = random_value();
		c->v[REEL_COL_OFFSET][i] = chance() % 2
						   ? REEL_NO_OFFSET
						   : (int64_t)(chance() >> 2);
		c->v[REEL_COL_RESULT][i] = (int64_t)(chance() >> 2);
		c->v[REEL_COL_FILE][i] &= UINT32_MAX;
		c->v[REEL_COL_OPEN][i] &= UINT32_MAX;
	}
}

static void fill_job(struct reel_event_columns *c)
{
	int64_t now = 1000000, offset = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		for (int col = 0; col < REEL_COLUMNS; col++)
			c->v[col][i] = 0;
		now += (int64_t)(chance() % 5000);
		c->v[REEL_COL_START][i] = now;
		c->v[REEL_COL_DUR][i] = 300 + (int64_t)(chance() % 900);
		now += c->v[REEL_COL_DUR][i];
		c->v[REEL_COL_CALL][i] = i % 4 ? 24 : 46;
		c->v[REEL_COL_OPEN][i] = 1 + i / 100;
		c->v[REEL_COL_FILE][i] = 1 + i / 100 % 37;
		c->v[REEL_COL_FD][i] = 3;
		c->v[REEL_COL_FD2][i] = -1;
		c->v[REEL_COL_POS][i] = REEL_NO_OFFSET;
		c->v[REEL_COL_COUNT][i] = 1;
		offset = i % 100 ? offset : 0;
		c->v[REEL_COL_OFFSET][i] = i % 4 ? offset : REEL_NO_OFFSET;
		c->v[REEL_COL_ASKED][i] = i % 4 ? 65536 : REEL_NO_SIZE;
		c->v[REEL_COL_RESULT][i] = i % 4 ? 65536 : 0;
		offset += c->v[REEL_COL_RESULT][i];
	}
}

/* Each byte of a value follows one of a few patterns, so that planes are equal
 * within a column, in the next one and in one far away. */
static void fill_alike(struct reel_event_columns *c, uint64_t patterns)
{
	uint8_t pattern[16];

	for (int col = 0; col < REEL_COLUMNS; col++)
		for (uint32_t i = 0; i < c->n; i++)
			c->v[col][i] = 0;
	for (int col = 0; col < REEL_COLUMNS; col++) {
		for (int p = 0; p < 8; p++)
			pattern[p] = (uint8_t)chance_below(patterns);
		for (uint32_t i = 0; i < c->n; i++) {
			uint64_t v = 0;

			for (int p = 0; p < 8; p++)
				v |= (uint64_t)(i * (i >> 9) >> pattern[p] & 1)
				     << 8 * p;
			c->v[col][i] = (int64_t)v;
		}
	}
	/* without a prediction, which would make them differ */
	for (uint32_t i = 0; i < c->n; i++) {
		c->v[REEL_COL_FILE][i] &= UINT32_MAX;
		c->v[REEL_COL_OPEN][i] &= UINT32_MAX;
	}
}

/* Columns with a value in one of @every rows on average, from row @from on, so that
 * the first rows may say something else than the others. */
static void fill_few(struct reel_event_columns *c, uint32_t every,
		     uint32_t from)
{
	fill_job(c);
	for (uint32_t i = 0; i < c->n; i++) {
		bool some = i >= from && !chance_below(every);

		c->v[REEL_COL_ARG][i] = some ? random_value() : 0;
		c->v[REEL_COL_ARG2][i] = some ? (int64_t)chance_below(300) : 0;
		c->v[REEL_COL_POS][i] =
			some ? (int64_t)chance_below(1 << 20) : REEL_NO_OFFSET;
		c->v[REEL_COL_RESULT][i] -= some;
		c->v[REEL_COL_ERR][i] = i + 1 == c->n;
	}
}

/* A column that is mostly 0 has its other numbers alone. */
static void test_sparse(struct reel_codec *k)
{
	static const uint32_t sizes[] = {255,  256,  257,   1023,  1024,
					 1025, 4099, 32767, 32768, 65536};
	struct reel_event_columns c = {0};
	const void *blob;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		room(&c, sizes[i]);
		for (uint32_t every = 1; every <= 1000; every *= 10) {
			fill_few(&c, every, 0);
			round_trip(k, &c, REEL_COL_ALL, "few values");
			fill_few(&c, every, sizes[i] / 2);
			round_trip(k, &c, REEL_COL_ALL, "few values, late");
		}
	}
	room(&c, REEL_BLOCK_EVENTS);
	for (uint32_t i = 0; i < c.n; i++) {
		for (int col = 0; col < REEL_COLUMNS; col++)
			c.v[col][i] = 0;
		c.v[REEL_COL_ARG][i] =
			chance_below(8) ? 0 : (int64_t)(chance() >> 40);
	}
	reel_event_block_encode(k, &c, &blob, &len);
	ok(8 * len < 4.2 * c.n,
	   "one number of 24 bits in 8 rows takes %.2f bits a row",
	   8.0 * (double)len / c.n);
	reel_event_columns_fini(&c);
}

static void test_round_trips(struct reel_codec *k)
{
	static const uint32_t sizes[] = {1, 2, 47, 48, 1000, 32768, 65536};
	struct reel_event_columns c = {0};
	const void *blob;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		room(&c, sizes[i]);
		fill_any(&c);
		round_trip(k, &c, REEL_COL_ALL, "any values");
		for (uint64_t patterns = 2; patterns <= 14; patterns += 4) {
			fill_alike(&c, patterns);
			round_trip(k, &c, REEL_COL_ALL, "equal planes");
		}
		fill_job(&c);
		round_trip(k, &c, REEL_COL_ALL, "a job");
	}
	for (int col = 0; col < REEL_COLUMNS; col++)
		round_trip(k, &c, 1u << col, "one column alone");
	reel_event_block_encode(k, &c, &blob, &len);
	ok(len < 5 * (size_t)c.n, "a reading job takes %.2f bytes per event",
	   (double)len / c.n);
	reel_event_columns_fini(&c);
}

/* Random calls, one of four: zstd finds matches by chance, which cost more than the
 * 2 bits of each call. */
static void test_chance(struct reel_codec *k)
{
	struct reel_event_columns c = {0};
	const void *blob;
	size_t len = 0;

	room(&c, REEL_BLOCK_EVENTS);
	for (uint32_t i = 0; i < c.n; i++) {
		for (int col = 0; col < REEL_COLUMNS; col++)
			c.v[col][i] = 0;
		c.v[REEL_COL_CALL][i] = 1 + (int64_t)chance_below(4);
	}
	reel_event_block_encode(k, &c, &blob, &len);
	ok(8 * len < 2.45 * c.n, "random calls take %.2f bits each",
	   8.0 * (double)len / c.n);
	reel_event_columns_fini(&c);
}

/* Only a crash or an endless loop is a failure; ASan checks accesses. */
static void test_hostile(struct reel_codec *k)
{
	struct reel_event_columns c = {0}, out = {0};
	const char *why = NULL;
	const void *blob;
	uint8_t *copy;
	size_t len = 0;
	bool nested;
	int refused = 0, cut = 0;

	room(&c, 3000);
	fill_few(&c, 10, 0);
	reel_event_block_encode(k, &c, &blob, &len);
	copy = malloc(len);
	memcpy(copy, blob, len);
	for (size_t n = 0; n < len; n += 1 + n / 64) {
		uint8_t *part = malloc(n ? n : 1);

		memcpy(part, copy, n);
		cut += reel_event_block_decode(k, part, n, REEL_COL_ALL, &out,
					       &nested, &why) &&
		       why;
		refused++;
		free(part);
	}
	is(cut, refused, "every truncation is refused, with a reason");
	for (int i = 0; i < 20000; i++) {
		size_t at = chance() % len;
		uint8_t was = copy[at];

		copy[at] ^= (uint8_t)(1 + chance() % 255);
		if (!reel_event_block_decode(k, copy, len, REEL_COL_ALL, &out,
					     &nested, &why) &&
		    out.n > 65536)
			break;
		copy[at] = was;
	}
	ok(1, "20,000 flipped bytes");
	copy[4] = copy[5] = copy[6] = copy[7] = 0xff;
	ok(reel_event_block_decode(k, copy, len, REEL_COL_ALL, &out, &nested,
				   &why),
	   "four billion events are refused: %s", why);
	free(copy);
	reel_event_columns_fini(&c);
	reel_event_columns_fini(&out);
}

static void insert(sqlite3 *db, struct reel_codec *k,
		   struct reel_event_columns *c, int thread)
{
	sqlite3_stmt *stmt = NULL;
	int64_t min = INT64_MAX, max = 0;
	const void *blob;
	size_t len;

	for (uint32_t i = 0; i < c->n; i++) {
		int64_t start = c->v[REEL_COL_START][i];

		min = start < min ? start : min;
		if (start + c->v[REEL_COL_DUR][i] > max)
			max = start + c->v[REEL_COL_DUR][i];
	}
	reel_event_block_encode(k, c, &blob, &len);
	sqlite3_prepare_v2(db,
			   "INSERT INTO event_block VALUES (NULL, ?, ?, ?, "
			   "?, ?)",
			   -1, &stmt, NULL);
	sqlite3_bind_int(stmt, 1, thread);
	sqlite3_bind_int64(stmt, 2, c->n);
	sqlite3_bind_int64(stmt, 3, min);
	sqlite3_bind_int64(stmt, 4, max);
	sqlite3_bind_blob64(stmt, 5, blob, len, SQLITE_TRANSIENT);
	sqlite3_step(stmt);
	sqlite3_finalize(stmt);
}

/*
 * A call that encloses 250 others ends after them, in a later block; its start
 * must still come first.
 */
static void test_walk(struct reel_codec *k)
{
	struct reel_event_range all = {.min_start_ns = INT64_MIN,
				       .max_start_ns = INT64_MAX};
	struct reel_event_row row;
	struct reel_event_columns c = {0};
	struct reel_event_walk *w = NULL;
	int64_t last = INT64_MIN, n = 0, thread = 0;
	const char *why = "";
	sqlite3 *db;
	int sorted = 1;

	sqlite3_open(":memory:", &db);
	sqlite3_exec(db,
		     "CREATE TABLE event_block (block_id INTEGER PRIMARY "
		     "KEY, thread_id, events, min_start_ns, max_end_ns, "
		     "data); CREATE TABLE thread (thread_id INTEGER "
		     "PRIMARY KEY, process_id); INSERT INTO thread VALUES "
		     "(1, 7), (2, 8)",
		     NULL, NULL, NULL);
	room(&c, 100);
	for (int t = 1; t <= 2; t++)
		for (int b = 0; b < 3; b++) {
			fill_job(&c);
			for (uint32_t i = 0; i < c.n; i++) {
				c.v[REEL_COL_START][i] = 10 * (100 * b + i);
				c.v[REEL_COL_DUR][i] = 5;
			}
			if (b == 2) { /* the enclosing one, by its end */
				c.v[REEL_COL_START][50] = 3;
				c.v[REEL_COL_DUR][50] = 2502;
			}
			insert(db, k, &c, t);
		}
	ok(!reel_event_walk_open(&w, db, &all, &why), "the walk opens %s", why);
	while (reel_event_walk_next(w, &row, &why) == 1) {
		int64_t start = row.cols->v[REEL_COL_START][row.at];

		if (row.thread != thread) {
			thread = row.thread;
			last = INT64_MIN;
		}
		sorted = sorted && start >= last &&
			 row.process == row.thread + 6;
		last = start;
		n++;
	}
	is(n, 600, "it visits every event");
	ok(sorted, "each thread in the order of start, with its process");
	reel_event_walk_close(w);
	all.thread = 2;
	all.min_start_ns = 1500;
	reel_event_walk_open(&w, db, &all, &why);
	for (n = 0; reel_event_walk_next(w, &row, &why) == 1; n++)
		;
	is(n, 200, "a block that ends before the range is skipped");
	reel_event_walk_close(w);
	sqlite3_close(db);
	reel_event_columns_fini(&c);
}

int main(void)
{
	struct reel_codec *k = reel_codec_new();

	test_round_trips(k);
	test_chance(k);
	test_sparse(k);
	test_hostile(k);
	test_walk(k);
	reel_codec_free(k);
	return done();
}

/* SPDX-License-Identifier: MIT */
/*
 * A scan of the events of a store, block after block.
 *
 * Rows of a block come in the order of their start if the query reads it, which
 * SQLite may not rely on: a call that encloses calls of an earlier block comes
 * after them. Otherwise they keep the order of their ends: neither START nor DUR
 * is decoded. The list of blocks is read once for a cursor, as a join starts many
 * scans.
 */
#include "lib/store/event_scan.h"

#include <stdlib.h>
#include <string.h>

#ifdef REEL_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#define WHY_MEMORY "out of memory"

static int list_add(struct reel_event_scan *s, sqlite3_stmt *stmt)
{
	if (s->blocks == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct reel_scan_block *p = realloc(s->list, room * sizeof(*p));

		if (!p)
			return -1;
		s->list = p;
		s->room = room;
	}
	s->list[s->blocks++] = (struct reel_scan_block){
		.block_id = sqlite3_column_int64(stmt, 0),
		.thread = sqlite3_column_int64(stmt, 1),
		.min_start_ns = sqlite3_column_int64(stmt, 2),
		.max_end_ns = sqlite3_column_int64(stmt, 3),
	};
	return 0;
}

static int list_blocks(struct reel_event_scan *s, sqlite3 *db, const char **why)
{
	static const char sql[] =
		"SELECT block_id, thread_id, min_start_ns, max_end_ns "
		"FROM main.event_block "
		"ORDER BY thread_id, min_start_ns, block_id";
	sqlite3_stmt *stmt = NULL;
	int step = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	*why = NULL;
	if (step == SQLITE_OK)
		while ((step = sqlite3_step(stmt)) == SQLITE_ROW)
			if (list_add(s, stmt)) {
				*why = WHY_MEMORY;
				break;
			}
	sqlite3_finalize(stmt);
	if (step != SQLITE_DONE && !*why)
		*why = sqlite3_errmsg(db);
	return step == SQLITE_DONE ? 0 : -1;
}

int reel_event_scan_open(struct reel_event_scan **out, struct sqlite3 *db,
			 const char **why)
{
	static const char fetch[] =
		"SELECT data FROM main.event_block WHERE block_id = ?";
	struct reel_event_scan *s = calloc(1, sizeof(*s));

	*why = WHY_MEMORY;
	if (!s || !(s->codec = reel_codec_new()) || list_blocks(s, db, why))
		goto fail;
	if (sqlite3_prepare_v2(db, fetch, -1, &s->fetch, NULL) != SQLITE_OK) {
		*why = sqlite3_errmsg(db);
		goto fail;
	}
	*out = s;
	return 0;
fail:
	reel_event_scan_close(s);
	return -1;
}

void reel_event_scan_close(struct reel_event_scan *s)
{
	if (!s)
		return;
	sqlite3_finalize(s->fetch);
	reel_codec_free(s->codec);
	reel_event_columns_fini(&s->cols);
	free(s->list);
	free(s->row);
	free(s->spare);
	free(s);
}

void reel_event_scan_start(struct reel_event_scan *s,
			   const struct reel_event_wanted *wanted)
{
	s->wanted = wanted;
	s->next = 0;
	s->rows = 0;
}

/* Merge the ordered rows [lo, mid) and [mid, hi); mostly they are in order. */
static void merge_runs(uint32_t *row, uint32_t *spare, const uint32_t at[3],
		       const int64_t *start)
{
	uint32_t lo = at[0], mid = at[1], hi = at[2], n;

	while (lo < mid && start[row[lo]] <= start[row[mid]])
		lo++;
	n = mid - lo;
	if (!n)
		return;
	memcpy(spare, row + lo, n * sizeof(*row));
	for (uint32_t i = 0, j = mid, k = lo; i < n; k++)
		row[k] = j < hi && start[row[j]] < start[spare[i]] ? row[j++]
								   : spare[i++];
}

/* Move each row to its place among those before it: cheap as long as calls
 * enclose few others. false: it took too long. */
static bool insert_rows(uint32_t *row, uint32_t n, const int64_t *start)
{
	uint32_t budget = 4 * n;
	int64_t last = n ? start[row[0]] : 0; /* the largest so far */

	for (uint32_t i = 1; i < n; i++) {
		uint32_t moved = row[i], k = i;
		int64_t at = start[moved];

		if (at >= last) {
			last = at;
			continue;
		}
		while (k && start[row[k - 1]] > at) {
			row[k] = row[k - 1];
			k--;
		}
		row[k] = moved;
		if (i - k > budget)
			return false;
		budget -= i - k;
	}
	return true;
}

void reel_rows_by_start(uint32_t *row, uint32_t *spare, uint32_t n,
			const int64_t *start)
{
	if (insert_rows(row, n, start))
		return;
	for (uint32_t w = 1; w < n; w *= 2)
		for (uint32_t lo = 0; lo + w < n; lo += 2 * w) {
			uint32_t hi = n - lo > 2 * w ? lo + 2 * w : n;

			if (start[row[lo + w - 1]] > start[row[lo + w]])
				merge_runs(row, spare,
					   (uint32_t[]){lo, lo + w, hi}, start);
		}
}

/* --- a block -------------------------------------------------------------- */

/* Keep of the first @n rows those whose value of @v is in @set. */
static uint32_t keep_in_set(struct reel_event_scan *s, uint32_t n,
			    const int64_t *v, const struct reel_idset *set)
{
	uint32_t kept = 0;
	int64_t last = -1;
	bool has = false;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = s->row[i];

		if (v[row] != last) {
			last = v[row];
			has = reel_idset_has(set, last);
		}
		s->row[kept] = row;
		kept += has;
	}
	return kept;
}

static uint32_t keep_in_time(struct reel_event_scan *s, uint32_t n,
			     const struct reel_event_wanted *w)
{
	const int64_t *start = s->cols.v[REEL_COL_START];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = s->row[i];

		s->row[kept] = row;
		kept += start[row] >= w->min_start_ns &&
			start[row] <= w->max_start_ns;
	}
	return kept;
}

static int reserve_rows(struct reel_event_scan *s)
{
	uint32_t n = s->cols.n;

	if (n <= s->row_room)
		return 0;
	free(s->row);
	free(s->spare);
	s->row = malloc(n * sizeof(*s->row));
	s->spare = malloc(n * sizeof(*s->spare));
	s->row_room = s->row && s->spare ? n : 0;
	return s->row_room ? 0 : -1;
}

/* Find the wanted rows of the block; columns of conditions are decoded one by
 * one, until no row is left. 0, or -1 with @why. */
static int select_rows(struct reel_event_scan *s, const char **why)
{
	const struct reel_event_wanted *w = s->wanted;
	bool timed = w->min_start_ns > INT64_MIN || w->max_start_ns < INT64_MAX;
	int64_t *const *v = s->cols.v;
	uint32_t n = s->cols.n;

	bool ordered = !s->block.nested || !(w->mask & 1u << REEL_COL_START);

	s->all = !timed && !w->by_call && !w->by_file && ordered;
	s->rows = n;
	if (s->all)
		return 0;
	*why = WHY_MEMORY;
	if (reserve_rows(s))
		return -1;
	for (uint32_t i = 0; i < n; i++)
		s->row[i] = i;
#define DECODE(column)                                                         \
	reel_event_block_columns(s->codec, &s->block, 1u << (column),          \
				 &s->cols, why)
	if (timed) {
		if (DECODE(REEL_COL_START))
			return -1;
		n = keep_in_time(s, n, w);
	}
	if (n && w->by_call) {
		if (DECODE(REEL_COL_CALL))
			return -1;
		n = keep_in_set(s, n, v[REEL_COL_CALL], &w->call);
	}
	if (n && w->by_file) {
		if (DECODE(REEL_COL_FILE))
			return -1;
		n = keep_in_set(s, n, v[REEL_COL_FILE], &w->file);
	}
	if (n && !ordered) {
		if (DECODE(REEL_COL_START))
			return -1;
		reel_rows_by_start(s->row, s->spare, n, v[REEL_COL_START]);
	}
#undef DECODE
	s->rows = n;
	return 0;
}

/* Fetch and decode block @e; the last one is kept, as a join may come back to
 * it. Its blob is valid as long as the statement is not reset. */
static int open_block(struct reel_event_scan *s,
		      const struct reel_scan_block *e, const char **why)
{
	if (s->decoded == e)
		return 0;
	s->decoded = NULL;
	sqlite3_reset(s->fetch);
	sqlite3_bind_int64(s->fetch, 1, e->block_id);
	*why = "an event block is missing";
	if (sqlite3_step(s->fetch) != SQLITE_ROW ||
	    reel_event_block_open(s->codec, sqlite3_column_blob(s->fetch, 0),
				  (size_t)sqlite3_column_bytes(s->fetch, 0),
				  &s->block, &s->cols, why))
		return -1;
	s->decoded = e;
	return 0;
}

int reel_event_scan_block(struct reel_event_scan *s, const char **why)
{
	const struct reel_event_wanted *w = s->wanted;

	while (s->next < s->blocks) {
		const struct reel_scan_block *e = &s->list[s->next++];

		if (e->min_start_ns > w->max_start_ns ||
		    e->max_end_ns < w->min_start_ns ||
		    (w->by_thread && !reel_idset_has(&w->thread, e->thread)))
			continue;
		s->rows = 0;
		if (open_block(s, e, why) || select_rows(s, why))
			goto fail;
		if (!s->rows)
			continue;
		if (reel_event_block_columns(s->codec, &s->block, w->mask,
					     &s->cols, why))
			goto fail;
		s->on = e;
		return 1;
	}
	return 0;
fail:
	s->decoded = NULL;
	s->rows = 0;
	return -1;
}

/* SPDX-License-Identifier: MIT */
/*
 * The walk over the blocks of a store, thread after thread, by start.
 *
 * The blocks of a thread are in the order of their smallest start. A call that
 * encloses others ends after them, maybe blocks later, so a block is opened as
 * soon as its smallest start is not after the next event of an open block. This
 * file goes into ioreel_sqlite.so too, so it needs only SQLite.
 */
#include "lib/store/event_walk.h"

#include <stdlib.h>
#include <string.h>

#ifdef REEL_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#define WHY_MEMORY "out of memory"

struct walk_entry {
	int64_t block_id, thread, process, min_start_ns;
};

struct walk_block {
	struct reel_event_columns cols;
	struct walk_entry entry;
	uint32_t *order; /* by start; NULL: they are in order */
	uint32_t next;
};

struct reel_event_walk {
	struct reel_codec *codec;
	sqlite3_stmt *fetch;
	uint32_t mask;
	struct walk_entry *entry; /* all blocks in the range */
	size_t entries, room, next;
	struct walk_block *open;
	size_t opens, open_room;
	size_t last; /* index in open: the last row points into it */
};

static const char walk_all[] =
	"SELECT b.block_id, b.thread_id, t.process_id, b.min_start_ns "
	"FROM main.event_block b LEFT JOIN main.thread t USING (thread_id) "
	"WHERE b.min_start_ns <= :max AND b.max_end_ns >= :min "
	"ORDER BY b.thread_id, b.min_start_ns, b.block_id";
static const char walk_thread[] =
	"SELECT b.block_id, b.thread_id, t.process_id, b.min_start_ns "
	"FROM main.event_block b LEFT JOIN main.thread t USING (thread_id) "
	"WHERE b.thread_id = :thread AND b.min_start_ns <= :max "
	"AND b.max_end_ns >= :min "
	"ORDER BY b.thread_id, b.min_start_ns, b.block_id";
static const char walk_process[] =
	"SELECT b.block_id, b.thread_id, t.process_id, b.min_start_ns "
	"FROM main.thread t JOIN main.event_block b USING (thread_id) "
	"WHERE t.process_id = :process AND b.min_start_ns <= :max "
	"AND b.max_end_ns >= :min "
	"ORDER BY b.thread_id, b.min_start_ns, b.block_id";

static void bind_int(sqlite3_stmt *stmt, const char *name, int64_t value)
{
	int i = sqlite3_bind_parameter_index(stmt, name);

	if (i)
		sqlite3_bind_int64(stmt, i, value);
}

static int walk_add(struct reel_event_walk *w, const struct walk_entry *e)
{
	if (w->entries == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct walk_entry *p = realloc(w->entry, room * sizeof(*p));

		if (!p)
			return -1;
		w->entry = p;
		w->room = room;
	}
	w->entry[w->entries++] = *e;
	return 0;
}

static int walk_list(struct reel_event_walk *w, sqlite3 *db,
		     const struct reel_event_range *r, const char **why)
{
	const char *sql = r->thread    ? walk_thread
			  : r->process ? walk_process
				       : walk_all;
	sqlite3_stmt *stmt = NULL;
	int rc = -1, step;

	*why = NULL;
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		goto out;
	bind_int(stmt, ":thread", r->thread);
	bind_int(stmt, ":process", r->process);
	bind_int(stmt, ":min", r->min_start_ns);
	bind_int(stmt, ":max", r->max_start_ns);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct walk_entry e = {
			.block_id = sqlite3_column_int64(stmt, 0),
			.thread = sqlite3_column_int64(stmt, 1),
			.process = sqlite3_column_int64(stmt, 2),
			.min_start_ns = sqlite3_column_int64(stmt, 3),
		};

		if (r->process && e.process != r->process)
			continue;
		if (walk_add(w, &e)) {
			*why = WHY_MEMORY;
			goto out;
		}
	}
	if (step == SQLITE_DONE)
		rc = 0;
out:
	sqlite3_finalize(stmt);
	if (rc && !*why)
		*why = sqlite3_errmsg(db);
	return rc;
}

int reel_event_walk_open(struct reel_event_walk **out, struct sqlite3 *db,
			 const struct reel_event_range *range, const char **why)
{
	static const char fetch[] =
		"SELECT data FROM main.event_block WHERE block_id = :block";
	struct reel_event_walk *w = calloc(1, sizeof(*w));

	*why = WHY_MEMORY;
	if (!w || !(w->codec = reel_codec_new()))
		goto fail;
	w->mask = range->mask;
	if (walk_list(w, db, range, why))
		goto fail;
	if (sqlite3_prepare_v2(db, fetch, -1, &w->fetch, NULL) != SQLITE_OK) {
		*why = sqlite3_errmsg(db);
		goto fail;
	}
	*out = w;
	return 0;
fail:
	reel_event_walk_close(w);
	return -1;
}

static void walk_block_fini(struct walk_block *b)
{
	reel_event_columns_fini(&b->cols);
	free(b->order);
	memset(b, 0, sizeof(*b));
}

void reel_event_walk_close(struct reel_event_walk *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->open_room; i++)
		walk_block_fini(&w->open[i]);
	free(w->open);
	free(w->entry);
	sqlite3_finalize(w->fetch);
	reel_codec_free(w->codec);
	free(w);
}

/* Stable merge sort by start; events are nearly sorted. */
static int sort_by_start(struct walk_block *b)
{
	const int64_t *start = b->cols.v[REEL_COL_START];
	uint32_t n = b->cols.n;
	uint32_t *a = malloc((size_t)n * sizeof(*a));
	uint32_t *t = malloc((size_t)n * sizeof(*t));

	if (!a || !t) {
		free(a);
		free(t);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		a[i] = i;
	for (uint32_t w = 1; w < n; w *= 2) {
		for (uint32_t lo = 0; lo < n; lo += 2 * w) {
			uint32_t mid = lo + w < n ? lo + w : n;
			uint32_t hi = mid + w < n ? mid + w : n;
			uint32_t i = lo, j = mid, k = lo;

			while (k < hi)
				t[k++] = j >= hi || (i < mid &&
						     start[a[i]] <= start[a[j]])
						 ? a[i++]
						 : a[j++];
		}
		uint32_t *swap = a;

		a = t;
		t = swap;
	}
	free(t);
	free(b->order);
	b->order = a;
	return 0;
}

/* Decode the next block of the list into a free entry of w->open. */
static int walk_open_block(struct reel_event_walk *w, const char **why)
{
	struct walk_block *b;
	bool nested = false;
	int rc = -1;

	if (w->opens == w->open_room) {
		size_t room = w->open_room ? 2 * w->open_room : 2;
		struct walk_block *p = realloc(w->open, room * sizeof(*p));

		*why = WHY_MEMORY;
		if (!p)
			return -1;
		memset(p + w->open_room, 0, (room - w->open_room) * sizeof(*p));
		w->open = p;
		w->open_room = room;
	}
	b = &w->open[w->opens];
	b->entry = w->entry[w->next];
	bind_int(w->fetch, ":block", b->entry.block_id);
	*why = "an event block is missing";
	if (sqlite3_step(w->fetch) != SQLITE_ROW)
		goto out;
	if (reel_event_block_decode(w->codec, sqlite3_column_blob(w->fetch, 0),
				    (size_t)sqlite3_column_bytes(w->fetch, 0),
				    w->mask, &b->cols, &nested, why))
		goto out;
	free(b->order);
	b->order = NULL;
	if (nested && sort_by_start(b)) {
		*why = WHY_MEMORY;
		goto out;
	}
	b->next = 0;
	w->next++;
	w->opens++;
	rc = 0;
out:
	sqlite3_reset(w->fetch);
	return rc;
}

static inline uint32_t block_at(const struct walk_block *b)
{
	return b->order ? b->order[b->next] : b->next;
}

static inline int64_t block_start(const struct walk_block *b)
{
	return b->cols.v[REEL_COL_START][block_at(b)];
}

/* Close the block of the last row if it is done; its memory is reused. */
static void walk_drop(struct reel_event_walk *w)
{
	struct walk_block last;

	if (!w->opens || w->open[w->last].next < w->open[w->last].cols.n)
		return;
	last = w->open[w->last];
	w->opens--;
	w->open[w->last] = w->open[w->opens];
	w->open[w->opens] = last;
	w->last = 0;
}

static size_t walk_first(const struct reel_event_walk *w)
{
	size_t best = 0;

	for (size_t i = 1; i < w->opens; i++) {
		int64_t a = block_start(&w->open[i]);
		int64_t b = block_start(&w->open[best]);

		if (a < b || (a == b && w->open[i].entry.block_id <
						w->open[best].entry.block_id))
			best = i;
	}
	return best;
}

int reel_event_walk_next(struct reel_event_walk *w, struct reel_event_row *row,
			 const char **why)
{
	struct walk_block *b;
	size_t i = 0;

	walk_drop(w);
	for (;;) {
		const struct walk_entry *e =
			w->next < w->entries ? &w->entry[w->next] : NULL;

		if (!w->opens && !e)
			return 0;
		if (w->opens) {
			i = w->opens > 1 ? walk_first(w) : 0;
			b = &w->open[i];
			if (!e || e->thread != b->entry.thread ||
			    e->min_start_ns > block_start(b))
				break;
		}
		if (walk_open_block(w, why))
			return -1;
	}
	row->block_id = b->entry.block_id;
	row->thread = (uint32_t)b->entry.thread;
	row->process = (uint32_t)b->entry.process;
	row->cols = &b->cols;
	row->at = block_at(b);
	b->next++;
	w->last = i;
	return 1;
}

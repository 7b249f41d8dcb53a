/* SPDX-License-Identifier: MIT */
/*
 * Events of a store for C: of one thread in the order of start (a walk over its
 * blocks), or of the job in the order of end (a heap of threads; a block holds
 * its events in the order of their end).
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/call_table.h"
#include "lib/store/event_walk.h"
#include "lib/store/event_op.h"
#include "lib/store/file_class.h"
#include "lib/merge_heap.h"
#include "lib/store/store.h"

struct block {
	int64_t block_id;
	uint32_t thread;
	int64_t min_start_ns;
};

/* One thread in the merge by end. */
struct lane {
	const struct block *block, *last; /* its remaining blocks */
	struct reel_event_columns cols;
	uint32_t at;
	uint32_t process;
};

struct reel_events {
	struct reel_store *st;
	uint8_t *kind, *class_; /* by file_id */
	uint32_t files;
	uint32_t *process; /* by thread_id */
	uint32_t threads;
	struct reel_event_walk *walk; /* for one thread */
	struct block *block;	      /* for all threads */
	struct lane *lane, **waiting;
	int lanes, next_waiting;
	struct reel_merge_heap heap; /* of struct lane */
	struct reel_codec *codec;
	struct reel_call_table *calls;
	sqlite3_stmt *fetch;
	struct lane *current; /* source of the last event */
};

static int db_fail(struct reel_events *it, struct reel_error *err)
{
	return reel_fail(err, REEL_E_DB, "cannot read store '%s': %s",
			 it->st->path, sqlite3_errmsg(it->st->db));
}

static int block_fail(struct reel_events *it, const char *why,
		      struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT, "cannot read events of '%s': %s",
			 it->st->path, why);
}

/* The largest id of a dimension table; one that is too large is damage. */
static int largest_id(struct reel_events *it, const char *sql, uint32_t *out,
		      struct reel_error *err)
{
	int64_t n;
	bool has;

	if (reel_store_int(it->st, sql, &n, &has, err))
		return -1;
	if (n < 0 || n > UINT32_MAX / 2)
		return block_fail(it, "an id is out of range", err);
	*out = (uint32_t)n;
	return 0;
}

static int read_files(struct reel_events *it, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = -1, step;

	if (largest_id(it, "SELECT max(file_id) FROM file", &it->files, err))
		return -1;
	it->kind = reel_alloc((size_t)it->files + 1, 1, err);
	it->class_ = reel_alloc((size_t)it->files + 1, 1, err);
	if (!it->kind || !it->class_ ||
	    reel_store_prepare(it->st, &stmt,
			       "SELECT file_id, kind, class FROM file", err))
		return -1;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(stmt, 0);
		const char *kind = (const char *)sqlite3_column_text(stmt, 1);
		const char *class_ = (const char *)sqlite3_column_text(stmt, 2);

		if (id <= 0 || id > it->files || !kind || !class_)
			continue;
		it->kind[id] = (uint8_t)reel_kind_of_name(kind);
		it->class_[id] = (uint8_t)reel_class_of_name(class_);
	}
	rc = step == SQLITE_DONE ? 0 : db_fail(it, err);
	sqlite3_finalize(stmt);
	return rc;
}

static int read_threads(struct reel_events *it, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = -1, step;

	if (largest_id(it, "SELECT max(thread_id) FROM thread", &it->threads,
		       err))
		return -1;
	it->process =
		reel_alloc((size_t)it->threads + 1, sizeof(uint32_t), err);
	if (!it->process ||
	    reel_store_prepare(it->st, &stmt,
			       "SELECT thread_id, process_id FROM thread", err))
		return -1;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		if (id > 0 && id <= it->threads)
			it->process[id] =
				(uint32_t)sqlite3_column_int64(stmt, 1);
	}
	rc = step == SQLITE_DONE ? 0 : db_fail(it, err);
	sqlite3_finalize(stmt);
	return rc;
}

static int open_walk(struct reel_events *it, uint32_t thread_id,
		     struct reel_error *err)
{
	struct reel_event_range range = {
		.thread = thread_id,
		.min_start_ns = INT64_MIN,
		.max_start_ns = INT64_MAX,
		.mask = REEL_COL_ALL,
	};
	const char *why;

	if (reel_event_walk_open(&it->walk, it->st->db, &range, &why))
		return block_fail(it, why, err);
	return 0;
}

static int lane_order(const void *a, const void *b)
{
	const struct lane *x = *(struct lane *const *)a;
	const struct lane *y = *(struct lane *const *)b;

	if (x->block->min_start_ns != y->block->min_start_ns)
		return x->block->min_start_ns < y->block->min_start_ns ? -1 : 1;
	return x->block->thread < y->block->thread ? -1 : 1;
}

/* Read the list of blocks, by thread and in the order of writing. */
static int read_blocks(struct reel_events *it, struct reel_error *err)
{
	sqlite3_stmt *stmt = NULL;
	uint32_t n = 0, room = 0;
	int rc = -1, step;

	if (reel_store_prepare(it->st, &stmt,
			       "SELECT block_id, thread_id, "
			       "min_start_ns FROM event_block "
			       "ORDER BY thread_id, block_id",
			       err))
		return -1;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (reel_array_reach(&it->block, &room, n, sizeof(*it->block),
				     err))
			goto out;
		it->block[n].block_id = sqlite3_column_int64(stmt, 0);
		it->block[n].thread = (uint32_t)sqlite3_column_int64(stmt, 1);
		it->block[n].min_start_ns = sqlite3_column_int64(stmt, 2);
		if (!n || it->block[n].thread != it->block[n - 1].thread)
			it->lanes++;
		n++;
	}
	rc = step == SQLITE_DONE ? 0 : db_fail(it, err);
	if (!rc && n == 0)
		goto out;
	if (!rc) {
		rc = -1;
		it->lane =
			reel_alloc((size_t)it->lanes, sizeof(*it->lane), err);
		it->heap.item = reel_alloc((size_t)it->lanes,
					   sizeof(*it->heap.item), err);
		it->waiting = reel_alloc((size_t)it->lanes,
					 sizeof(*it->waiting), err);
		if (!it->lane || !it->heap.item || !it->waiting)
			goto out;
		rc = 0;
	}
	for (size_t i = 0, k = 0; !rc && i < n; k++) {
		size_t first = i;

		while (i < n && it->block[i].thread == it->block[first].thread)
			i++;
		it->lane[k].block = &it->block[first];
		it->lane[k].last = &it->block[i - 1];
		it->waiting[k] = &it->lane[k];
	}
out:
	sqlite3_finalize(stmt);
	return rc;
}

static int open_merge(struct reel_events *it, struct reel_error *err)
{
	if (read_blocks(it, err))
		return -1;
	it->codec = reel_codec_new();
	if (!it->codec)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	if (it->lanes)
		qsort(it->waiting, (size_t)it->lanes, sizeof(*it->waiting),
		      lane_order);
	return reel_store_prepare(it->st, &it->fetch,
				  "SELECT data FROM "
				  "event_block WHERE block_id = ?",
				  err);
}

int reel_events_open(struct reel_events **out, struct reel_store *st,
		     uint32_t thread_id, struct reel_error *err)
{
	struct reel_events *it = reel_alloc(1, sizeof(*it), err);

	if (!it)
		return -1;
	it->st = st;
	it->calls = reel_call_table_read(st, err);
	if (!it->calls || read_files(it, err) || read_threads(it, err) ||
	    (thread_id ? open_walk(it, thread_id, err) : open_merge(it, err))) {
		reel_events_close(it);
		return -1;
	}
	*out = it;
	return 0;
}

void reel_events_close(struct reel_events *it)
{
	if (!it)
		return;
	reel_event_walk_close(it->walk);
	for (int i = 0; it->lane && i < it->lanes; i++)
		reel_event_columns_fini(&it->lane[i].cols);
	sqlite3_finalize(it->fetch);
	reel_codec_free(it->codec);
	free(it->block);
	free(it->lane);
	free(it->heap.item);
	free(it->waiting);
	free(it->kind);
	free(it->class_);
	free(it->process);
	reel_call_table_free(it->calls);
	free(it);
}

static void fill_event(const struct reel_events *it,
		       const struct reel_event_columns *c, uint32_t i,
		       uint32_t thread, struct reel_event *ev)
{
	uint64_t call = (uint64_t)c->v[REEL_COL_CALL][i];
	const struct reel_call_info *info =
		reel_call_table_info(it->calls, call);

	*ev = (struct reel_event){
		.start_ns = c->v[REEL_COL_START][i],
		.dur_ns = c->v[REEL_COL_DUR][i],
		.process = thread <= it->threads ? it->process[thread] : 0,
		.thread = thread,
		.file = (uint32_t)c->v[REEL_COL_FILE][i],
		.file2 = (uint32_t)c->v[REEL_COL_FILE2][i],
		.open = (uint32_t)c->v[REEL_COL_OPEN][i],
		.count = (uint32_t)c->v[REEL_COL_COUNT][i],
		.fd = (int32_t)c->v[REEL_COL_FD][i],
		.fd2 = (int32_t)c->v[REEL_COL_FD2][i],
		.err = (int32_t)c->v[REEL_COL_ERR][i],
		.call = (uint16_t)call,
		.layer = info ? (uint8_t)info->layer : REEL_LAYER_NONE,
		.group = info ? (uint8_t)info->group : REEL_GROUP_NONE,
		.offset = c->v[REEL_COL_OFFSET][i],
		.asked = c->v[REEL_COL_ASKED][i],
		.result = c->v[REEL_COL_RESULT][i],
		.arg = c->v[REEL_COL_ARG][i],
		.arg2 = c->v[REEL_COL_ARG2][i],
		.pos = c->v[REEL_COL_POS][i],
	};
	/* Clamp the times of a damaged store, so that sums do not overflow. */
	metric_limit_times(ev);
	if (ev->file > it->files)
		ev->file = 0;
	if (ev->file2 > it->files)
		ev->file2 = 0;
	ev->kind = it->kind[ev->file];
	ev->class_ = it->class_[ev->file];
}

static inline int64_t lane_end(const struct lane *a)
{
	return (int64_t)((uint64_t)a->cols.v[REEL_COL_START][a->at] +
			 (uint64_t)a->cols.v[REEL_COL_DUR][a->at]);
}

static int lane_load(struct reel_events *it, struct lane *a,
		     struct reel_error *err)
{
	const char *why = "an event block is missing";
	bool nested;
	int rc = -1;

	sqlite3_bind_int64(it->fetch, 1, a->block->block_id);
	if (sqlite3_step(it->fetch) != SQLITE_ROW ||
	    reel_event_block_decode(it->codec,
				    sqlite3_column_blob(it->fetch, 0),
				    (size_t)sqlite3_column_bytes(it->fetch, 0),
				    REEL_COL_ALL, &a->cols, &nested, &why))
		block_fail(it, why, err);
	else
		rc = 0;
	a->at = 0;
	sqlite3_reset(it->fetch);
	return rc;
}

/* Advance past the last returned event. */
static int merge_step(struct reel_events *it, struct reel_error *err)
{
	struct lane *a = it->heap.item[0].stream;

	if (++a->at == a->cols.n) {
		if (a->block == a->last) {
			reel_event_columns_fini(&a->cols);
			reel_merge_heap_drop(&it->heap);
			return 0;
		}
		a->block++;
		if (lane_load(it, a, err))
			return -1;
	}
	reel_merge_heap_next(&it->heap, lane_end(a));
	return 0;
}

static int merge_next(struct reel_events *it, struct reel_event *ev,
		      struct reel_error *err)
{
	struct lane *a;

	if (it->current && merge_step(it, err))
		return -1;
	it->current = NULL;
	while (it->next_waiting < it->lanes) {
		a = it->waiting[it->next_waiting];
		if (it->heap.n &&
		    it->heap.item[0].time_ns < a->block->min_start_ns)
			break;
		it->next_waiting++;
		if (lane_load(it, a, err))
			return -1;
		reel_merge_heap_add(&it->heap,
				    (struct reel_merge_item){
					    lane_end(a), a->block->thread, a});
	}
	if (!it->heap.n)
		return 0;
	a = it->current = it->heap.item[0].stream;
	fill_event(it, &a->cols, a->at, a->block->thread, ev);
	return 1;
}

int reel_events_next(struct reel_events *it, struct reel_event *ev,
		     struct reel_error *err)
{
	struct reel_event_row row;
	const char *why = "";
	int rc;

	if (!it->walk)
		return merge_next(it, ev, err);
	rc = reel_event_walk_next(it->walk, &row, &why);
	if (rc < 0)
		return block_fail(it, why, err);
	if (rc)
		fill_event(it, row.cols, row.at, row.thread, ev);
	return rc;
}

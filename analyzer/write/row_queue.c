/* SPDX-License-Identifier: MIT */
/*
 * Rows into the store in the order in which they came, whatever the number of
 * threads: the pages of the file depend on the order of all inserts. Any thread
 * of the pool compresses the blocks among them.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/write/internal.h"

/* A row that waits. */
struct writer_row {
	struct reel_task task; /* first: to compress its block */
	struct reel_writer *w;
	struct writer_row *next;
	enum writer_insert table;
	uint32_t id[2];
	char *text[2];
	struct reel_event_columns cols;
	uint32_t n; /* of cols */
	int64_t min, max;
	void *blob;
	size_t blob_bytes, blob_room;
	bool ready;
};

void writer_fail(struct reel_writer *w, const struct reel_error *err)
{
	if (!w->failure.code)
		w->failure = *err;
	reel_pool_wake(w->pool);
}

int writer_failed(const struct reel_writer *w, struct reel_error *err)
{
	if (!w->failure.code)
		return 0;
	if (!err->code)
		*err = w->failure;
	return -1;
}

/* The range of a block: times of events, or ids of open file descriptions. */
static void find_range(struct writer_row *r, const struct reel_event_columns *c)
{
	r->n = c->n;
	if (r->table == INSERT_OPENS) {
		r->min = c->v[REEL_COL_OPEN][0];
		r->max = c->v[REEL_COL_OPEN][c->n - 1];
		return;
	}
	r->min = INT64_MAX;
	r->max = INT64_MIN;
	for (uint32_t i = 0; i < c->n; i++) {
		int64_t start = c->v[REEL_COL_START][i];
		int64_t end = start + c->v[REEL_COL_DUR][i];

		r->min = start < r->min ? start : r->min;
		r->max = end > r->max ? end : r->max;
	}
}

static int insert_row(const struct writer_row *r, const void *blob,
		      size_t bytes, struct reel_error *err)
{
	struct reel_insert *out = &r->w->insert[r->table];

	if (r->table != INSERT_OPENS)
		reel_insert_int(out, r->id[0]);
	if (r->table == INSERT_NOTE)
		reel_insert_int(out, r->id[1]);
	if (r->n) {
		reel_insert_int(out, r->n);
		reel_insert_int(out, r->min);
		reel_insert_int(out, r->max);
		reel_insert_blob(out, blob, bytes);
	} else {
		reel_insert_text(out, r->text[0]);
		reel_insert_text(out, r->text[1]);
	}
	return reel_insert_done(out, err);
}

static void row_free(struct writer_row *r)
{
	if (!r)
		return;
	reel_event_columns_fini(&r->cols);
	free(r->text[0]);
	free(r->text[1]);
	free(r->blob);
	free(r);
}

/* With the lock: @r is in the store. Its memory for a blob is used again: one
 * thread would allocate it and another free it, and the heap would grow. */
static void row_done(struct reel_writer *w, struct writer_row *r)
{
	reel_event_columns_fini(&r->cols);
	for (int i = 0; i < 2; i++) {
		free(r->text[i]);
		r->text[i] = NULL;
	}
	r->next = w->row_free;
	w->row_free = r;
}

/* A row as @now, which is used again or new. NULL with @err. */
static struct writer_row *row_new(struct reel_writer *w,
				  const struct writer_row *now,
				  struct reel_error *err)
{
	struct writer_row *r;
	struct writer_row empty = *now;

	reel_pool_lock(w->pool);
	r = w->row_free;
	if (r)
		w->row_free = r->next;
	reel_pool_unlock(w->pool);
	if (!r)
		r = reel_alloc(1, sizeof(*r), err);
	if (!r)
		return NULL;
	empty.blob = r->blob;
	empty.blob_room = r->blob_room;
	*r = empty;
	return r;
}

/* With the lock: insert the first rows, as far as they are ready. */
static void insert_ready(struct reel_writer *w)
{
	struct writer_row *r;

	if (w->inserting)
		return;
	w->inserting = true;
	while ((r = w->row_first) && r->ready) {
		struct reel_error err = {0};
		bool stop = w->failure.code;

		reel_pool_unlock(w->pool);
		if (!stop)
			insert_row(r, r->blob, r->blob_bytes, &err);
		reel_pool_lock(w->pool);
		if (err.code)
			writer_fail(w, &err);
		w->row_first = r->next;
		w->rows--;
		row_done(w, r);
		reel_pool_wake(w->pool);
	}
	w->inserting = false;
}

/* Columns with @room rows: those of a block before, if they fit. */
static int spare_columns(struct reel_writer *w, struct reel_event_columns *c,
			 uint32_t room)
{
	for (uint32_t i = 0; i < w->spares; i++) {
		if (w->spare[i].room != room)
			continue;
		*c = w->spare[i];
		w->spare[i] = w->spare[--w->spares];
		return 0;
	}
	*c = (struct reel_event_columns){0};
	return reel_event_columns_grow(c, room);
}

/* With the lock: the columns of @r are free. The largest are kept: the system clears
 * their memory each time it is new. */
static void keep_columns(struct reel_writer *w, struct writer_row *r)
{
	uint32_t at = 0;

	if (w->spares == WRITER_SPARES) {
		for (uint32_t i = 1; i < w->spares; i++)
			if (w->spare[i].room < w->spare[at].room)
				at = i;
		if (w->spare[at].room >= r->cols.room)
			return;
		reel_event_columns_fini(&w->spare[at]);
		w->spare[at] = w->spare[--w->spares];
	}
	r->cols.n = r->cols.same = 0;
	w->spare[w->spares++] = r->cols;
	r->cols = (struct reel_event_columns){0};
}

/* Compress the block of @r. */
static int pack_row(struct writer_row *r, int thread, struct reel_error *err)
{
	const void *blob;

	if (reel_event_block_encode(r->w->codec[thread], &r->cols, &blob,
				    &r->blob_bytes))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	if (r->blob_bytes > r->blob_room) {
		if (reel_grow(&r->blob, r->blob_bytes, 1, err))
			return -1;
		r->blob_room = r->blob_bytes;
	}
	memcpy(r->blob, blob, r->blob_bytes);
	return 0;
}

static void run_pack(struct reel_task *task, int thread)
{
	struct writer_row *r = (struct writer_row *)task;
	struct reel_writer *w = r->w;
	struct reel_error err = {0};

	pack_row(r, thread, &err);
	reel_pool_lock(w->pool);
	if (err.code)
		writer_fail(w, &err);
	writer_row_packed(w, r);
	reel_pool_unlock(w->pool);
}

void writer_row_blob(struct writer_row *r, void *blob, size_t bytes)
{
	free(r->blob);
	r->blob = blob;
	r->blob_bytes = r->blob_room = bytes;
}

const struct reel_event_columns *writer_row_columns(const struct writer_row *r)
{
	return &r->cols;
}

void writer_row_packed(struct reel_writer *w, struct writer_row *r)
{
	r->ready = true;
	keep_columns(w, r);
	insert_ready(w);
}

/* Append @r, which is taken. Waits while too many rows wait. */
static int queue_row(struct reel_writer *w, struct writer_row *r, int thread,
		     struct reel_error *err)
{
	int packers = reel_pool_threads(w->pool) +
		      (w->ranks.with ? w->ranks.with->n : 0);
	uint32_t most = (uint32_t)packers + 1;
	int rc;

	reel_pool_lock(w->pool);
	while (w->rows >= most && !w->failure.code)
		reel_pool_help(w->pool, thread, true);
	rc = writer_failed(w, err);
	if (rc) {
		reel_pool_unlock(w->pool);
		row_free(r);
		return rc;
	}
	if (w->row_first)
		w->row_last->next = r;
	else
		w->row_first = r;
	w->row_last = r;
	w->rows++;
	if (r->ready)
		insert_ready(w);
	else
		reel_pool_put(w->pool, &r->task, true);
	reel_pool_unlock(w->pool);
	return 0;
}

int writer_put_columns(struct reel_writer *w, enum writer_insert table,
		       uint32_t id, struct reel_event_columns *c, int thread,
		       struct reel_error *err)
{
	struct writer_row now = {.w = w, .table = table, .id = {id}}, *r;
	const void *blob;
	size_t bytes;
	int rc;

	if (!w->pool) {
		find_range(&now, c);
		if (reel_event_block_encode(w->codec[0], c, &blob, &bytes))
			return reel_fail(err, REEL_E_MEMORY, "out of memory");
		c->n = 0;
		return insert_row(&now, blob, bytes, err);
	}
	r = row_new(w, &now, err);
	if (!r)
		return -1;
	r->task.run = run_pack;
	find_range(r, c);
	r->cols = *c;
	reel_pool_lock(w->pool);
	rc = spare_columns(w, c, r->cols.room);
	reel_pool_unlock(w->pool);
	if (rc) {
		row_free(r);
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	}
	return queue_row(w, r, thread, err);
}

int writer_put_texts(struct reel_writer *w, enum writer_insert table,
		     const uint32_t id[2], const char *const text[2],
		     int thread, struct reel_error *err)
{
	struct writer_row now = {.w = w, .table = table, .id = {id[0], id[1]}};
	struct writer_row *r;

	if (!w->pool) {
		now.text[0] = (char *)text[0];
		now.text[1] = (char *)text[1];
		return insert_row(&now, NULL, 0, err);
	}
	r = row_new(w, &now, err);
	if (!r)
		return -1;
	r->ready = true;
	for (int i = 0; i < 2; i++) {
		r->text[i] = text[i] ? reel_strdup(text[i], err) : NULL;
		if (text[i] && !r->text[i]) {
			row_free(r);
			return -1;
		}
	}
	return queue_row(w, r, thread, err);
}

void writer_rows_fini(struct reel_writer *w)
{
	struct writer_row *lists[] = {w->row_first, w->row_free}, *next;

	for (int i = 0; i < 2; i++)
		for (struct writer_row *r = lists[i]; r; r = next) {
			next = r->next;
			row_free(r);
		}
	while (w->spares)
		reel_event_columns_fini(&w->spare[--w->spares]);
}

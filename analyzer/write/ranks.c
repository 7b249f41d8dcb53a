/* SPDX-License-Identifier: MIT */
/*
 * Blocks to other processes and back. One thread of the writer takes blocks
 * that wait, sends them to free ranks, and collects the results.
 */
#include "analyzer/write/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "analyzer/write/internal.h"

#define POLL_NS 200000 /* until results are asked for again */

/* Before the columns, one after the other, each with the values that are set. */
struct pack_head {
	uint32_t rows;
	uint32_t same;
	uint32_t tight;
};

struct reel_packer {
	struct reel_codec *codec;
	struct reel_event_columns cols;
};

int reel_packer_new(struct reel_packer **out, struct reel_error *err)
{
	struct reel_packer *p = reel_alloc(1, sizeof(*p), err);

	if (!p)
		return -1;
	p->codec = reel_codec_new();
	if (!p->codec) {
		free(p);
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	}
	*out = p;
	return 0;
}

void reel_packer_free(struct reel_packer *p)
{
	if (!p)
		return;
	reel_codec_free(p->codec);
	reel_event_columns_fini(&p->cols);
	free(p);
}

/* Bytes of the values that are set, of all columns. */
static size_t columns_bytes(const struct reel_event_columns *c)
{
	size_t values = 0;

	for (int i = 0; i < REEL_COLUMNS; i++)
		values += reel_event_columns_set(c, i);
	return values * sizeof(*c->v[0]);
}

int reel_packer_run(struct reel_packer *p, const void *data, size_t bytes,
		    void **out, size_t *out_bytes, struct reel_error *err)
{
	const char *at = data;
	struct pack_head head;
	const void *blob;

	if (bytes < sizeof(head))
		return reel_fail(err, REEL_E_FORMAT, "a message is cut short");
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	p->cols.n = 0;
	if (!head.rows || head.rows > REEL_BLOCK_EVENTS_MAX)
		return reel_fail(err, REEL_E_FORMAT, "a message is damaged");
	if (reel_event_columns_grow(&p->cols, head.rows))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	p->cols.n = head.rows;
	p->cols.same = head.same;
	if (bytes != sizeof(head) + columns_bytes(&p->cols))
		return reel_fail(err, REEL_E_FORMAT, "a message is cut short");
	for (int i = 0; i < REEL_COLUMNS; i++) {
		size_t part = reel_event_columns_set(&p->cols, i) *
			      sizeof(*p->cols.v[i]);

		memcpy(p->cols.v[i], at, part);
		at += part;
	}
	reel_codec_tight(p->codec, head.tight);
	if (reel_event_block_encode(p->codec, &p->cols, &blob, out_bytes) ||
	    !(*out = malloc(*out_bytes)))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	memcpy(*out, blob, *out_bytes);
	return 0;
}

/* --- in the writer -------------------------------------------------------- */

static int send_block(struct writer_ranks *r, int rank,
		      const struct reel_event_columns *c,
		      struct reel_error *err)
{
	struct pack_head head = {c->n, c->same, r->w->tight};
	size_t bytes = sizeof(head) + columns_bytes(c);
	char *data = malloc(bytes), *at = data;
	int rc;

	if (!data)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	for (int i = 0; i < REEL_COLUMNS; i++) {
		size_t part = reel_event_columns_set(c, i) * sizeof(*c->v[i]);

		memcpy(at, c->v[i], part);
		at += part;
	}
	rc = r->with->send(r->with->arg, rank, data, bytes, err);
	free(data);
	return rc;
}

static int free_rank(const struct writer_ranks *r)
{
	for (int i = 1; i <= r->with->n; i++)
		if (!r->row[i])
			return i;
	return 0;
}

/* With the lock: a result, if one has arrived. */
static bool take_result(struct writer_ranks *r, struct reel_error *err)
{
	struct reel_pool *pool = r->w->pool;
	void *data = NULL;
	size_t bytes = 0;
	int rank, rc;

	reel_pool_unlock(pool);
	rc = r->with->receive(r->with->arg, &rank, &data, &bytes, err);
	reel_pool_lock(pool);
	if (rc <= 0)
		return false;
	if (!bytes)
		reel_fail(err, REEL_E_MEMORY, "rank %d is out of memory", rank);
	r->busy--;
	writer_row_blob(r->row[rank], data, bytes);
	writer_row_packed(r->w, r->row[rank]);
	r->row[rank] = NULL;
	return true;
}

/* With the lock: send a block that waits to a free rank. */
static bool give_block(struct writer_ranks *r, struct reel_error *err)
{
	struct reel_pool *pool = r->w->pool;
	int rank = free_rank(r);
	struct reel_task *task = rank ? reel_pool_take_urgent(pool) : NULL;

	if (!task)
		return false;
	r->row[rank] = (struct writer_row *)task;
	r->busy++;
	reel_pool_unlock(pool);
	send_block(r, rank, writer_row_columns(r->row[rank]), err);
	reel_pool_lock(pool);
	return true;
}

static void *serve_ranks(void *arg)
{
	struct writer_ranks *r = arg;
	struct reel_writer *w = r->w;
	struct reel_error err = {0};

	reel_pool_lock(w->pool);
	while (!err.code) {
		if (!r->stop && give_block(r, &err))
			continue;
		if (r->busy && take_result(r, &err))
			continue;
		if (r->stop && !r->busy)
			break;
		reel_pool_wait(w->pool, r->busy ? POLL_NS : 0);
	}
	if (err.code)
		writer_fail(w, &err);
	reel_pool_unlock(w->pool);
	return NULL;
}

int writer_ranks_init(struct reel_writer *w, const struct reel_ranks *with,
		      struct reel_error *err)
{
	struct writer_ranks *r = &w->ranks;

	if (!with || !with->n)
		return 0;
	r->w = w;
	r->row = reel_alloc((size_t)with->n + 1, sizeof(*r->row), err);
	if (!r->row)
		return -1;
	r->with = with;
	if (reel_pool_thread(&r->thread, serve_ranks, r))
		r->with = NULL; /* this process does it alone */
	return 0;
}

void writer_ranks_fini(struct reel_writer *w)
{
	struct writer_ranks *r = &w->ranks;

	if (r->with) {
		reel_pool_lock(w->pool);
		r->stop = true;
		reel_pool_wake(w->pool);
		reel_pool_unlock(w->pool);
		pthread_join(r->thread, NULL);
	}
	free(r->row);
}

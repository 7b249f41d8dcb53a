/* SPDX-License-Identifier: MIT */
/* Insert rows into a table of the store with one prepared INSERT. */
#include "lib/store/insert.h"

#include <math.h>

#include "lib/error.h"
#include "lib/store/row_block.h"
#include "lib/store/store.h"

int reel_insert_open(struct reel_insert *r, struct reel_store *st,
		     const char *sql, struct reel_error *err)
{
	*r = (struct reel_insert){.st = st};
	return reel_store_prepare(st, &r->stmt, sql, err);
}

void reel_insert_int(struct reel_insert *r, int64_t value)
{
	sqlite3_bind_int64(r->stmt, ++r->column, value);
}

void reel_insert_id(struct reel_insert *r, uint32_t id)
{
	if (id)
		reel_insert_int(r, id);
	else
		reel_insert_null(r);
}

void reel_insert_real(struct reel_insert *r, double value)
{
	sqlite3_bind_double(r->stmt, ++r->column, value);
}

void reel_insert_null(struct reel_insert *r)
{
	sqlite3_bind_null(r->stmt, ++r->column);
}

void reel_insert_text(struct reel_insert *r, const char *text)
{
	sqlite3_bind_text(r->stmt, ++r->column, text, -1, SQLITE_STATIC);
}

void reel_insert_blob(struct reel_insert *r, const void *blob, size_t len)
{
	sqlite3_bind_blob64(r->stmt, ++r->column, blob, len, SQLITE_STATIC);
}

void reel_insert_stat(struct reel_insert *r, double value)
{
	if (value < 0 || isnan(value))
		reel_insert_null(r);
	else if (value >= 0x1p62)
		reel_insert_int(r, INT64_MAX);
	else
		reel_insert_int(r, (int64_t)llround(value));
}

int reel_insert_done(struct reel_insert *r, struct reel_error *err)
{
	int rc = sqlite3_step(r->stmt);

	r->column = 0;
	sqlite3_reset(r->stmt);
	if (rc == SQLITE_DONE)
		return 0;
	return reel_fail(err, REEL_E_DB, "cannot write store '%s': %s",
			 r->st->path, sqlite3_errmsg(r->st->db));
}

int reel_insert_block(struct reel_insert *r, struct reel_codec *k,
		      struct reel_rows *b, struct reel_error *err)
{
	const void *blob;
	size_t len;

	if (!b->n)
		return 0;
	if (reel_rows_encode(k, b, &blob, &len))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	reel_insert_int(r, b->n);
	reel_insert_int(r, b->id[0]);
	reel_insert_int(r, b->id[b->n - 1]);
	reel_insert_blob(r, blob, len);
	b->n = 0;
	b->text_len = 0;
	return reel_insert_done(r, err);
}

int reel_insert_close(struct reel_insert *r, int rc)
{
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
	return rc;
}

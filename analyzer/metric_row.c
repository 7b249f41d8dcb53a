/* SPDX-License-Identifier: MIT */
/* Rows of a metric's tables, through one prepared INSERT. */
#include <math.h>
#include <stddef.h>

#include "lib/error.h"

#include "analyzer/metric_row.h"
#include "analyzer/store.h"

int metric_row_open(struct metric_row *r, struct reel_store *st,
		    const char *sql, struct reel_error *err)
{
	r->st = st;
	r->column = 0;
	r->stmt = NULL;
	return reel_store_prepare(st, &r->stmt, sql, err);
}

void metric_row_int(struct metric_row *r, int64_t value)
{
	sqlite3_bind_int64(r->stmt, ++r->column, value);
}

void metric_row_id(struct metric_row *r, uint32_t id)
{
	if (id)
		metric_row_int(r, id);
	else
		metric_row_null(r);
}

void metric_row_null(struct metric_row *r)
{
	sqlite3_bind_null(r->stmt, ++r->column);
}

void metric_row_text(struct metric_row *r, const char *text)
{
	sqlite3_bind_text(r->stmt, ++r->column, text, -1, SQLITE_STATIC);
}

void metric_row_blob(struct metric_row *r, const void *blob, size_t len)
{
	sqlite3_bind_blob64(r->stmt, ++r->column, blob, len, SQLITE_STATIC);
}

void metric_row_stat(struct metric_row *r, double value)
{
	if (value < 0 || isnan(value))
		metric_row_null(r);
	else if (value >= 0x1p62)
		metric_row_int(r, INT64_MAX);
	else
		metric_row_int(r, (int64_t)llround(value));
}

int metric_row_done(struct metric_row *r, struct reel_error *err)
{
	int rc = sqlite3_step(r->stmt);

	r->column = 0;
	if (rc == SQLITE_DONE && sqlite3_reset(r->stmt) == SQLITE_OK)
		return 0;
	return reel_fail(err, REEL_E_DB, "cannot write a metric: %s",
			 sqlite3_errmsg(r->st->db));
}

int metric_row_close(struct metric_row *r, int rc, struct reel_error *err)
{
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
	return rc;
}

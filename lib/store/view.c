/* SPDX-License-Identifier: MIT */
/* The rows of a view, read by the names of their columns. */
#include "lib/store/view.h"

#include <string.h>

#include <sqlite3.h>

#include "lib/error.h"
#include "lib/store/store.h"

int reel_view_open(struct reel_view *v, struct reel_store *st, const char *sql,
		   struct reel_error *err)
{
	*v = (struct reel_view){.st = st, .err = err};
	v->failed = reel_store_prepare(st, &v->stmt, sql, err) != 0;
	return v->failed ? -1 : 0;
}

void reel_view_bind(struct reel_view *v, int n, int64_t value)
{
	if (!v->failed)
		sqlite3_bind_int64(v->stmt, n, value);
}

bool reel_view_next(struct reel_view *v)
{
	int step = v->failed ? SQLITE_DONE : sqlite3_step(v->stmt);

	if (step == SQLITE_ROW)
		return true;
	if (step != SQLITE_DONE) {
		reel_fail(v->err, REEL_E_DB, "cannot read '%s': %s",
			  v->st->path, sqlite3_errmsg(v->st->db));
		v->failed = true;
	}
	return false;
}

int reel_view_close(struct reel_view *v)
{
	sqlite3_finalize(v->stmt);
	v->stmt = NULL;
	return v->failed ? -1 : 0;
}

/* The index of @column; -1 and a failure when there is none. */
static int column_index(struct reel_view *v, const char *column)
{
	int n = sqlite3_column_count(v->stmt);

	for (int i = 0; i < n; i++)
		if (!strcmp(sqlite3_column_name(v->stmt, i), column))
			return i;
	reel_fail(v->err, REEL_E_DB, "cannot read '%s': no column %s in '%s'",
		  v->st->path, column, sqlite3_sql(v->stmt));
	v->failed = true;
	return -1;
}

static bool is_null(struct reel_view *v, int i)
{
	return i < 0 || sqlite3_column_type(v->stmt, i) == SQLITE_NULL;
}

static int64_t clamped(struct reel_view *v, int i)
{
	const int64_t most = INT64_MAX / REEL_VIEW_ADDENDS;
	int64_t value = sqlite3_column_int64(v->stmt, i);

	return value > most ? most : value < -most ? -most : value;
}

int64_t reel_view_int(struct reel_view *v, const char *column)
{
	int i = column_index(v, column);

	return is_null(v, i) ? 0 : clamped(v, i);
}

int64_t reel_view_known(struct reel_view *v, const char *column)
{
	int i = column_index(v, column);

	return is_null(v, i) ? REEL_VIEW_NONE : clamped(v, i);
}

int64_t reel_view_exact(struct reel_view *v, const char *column)
{
	int i = column_index(v, column);

	return is_null(v, i) ? 0 : sqlite3_column_int64(v->stmt, i);
}

bool reel_view_is_null(struct reel_view *v, const char *column)
{
	return is_null(v, column_index(v, column));
}

double reel_view_real(struct reel_view *v, const char *column)
{
	int i = column_index(v, column);

	return is_null(v, i) ? REEL_VIEW_NONE
			     : sqlite3_column_double(v->stmt, i);
}

const char *reel_view_text(struct reel_view *v, const char *column)
{
	int i = column_index(v, column);

	return is_null(v, i) ? ""
			     : (const char *)sqlite3_column_text(v->stmt, i);
}

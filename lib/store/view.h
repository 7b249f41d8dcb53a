/* SPDX-License-Identifier: MIT */
/*
 * The rows of a view, read by the names of its columns.
 *
 * A store may come from elsewhere: a value of another type than the one asked
 * for is converted, a missing column is an error.
 */
#ifndef LIB_STORE_VIEW_H
#define LIB_STORE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_store;
struct sqlite3_stmt;

#define REEL_VIEW_NONE (-1) /* NULL as a number */

/* Integers are clamped, so that so many may be added up without overflow. */
#define REEL_VIEW_ADDENDS 64

struct reel_view {
	struct reel_store *st;
	struct sqlite3_stmt *stmt;
	struct reel_error *err;
	bool failed;
};

/*
 * Open the rows of @sql: "SELECT * FROM v_group". Borrows @st and @err, which
 * is filled by the first failure. 0 or -1; reel_view_close() is due for both.
 */
int reel_view_open(struct reel_view *v, struct reel_store *st, const char *sql,
		   struct reel_error *err);
/* Bind parameter @n, from 1 on; one that the query does not have is ignored. */
void reel_view_bind(struct reel_view *v, int n, int64_t value);
/* Go to the next row: true, there is one; false: the end, or a failure. */
bool reel_view_next(struct reel_view *v);
/* 0, or -1 when anything failed since reel_view_open(). */
int reel_view_close(struct reel_view *v);

/* A column of the row; of NULL 0, or REEL_VIEW_NONE from reel_view_known().
 * reel_view_exact() does not clamp. */
int64_t reel_view_int(struct reel_view *v, const char *column);
int64_t reel_view_known(struct reel_view *v, const char *column);
int64_t reel_view_exact(struct reel_view *v, const char *column);
bool reel_view_is_null(struct reel_view *v, const char *column);
/* NULL: REEL_VIEW_NONE. */
double reel_view_real(struct reel_view *v, const char *column);
/* Borrowed until the next row; "" when it is NULL. */
const char *reel_view_text(struct reel_view *v, const char *column);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The rows of a view, read by the names of its columns.
 *
 * A store may come from elsewhere: a value of another type than the one asked
 * for is converted, a missing column is an error.
 */
#ifndef ANALYZER_REPORT_VIEW_H
#define ANALYZER_REPORT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_store;
struct sqlite3_stmt;

#define REPORT_NONE (-1) /* not measured: shares, times, sizes */

/* Integers are clamped, so that so many may be added up without overflow. */
#define REPORT_ADDENDS 64

struct report_view {
	struct reel_store *st;
	struct sqlite3_stmt *stmt;
	struct reel_error *err;
	bool failed;
};

/*
 * Open the rows of @sql: "SELECT * FROM v_group". Borrows @st and @err, which
 * is filled by the first failure. 0 or -1; report_view_close() is due for both.
 */
int report_view_open(struct report_view *v, struct reel_store *st,
		     const char *sql, struct reel_error *err);
/* Bind the first parameter. */
void report_view_bind(struct report_view *v, int64_t value);
/* Go to the next row: true, there is one; false: the end, or a failure. */
bool report_view_next(struct report_view *v);
/* 0, or -1 when anything failed since report_view_open(). */
int report_view_close(struct report_view *v);

/* A column of the row; of NULL 0, or REPORT_NONE from report_view_known().
 * report_view_date() does not clamp. */
int64_t report_view_int(struct report_view *v, const char *column);
int64_t report_view_known(struct report_view *v, const char *column);
int64_t report_view_date(struct report_view *v, const char *column);
/* NULL: REPORT_NONE. */
double report_view_real(struct report_view *v, const char *column);
/* Borrowed until the next row; "" when it is NULL. */
const char *report_view_text(struct report_view *v, const char *column);

#endif

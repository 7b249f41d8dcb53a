/* SPDX-License-Identifier: MIT */
/*
 * Rows of a metric's tables: one prepared INSERT, columns bound from left to
 * right. Only metric_row_open() and metric_row_done() fail.
 */
#ifndef ANALYZER_METRIC_ROW_H
#define ANALYZER_METRIC_ROW_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct reel_error;
struct reel_store;

struct metric_row {
	struct reel_store *st;
	sqlite3_stmt *stmt;
	int column;
};

/* @sql: "INSERT INTO t VALUES (?,...)". 0, or -1 with @err (REEL_E_DB). */
int metric_row_open(struct metric_row *r, struct reel_store *st,
		    const char *sql, struct reel_error *err);
void metric_row_int(struct metric_row *r, int64_t value);
void metric_row_id(struct metric_row *r, uint32_t id); /* 0 is NULL */
void metric_row_null(struct metric_row *r);
void metric_row_text(struct metric_row *r, const char *text); /* static */
void metric_row_blob(struct metric_row *r, const void *blob, size_t len);
/* A statistic as an integer: rounded; a negative one means none: NULL. */
void metric_row_stat(struct metric_row *r, double value);
/* Write the row, begin the next. 0 or -1. */
int metric_row_done(struct metric_row *r, struct reel_error *err);
/* @rc, for "return metric_row_close(&out, rc, err)". */
int metric_row_close(struct metric_row *r, int rc, struct reel_error *err);

#endif

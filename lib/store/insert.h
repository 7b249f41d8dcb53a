/* SPDX-License-Identifier: MIT */
/*
 * Insert rows into a table of the store: one prepared INSERT, columns bound
 * from left to right. Only _open(), _done() and _block() can fail; 0, or -1
 * with @err.
 */
#ifndef LIB_STORE_INSERT_H
#define LIB_STORE_INSERT_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct reel_codec;
struct reel_error;
struct reel_rows;
struct reel_store;

/* Zeroed: closed. Borrows the store. */
struct reel_insert {
	struct reel_store *st;
	sqlite3_stmt *stmt;
	int column;
};

/* @sql: "INSERT INTO t VALUES (?,...)". REEL_E_DB. */
int reel_insert_open(struct reel_insert *r, struct reel_store *st,
		     const char *sql, struct reel_error *err);
void reel_insert_int(struct reel_insert *r, int64_t value);
void reel_insert_id(struct reel_insert *r, uint32_t id); /* 0 is NULL */
void reel_insert_null(struct reel_insert *r);
/* Text and blob are borrowed until the row is done. NULL is NULL. */
void reel_insert_text(struct reel_insert *r, const char *text);
void reel_insert_blob(struct reel_insert *r, const void *blob, size_t len);
void reel_insert_real(struct reel_insert *r, double value);
/* A statistic, rounded to an integer; a negative one or NaN is NULL. */
void reel_insert_stat(struct reel_insert *r, double value);
/* Write the row, begin the next. REEL_E_DB. */
int reel_insert_done(struct reel_insert *r, struct reel_error *err);
/* Write @b, unless it is empty, as a row of a table of blocks: number of rows,
 * smallest and largest id, data. Empties @b. REEL_E_MEMORY, REEL_E_DB. */
int reel_insert_block(struct reel_insert *r, struct reel_codec *k,
		      struct reel_rows *b, struct reel_error *err);
/* Returns @rc, for "return reel_insert_close(&out, rc)". */
int reel_insert_close(struct reel_insert *r, int rc);

#endif

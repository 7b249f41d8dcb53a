/* SPDX-License-Identifier: MIT */
/*
 * Parquet: the layout of our files, which their writer (parquet.c) and their reader
 * (parquet_read.c) share; the rows of a file of others (parquet_inspect.c).
 */
#ifndef REPLAY_DATASET_PARQUET_H
#define REPLAY_DATASET_PARQUET_H

#include <stdbool.h>
#include <stdint.h>

struct dataset;
struct format_sample;
struct io;
struct format_storage;
struct reel_error;
struct thrift_out;

#define PARQUET_MAGIC "PAR1" /* at both ends of a file */
#define PARQUET_TAIL 8	     /* length of the footer, and the magic */

/* As inspect() of struct format: each row has its share of its row group. */
int parquet_inspect(const char *path, int64_t **sizes, uint32_t *n,
		    uint32_t *room, struct reel_error *err);
/* As storage() of struct format: the rows of its first row group alone. */
int parquet_storage(const char *path, struct format_storage *out);

/* @count columns that are alike. */
struct parquet_kind {
	int type;
	uint64_t bytes;	       /* of a value; 0: they vary */
	uint64_t count, first; /* number of the first one of them */
	uint64_t offset;       /* of its values in the payload */
	bool read;
};

struct parquet_page {
	uint64_t rows, bytes;
};

/* Kind @i from the one before it, which is in @k. False: there are no more. */
bool parquet_next_kind(const struct dataset *d, uint32_t i,
		       struct parquet_kind *k);
/* The page that begins with @sample, where @left rows of the group are left. */
struct parquet_page parquet_page_of(const struct dataset *d,
				    const struct parquet_kind *k,
				    uint64_t sample, uint64_t left);
void parquet_page_header(struct thrift_out *o, struct parquet_page p);
/* Bytes of a column of the group of @rows from @sample on, with its headers. */
uint64_t parquet_chunk_bytes(const struct dataset *d,
			     const struct parquet_kind *k, uint64_t sample,
			     uint64_t rows);
/* Rows of the next group, where @left rows of the file are left. */
uint64_t parquet_group_rows(const struct dataset *d, uint64_t left);
/* Bytes of the values of a row, without its number. */
uint64_t parquet_row_bytes(const struct dataset *d, uint64_t sample);

/* open(), read() and close() of struct format. */
int parquet_open(void **state, const struct dataset *d, uint64_t file,
		 struct io *io, struct reel_error *err);
int parquet_read(void *state, uint64_t sample, struct format_sample *out,
		 struct reel_error *err);
int parquet_close(void *state, struct reel_error *err);

#endif

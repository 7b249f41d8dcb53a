/* SPDX-License-Identifier: MIT */
/*
 * Row blocks: rows with an id as compressed columns, with their paths or names:
 * the blobs of file_block, file_io_block and span_block. Specification:
 * ioreel-store(5), "Blocks".
 *
 * This file goes into ioreel_sqlite.so too, so it needs only zstd.
 */
#ifndef LIB_STORE_ROW_BLOCK_H
#define LIB_STORE_ROW_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/store/byte_planes.h" /* struct reel_codec */

#define REEL_ROW_BLOCK 1024	  /* the most rows in a block we write */
#define REEL_ROW_TEXT (256 << 10) /* the row that exceeds it ends a block */
#define REEL_ROW_COLUMNS 15	  /* the most, without the id */

/* The first columns of rows with a text (a path or a name). */
enum reel_text_column {
	REEL_TEXT_PREFIX, /* bytes shared with the start of the previous text */
	REEL_TEXT_TAIL,	  /* bytes shared with its end */
	REEL_TEXT_MIDDLE, /* bytes between these two, in the block's text */
	REEL_TEXT_COLUMNS
};
#define REEL_TEXT_MASK ((1u << REEL_TEXT_COLUMNS) - 1)

/* The columns of file_block. The order is on disk, here and below. */
enum reel_file_column {
	REEL_FILE_KIND = REEL_TEXT_COLUMNS,
	REEL_FILE_CLASS,
	REEL_FILE_SIZE, /* size_bytes + 1; 0: unknown */
	REEL_FILE_COLUMNS
};

/* The columns of span_block. */
enum reel_span_column {
	REEL_SPAN_THREAD = REEL_TEXT_COLUMNS,
	REEL_SPAN_PARENT, /* span_id - parent_id; 0: none */
	REEL_SPAN_KIND,
	REEL_SPAN_DETAIL, /* zigzag, + 1; 0: none */
	REEL_SPAN_START_NS,
	REEL_SPAN_DUR_NS,
	REEL_SPAN_CLOSED,
	REEL_SPAN_COLUMNS
};

/* The columns of file_io_block. */
enum reel_file_io_column {
	REEL_FILE_IO_SHARED,
	REEL_FILE_IO_OPENS,
	REEL_FILE_IO_READS,
	REEL_FILE_IO_WRITES,
	REEL_FILE_IO_META_CALLS,
	REEL_FILE_IO_ERRORS,
	REEL_FILE_IO_EOF_READS,
	REEL_FILE_IO_READ_BYTES,
	REEL_FILE_IO_WRITE_BYTES,
	REEL_FILE_IO_READ_NS,
	REEL_FILE_IO_WRITE_NS,
	REEL_FILE_IO_META_NS,
	REEL_FILE_IO_MAPPED_BYTES,
	REEL_FILE_IO_COLUMNS
};

/* The layout of the rows of a table. */
struct reel_row_kind {
	int columns;
	bool text;
	uint32_t differs; /* mask of columns stored as differences */
};
extern const struct reel_row_kind reel_row_file, reel_row_file_io,
	reel_row_span;

/* @n rows in the order of id; room for @room. Zeroed is valid and empty. */
struct reel_rows {
	const struct reel_row_kind *kind;
	uint32_t n, room;
	int64_t *id; /* one allocation with v and text_at */
	uint64_t *v[REEL_ROW_COLUMNS];
	uint32_t *text_at; /* start of each row's middle, and the end */
	char *text;
	uint32_t text_len, text_room;
};

/* Empty @r and make room. 0, or -1: no memory. */
int reel_rows_begin(struct reel_rows *r, const struct reel_row_kind *kind,
		    uint32_t room);
void reel_rows_fini(struct reel_rows *r);
/* True when a writer should end the block. */
static inline bool reel_rows_full(const struct reel_rows *r)
{
	return r->n == REEL_ROW_BLOCK || r->text_len >= REEL_ROW_TEXT;
}
/* Bytes of memory of @r. */
size_t reel_rows_bytes(const struct reel_rows *r);

/*
 * Set the text of the next row, r->n, before r->n is incremented: fills its
 * three columns. @before is the text of the previous row. 0, or -1: no memory.
 */
int reel_rows_text_add(struct reel_rows *r, const char *before,
		       size_t before_len, const char *text, size_t len);

/* A text being decoded. Zeroed is valid. */
struct reel_row_text {
	char *text; /* not NUL-terminated */
	size_t len, room;
	const struct reel_rows *of; /* source of the text; NULL: none */
	uint32_t at;
};

/* Decode the text of row @at; 0, or -1 with @why: damaged, or no memory. */
int reel_rows_text(const struct reel_rows *r, uint32_t at,
		   struct reel_row_text *text, const char **why);
void reel_row_text_fini(struct reel_row_text *text);

/* Encode @r as a blob, valid in @k until the next. 0, or -1: no memory. */
int reel_rows_encode(struct reel_codec *k, const struct reel_rows *r,
		     const void **blob, size_t *len);
/*
 * Decode the ids and the columns of @mask into @r. 0; or -1 with @why: the blob
 * is damaged, or no memory.
 */
int reel_rows_decode(struct reel_codec *k, const void *blob, size_t len,
		     const struct reel_row_kind *kind, uint32_t mask,
		     struct reel_rows *r, const char **why);

#endif

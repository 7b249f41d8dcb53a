/* SPDX-License-Identifier: MIT */
/*
 * Columns of numbers as byte planes, each compressed alone: the codec of all
 * blocks of the store. Specification: ioreel-store(5), "Blocks".
 *
 * This file goes into ioreel_sqlite.so too, so it needs only zstd.
 */
#ifndef LIB_STORE_BYTE_PLANES_H
#define LIB_STORE_BYTE_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REEL_PLANES_COLUMNS 16	   /* the most in a block */
#define REEL_PLANES_ROWS_MAX 65536 /* a reader refuses more */

/* Buffers of the encoder or decoder, reused from block to block. */
struct reel_codec;
struct reel_codec *reel_codec_new(void); /* NULL: no memory */
void reel_codec_free(struct reel_codec *k);

/* Compress better, at a tenth of the speed: for a small store. */
void reel_codec_tight(struct reel_codec *k, bool tight);

/*
 * Write a block: begin; for each column an add for each part of its rows, then a
 * put; end. Begin returns the buffer for the numbers of a part, which stay in the
 * nearest cache; @n is the most rows of a column. NULL: no memory. @level is
 * zstd's.
 */
#define REEL_PLANES_PART 1024 /* rows */
uint64_t *reel_byte_planes_begin(struct reel_codec *k, uint32_t n, int level);
/* Rows of the part that begins at @at, of @n in all. */
static inline uint32_t reel_byte_planes_part(uint32_t n, uint32_t at)
{
	return n - at < REEL_PLANES_PART ? n - at : REEL_PLANES_PART;
}
/* Add the first @n numbers of the buffer to the column. */
void reel_byte_planes_add(struct reel_codec *k, uint32_t n);
/* The column is complete; after one row: all its numbers equal the first. */
void reel_byte_planes_put(struct reel_codec *k);
/* Add @text, of @len bytes, after the last column. 0, or -1: no memory. */
int reel_byte_planes_text(struct reel_codec *k, const char *text, size_t len);
/* Give the block, valid in @k until the next one: @head, directory, planes,
 * text. */
#define REEL_PLANES_HEAD 18 /* the longest head */
void reel_byte_planes_end(struct reel_codec *k, const uint8_t *head, size_t len,
			  const void **blob, size_t *blob_len);

/* The directory of a block, for reading. */
struct reel_byte_planes {
	struct {
		int planes;
		uint64_t constant; /* its value, if it has no planes */
		uint64_t bits;	   /* of a sparse column, else 0; as a plane */
		uint64_t plane[8]; /* length << 1 | compressed */
		size_t at;	   /* of its first plane, in data */
	} column[REEL_PLANES_COLUMNS];
	const uint8_t *data, *end, *text;
	uint32_t n;
};

/* Read the directory at @p. 0, or -1: damaged. Borrows @p for the calls
 * below. */
int reel_byte_planes_open(struct reel_byte_planes *d, uint32_t n, int columns,
			  const uint8_t *p, const uint8_t *end);
/* Begin to read the block: call it before reel_byte_planes_get(). @k reads one block
 * at a time. 0, or -1: no memory. */
int reel_byte_planes_ready(struct reel_codec *k,
			   const struct reel_byte_planes *d);
/* Write the numbers of a column to @out, d->n of them. 0, or -1: damaged. */
int reel_byte_planes_get(struct reel_codec *k, const struct reel_byte_planes *d,
			 int column, uint64_t *out);
/*
 * Copy the text after the planes, which must have @len bytes, to @out. 0, or
 * -1: damaged.
 */
int reel_byte_planes_text_get(struct reel_codec *k,
			      const struct reel_byte_planes *d, char *out,
			      size_t len);

/* Write a LEB128 number of at most 10 bytes at @p; returns its length. */
size_t reel_varint_put(uint8_t *p, uint64_t v);
/* Read one and advance *@p. 0, or -1: it has no end before @end, or within 10
 * bytes. */
int reel_varint_get(const uint8_t **p, const uint8_t *end, uint64_t *v);

static inline uint64_t reel_zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t reel_unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Columns of numbers as byte planes, each compressed alone: what all blocks of
 * the store are made of. ioreel-store(5), "Blocks", is the specification.
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

/* Scratch of the encoder or decoder, to be kept between blocks. */
struct reel_codec;
struct reel_codec *reel_codec_new(void); /* NULL: no memory */
void reel_codec_free(struct reel_codec *k);

/* For a small store: try harder, at a tenth of the speed. */
void reel_codec_tight(struct reel_codec *k, bool tight);

/*
 * Write a block: begin, a put for each column, end. Begin gives the place for
 * the @n numbers of a column, to be filled before each put; NULL: no memory.
 * @level is zstd's.
 */
uint64_t *reel_byte_planes_begin(struct reel_codec *k, uint32_t n, int level);
/* The column in place; @n = 1: all its numbers are the first. */
void reel_byte_planes_put(struct reel_codec *k, uint32_t n);
/* Ends with @text, of @len bytes, which may be none. 0, or -1: no memory. */
int reel_byte_planes_text(struct reel_codec *k, const char *text, size_t len);
/* The block, in @k until the next one: @head, directory, planes, text. */
#define REEL_PLANES_HEAD 18 /* the longest head */
void reel_byte_planes_end(struct reel_codec *k, const uint8_t *head, size_t len,
			  const void **blob, size_t *blob_len);

/* The directory of a block that is read. */
struct reel_byte_planes {
	struct {
		int planes;
		uint64_t constant; /* when there are none */
		uint64_t plane[8]; /* length << 1 | compressed */
		size_t at;	   /* of its first plane, in data */
	} column[REEL_PLANES_COLUMNS];
	const uint8_t *data, *end, *text;
	uint32_t n;
};

/* Read the directory at @p. 0, or -1: damaged. Borrows @p for what follows. */
int reel_byte_planes_open(struct reel_byte_planes *d, uint32_t n, int columns,
			  const uint8_t *p, const uint8_t *end);
/* 0, or -1: no memory. To be called before reel_byte_planes_get(). */
int reel_byte_planes_ready(struct reel_codec *k,
			   const struct reel_byte_planes *d);
/* The numbers of a column, in @k until the next call; NULL: damaged. */
const uint64_t *reel_byte_planes_get(struct reel_codec *k,
				     const struct reel_byte_planes *d,
				     int column);
/*
 * The text behind the planes, which must have @len bytes, into @out. 0, or -1:
 * damaged.
 */
int reel_byte_planes_text_get(struct reel_codec *k,
			      const struct reel_byte_planes *d, char *out,
			      size_t len);

/* Writes at most 10 bytes at @p; returns how many. */
size_t reel_varint_put(uint8_t *p, uint64_t v);
/* 0, or -1: it does not end within @end or within ten bytes. */
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

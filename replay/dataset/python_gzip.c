/* SPDX-License-Identifier: MIT */
/* The calls of Python's gzip module. */
#include "replay/dataset/python_gzip.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/dataset/codec/inflate.h"
#include "replay/dataset/python_file.h"

#define PIECE 8192 /* io.DEFAULT_BUFFER_SIZE */
#define HEADER 10  /* without a name */
#define TRAILER 8

struct python_gzip {
	struct python_file *f;
	struct inflater inflater;
	uint32_t crc32, bytes;
	bool in_member;
	/* Read and given back: bytes [at, n) of piece. */
	uint8_t piece[PIECE];
	size_t at, n;
};

struct python_gzip *python_gzip_open(struct python_file *f,
				     struct reel_error *err)
{
	struct python_gzip *g = reel_alloc(1, sizeof(*g), err);

	if (!g)
		return NULL;
	g->f = f;
	return g;
}

void python_gzip_close(struct python_gzip *g)
{
	if (g)
		inflate_close(&g->inflater);
	free(g);
}

static int damaged(const struct python_gzip *g, const char *how,
		   struct reel_error *err)
{
	return reel_fail(
		err, REEL_E_FORMAT,
		"it is damaged or shorter than it was made: %s (at %llu)", how,
		(unsigned long long)g->f->offset);
}

/* At most @n bytes, those that were given back first. */
static int64_t take(struct python_gzip *g, uint8_t *to, size_t n,
		    struct reel_error *err)
{
	size_t some = g->n - g->at < n ? g->n - g->at : n;
	int64_t got = 0;

	memcpy(to, g->piece + g->at, some);
	g->at += some;
	if (some < n)
		got = python_read(g->f, to + some, n - some, err);
	return got < 0 ? -1 : (int64_t)some + got;
}

/* 1: a member begins; 0: the file is at its end; -1 with @err. */
static int begin_member(struct python_gzip *g, struct reel_error *err)
{
	uint8_t head[HEADER];
	int64_t got = take(g, head, 2, err);

	if (got <= 0)
		return (int)got;
	if (got < 2 || head[0] != 0x1f || head[1] != 0x8b)
		return damaged(g, "no gzip file", err);
	got = take(g, head + 2, HEADER - 2, err);
	if (got < 0)
		return -1;
	if (got < HEADER - 2 || head[2] != 8 || head[3])
		return damaged(g, "not the header of a gzip file", err);
	g->in_member = true;
	g->crc32 = g->bytes = 0;
	return inflate_open(&g->inflater, INFLATE_RAW, err) ? -1 : 1;
}

/* The checksum and the size; then zeros, of which ours has none. */
static int end_member(struct python_gzip *g, struct reel_error *err)
{
	uint8_t tail[TRAILER];
	uint32_t want[2];
	int64_t got = take(g, tail, TRAILER, err);
	bool kept;

	if (got < 0)
		return -1;
	memcpy(want, tail, sizeof(want));
	if (got < TRAILER || le32toh(want[0]) != g->crc32 ||
	    le32toh(want[1]) != g->bytes)
		return damaged(g, "another checksum", err);
	inflate_close(&g->inflater);
	g->in_member = false;
	do {
		kept = g->at < g->n;
		got = take(g, tail, 1, err);
	} while (got > 0 && !tail[0]);
	if (got <= 0)
		return (int)got;
	/* The byte is given back. */
	if (kept) {
		g->at--;
	} else {
		g->piece[0] = tail[0];
		g->at = 0;
		g->n = 1;
	}
	return 0;
}

int64_t python_gzip_read(struct python_gzip *g, void *to, uint64_t n,
			 struct reel_error *err)
{
	struct reel_error why = {0};
	int64_t got;

	for (;;) {
		uint8_t piece[PIECE];
		int rc = 1;

		if (g->in_member && g->inflater.ended && end_member(g, err))
			return -1;
		if (!g->in_member)
			rc = begin_member(g, err);
		if (rc <= 0)
			return rc;
		got = take(g, piece, PIECE, err);
		if (got < 0)
			return -1;
		memcpy(g->piece, piece, (size_t)got);
		g->at = 0;
		g->n = (size_t)got;
		got = inflate_some(&g->inflater, g->piece, &g->at, g->n, to, n,
				   &why);
		if (got < 0)
			return damaged(g, why.text, err);
		if (got)
			break;
		if (!g->n)
			return damaged(g, "it ends within a member", err);
	}
	g->crc32 = (uint32_t)crc32_z(g->crc32, to, (size_t)got);
	g->bytes += (uint32_t)got;
	return got;
}

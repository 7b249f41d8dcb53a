/* SPDX-License-Identifier: MIT */
/*
 * Decompress a deflate stream or a gzip file piece by piece, as the readers of
 * Python and TensorFlow do: each call states how much it takes at most, so that the
 * caller reads the file exactly when the real reader does.
 */
#ifndef REPLAY_DATASET_CODEC_INFLATE_H
#define REPLAY_DATASET_CODEC_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

struct reel_error;

/* Bytes that a byte of deflate gives at most. */
#define INFLATE_MOST 1032

struct inflater {
	z_stream z;
	bool open, ended; /* the stream is at its end */
};

enum inflate_kind { INFLATE_RAW, INFLATE_GZIP }; /* with header and checksum */

/* 0, or -1 with @err (REEL_E_MEMORY). */
int inflate_open(struct inflater *f, enum inflate_kind kind,
		 struct reel_error *err);
/*
 * Decompress from @from[*@at, @n), which moves *@at, to @to, at most @room bytes. The
 * number of them: 0 when the input gives no byte more. -1 with @err
 * (REEL_E_FORMAT): the stream is damaged.
 */
int64_t inflate_some(struct inflater *f, const uint8_t *from, size_t *at,
		     size_t n, void *to, size_t room, struct reel_error *err);
/* Also of one that is all 0. */
void inflate_close(struct inflater *f);

#endif

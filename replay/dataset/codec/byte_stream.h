/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a file in order, for a format whose reader reads pieces of fixed sizes:
 * the format makes the reads, this gives the bytes, decompressed where the file is gzip.
 */
#ifndef REPLAY_DATASET_CODEC_BYTE_STREAM_H
#define REPLAY_DATASET_CODEC_BYTE_STREAM_H

#include "replay/dataset/codec/inflate.h"

struct byte_stream {
	/* Set by the format. @fill reads the next piece: it sets @at to 0 and @n to
	 * its bytes, 0 of them at the end of the file. 0, or -1 with @err.
	 * @fail states with @err that the file is damaged or too short, and how; -1. */
	void *state;
	int (*fill)(void *state, struct reel_error *err);
	int (*fail)(void *state, const char *how, struct reel_error *err);
	const uint8_t *piece;
	size_t at, n;

	/* of a gzip file: what was decompressed last */
	struct inflater inflater;
	uint8_t *plain; /* NULL: the file is not compressed */
	size_t plain_at, plain_n;
};

/* The file is gzip: call it before the first pass. 0, or -1 with @err
 * (REEL_E_MEMORY). */
int byte_stream_gzip(struct byte_stream *s, struct reel_error *err);
/* Pass @n bytes; the first @keep_n of them go to @keep. 0, or -1 with @err. */
int byte_stream_pass(struct byte_stream *s, uint64_t n, void *keep,
		     size_t keep_n, struct reel_error *err);
/* Also of one that is all 0. */
void byte_stream_close(struct byte_stream *s);

#endif

/* SPDX-License-Identifier: MIT */
/* The bytes of a file that is read in pieces, decompressed where it is gzip. */
#include "replay/dataset/codec/byte_stream.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"

#define PLAIN (64u << 10) /* decompressed at once */

int byte_stream_gzip(struct byte_stream *s, struct reel_error *err)
{
	s->plain = reel_alloc(PLAIN, 1, err);
	return s->plain ? inflate_open(&s->inflater, INFLATE_GZIP, err) : -1;
}

static int fill_piece(struct byte_stream *s, struct reel_error *err)
{
	if (s->fill(s->state, err))
		return -1;
	return s->n ? 0 : s->fail(s->state, "it ends", err);
}

static int fill_plain(struct byte_stream *s, struct reel_error *err)
{
	struct reel_error why = {0};
	int64_t got = 0;

	while (!got) {
		if (s->inflater.ended)
			return s->fail(s->state, "it ends", err);
		if (s->at == s->n && fill_piece(s, err))
			return -1;
		got = inflate_some(&s->inflater, s->piece, &s->at, s->n,
				   s->plain, PLAIN, &why);
		if (got < 0)
			return s->fail(s->state, why.text, err);
	}
	s->plain_at = 0;
	s->plain_n = (size_t)got;
	return 0;
}

int byte_stream_pass(struct byte_stream *s, uint64_t n, void *keep,
		     size_t keep_n, struct reel_error *err)
{
	size_t *at = s->plain ? &s->plain_at : &s->at;
	const size_t *end = s->plain ? &s->plain_n : &s->n;
	size_t kept = 0;

	while (n) {
		size_t some, copy;

		if (*at == *end && (s->plain ? fill_plain : fill_piece)(s, err))
			return -1;
		some = *end - *at < n ? *end - *at : (size_t)n;
		copy = some < keep_n - kept ? some : keep_n - kept;
		if (copy)
			memcpy((uint8_t *)keep + kept,
			       (s->plain ? s->plain : s->piece) + *at, copy);
		kept += copy;
		*at += some;
		n -= some;
	}
	return 0;
}

void byte_stream_close(struct byte_stream *s)
{
	inflate_close(&s->inflater);
	free(s->plain);
	s->plain = NULL;
}

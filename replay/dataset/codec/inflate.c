/* SPDX-License-Identifier: MIT */
/* Decompress piece by piece, with zlib. */
#include "replay/dataset/codec/inflate.h"

#include "lib/error.h"

#define WINDOW                                                                 \
	15 /* the largest; the offsets are those of zlib's inflateInit2() */
#define AS_GZIP 16

int inflate_open(struct inflater *f, enum inflate_kind kind,
		 struct reel_error *err)
{
	*f = (struct inflater){.ended = false};
	if (inflateInit2(&f->z, kind == INFLATE_RAW ? -WINDOW
						    : WINDOW + AS_GZIP) != Z_OK)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	f->open = true;
	return 0;
}

int64_t inflate_some(struct inflater *f, const uint8_t *from, size_t *at,
		     size_t n, void *to, size_t room, struct reel_error *err)
{
	size_t most = room < UINT32_MAX ? room : UINT32_MAX;
	size_t given = n - *at < UINT32_MAX ? n - *at : UINT32_MAX;
	int rc;

	if (f->ended)
		return 0;
	f->z.next_in = (z_const Bytef *)(from + *at);
	f->z.avail_in = (uInt)given;
	f->z.next_out = to;
	f->z.avail_out = (uInt)most;
	rc = inflate(&f->z, Z_SYNC_FLUSH);
	*at += given - f->z.avail_in;
	f->ended = rc == Z_STREAM_END;
	/* Z_BUF_ERROR: there was nothing to do. */
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return reel_fail(err, REEL_E_FORMAT, "%s",
				 f->z.msg ? f->z.msg : "damaged");
	return (int64_t)(most - f->z.avail_out);
}

void inflate_close(struct inflater *f)
{
	if (f->open)
		inflateEnd(&f->z);
	f->open = false;
}

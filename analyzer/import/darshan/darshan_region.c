/* SPDX-License-Identifier: MIT */
/* A compressed region of a Darshan log, as a stream of bytes. */
#include "analyzer/import/darshan/darshan_region.h"

#include <stdlib.h>
#include <string.h>

#include <bzlib.h>
#include <zlib.h>

#include "lib/error.h"

#define PIECE (1u << 30) /* bytes that a library takes at a time */

struct darshan_region {
	const struct darshan_file *file;
	const uint8_t *at, *end;
	z_stream z;
	bz_stream bz;
	bool open; /* inside a compressed stream */
};

int darshan_region_open(struct darshan_region **out,
			const struct darshan_file *f, uint64_t offset,
			uint64_t bytes, struct reel_error *err)
{
	struct darshan_region *r = reel_alloc(1, sizeof(*r), err);

	if (!r)
		return -1;
	r->file = f;
	r->at = f->data + offset;
	r->end = r->at + bytes;
	*out = r;
	return 0;
}

static int bad(const struct darshan_region *r, const char *why,
	       struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is damaged at offset %llu: %s", r->file->path,
			 (unsigned long long)darshan_region_offset(r), why);
}

uint64_t darshan_region_offset(const struct darshan_region *r)
{
	return (uint64_t)(r->at - r->file->data);
}

static unsigned int piece(size_t n)
{
	return n < PIECE ? (unsigned int)n : PIECE;
}

/* Each returns the bytes put at @to, -1 with @err. */
static int64_t inflate_some(struct darshan_region *r, uint8_t *to, size_t n,
			    struct reel_error *err)
{
	int rc;

	if (!r->open && inflateInit(&r->z) != Z_OK)
		return reel_fail(err, REEL_E_MEMORY, "out of memory for zlib");
	r->open = true;
	r->z.next_in = (uint8_t *)(uintptr_t)r->at;
	r->z.avail_in = piece((size_t)(r->end - r->at));
	r->z.next_out = to;
	r->z.avail_out = piece(n);
	rc = inflate(&r->z, Z_NO_FLUSH);
	r->at = r->z.next_in;
	if (rc == Z_STREAM_END) {
		inflateEnd(&r->z);
		r->open = false;
	} else if (rc != Z_OK) {
		return bad(r,
			   rc == Z_BUF_ERROR ? "a region is cut off"
					     : "bytes that zlib refuses",
			   err);
	}
	return r->z.next_out - to;
}

static int64_t bunzip_some(struct darshan_region *r, uint8_t *to, size_t n,
			   struct reel_error *err)
{
	const uint8_t *before = r->at;
	int rc;

	if (!r->open && BZ2_bzDecompressInit(&r->bz, 0, 0) != BZ_OK)
		return reel_fail(err, REEL_E_MEMORY, "out of memory for bzip2");
	r->open = true;
	r->bz.next_in = (char *)(uintptr_t)r->at;
	r->bz.avail_in = piece((size_t)(r->end - r->at));
	r->bz.next_out = (char *)to;
	r->bz.avail_out = piece(n);
	rc = BZ2_bzDecompress(&r->bz);
	r->at = (const uint8_t *)r->bz.next_in;
	if (rc == BZ_STREAM_END) {
		BZ2_bzDecompressEnd(&r->bz);
		r->open = false;
	} else if (rc != BZ_OK) {
		return bad(r, "bytes that bzip2 refuses", err);
	} else if (r->at == before && r->bz.next_out == (char *)to) {
		return bad(r, "a region is cut off", err);
	}
	return (uint8_t *)r->bz.next_out - to;
}

static int64_t read_some(struct darshan_region *r, uint8_t *to, size_t n,
			 struct reel_error *err)
{
	switch (r->file->method) {
	case DARSHAN_ZLIB:
		return inflate_some(r, to, n, err);
	case DARSHAN_BZIP2:
		return bunzip_some(r, to, n, err);
	}
	if (n > (size_t)(r->end - r->at))
		n = (size_t)(r->end - r->at);
	memcpy(to, r->at, n);
	r->at += n;
	return (int64_t)n;
}

int64_t darshan_region_read(struct darshan_region *r, void *to, size_t n,
			    struct reel_error *err)
{
	size_t done = 0;

	while (done < n && (r->open || r->at < r->end)) {
		int64_t got = read_some(r, (uint8_t *)to + done, n - done, err);

		if (got < 0)
			return -1;
		done += (size_t)got;
	}
	return (int64_t)done;
}

void darshan_region_close(struct darshan_region *r)
{
	if (r && r->open && r->file->method == DARSHAN_ZLIB)
		inflateEnd(&r->z);
	if (r && r->open && r->file->method == DARSHAN_BZIP2)
		BZ2_bzDecompressEnd(&r->bz);
	free(r);
}

/* SPDX-License-Identifier: MIT */
/* A file as a stream of bytes, decompressed on the way. */
#include "lib/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "lib/error.h"

#define IN_BYTES (256u << 10)

struct reel_source {
	char *path;
	int fd;
	enum { PLAIN, GZIP, ZSTD } form;
	uint8_t *in;
	size_t at, n;		   /* of in: next byte, end */
	uint64_t in_offset;	   /* in the file, of in[0] */
	bool ended;		   /* the file has no more bytes */
	bool inside;		   /* a member or frame */
	struct reel_error failure; /* reported by the next read */
	z_stream z;
	ZSTD_DStream *zstd;
};

static int damaged(const struct reel_source *s, const char *why,
		   struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is damaged at offset %llu: %s", s->path,
			 (unsigned long long)(s->in_offset + s->at), why);
}

/* Read on where all of s->in is used. 0, or -1. */
static int fill(struct reel_source *s, struct reel_error *err)
{
	ssize_t n;

	if (s->at < s->n || s->ended)
		return 0;
	s->in_offset += s->n;
	s->at = s->n = 0;
	n = read(s->fd, s->in, IN_BYTES);
	if (n < 0)
		return reel_fail_io(err, "read", s->path, errno);
	s->n = (size_t)n;
	s->ended = !n;
	return 0;
}

int reel_source_open(struct reel_source **out, const char *path,
		     struct reel_error *err)
{
	static const uint8_t zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	struct reel_source *s = reel_alloc(1, sizeof(*s), err);

	if (!s)
		return -1;
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		reel_fail_io(err, "open", path, errno);
	s->path = reel_strdup(path, err);
	s->in = reel_alloc(IN_BYTES, 1, err);
	if (s->fd < 0 || !s->path || !s->in || fill(s, err))
		goto fail;
	if (s->n >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b)
		s->form = GZIP;
	else if (s->n >= 4 && !memcmp(s->in, zstd_magic, 4))
		s->form = ZSTD;
	if (s->form == ZSTD && !(s->zstd = ZSTD_createDStream())) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		goto fail;
	}
	*out = s;
	return 0;
fail:
	reel_source_close(s);
	return -1;
}

void reel_source_close(struct reel_source *s)
{
	if (!s)
		return;
	if (s->form == GZIP && s->inside)
		inflateEnd(&s->z);
	ZSTD_freeDStream(s->zstd);
	if (s->fd >= 0)
		close(s->fd);
	free(s->in);
	free(s->path);
	free(s);
}

/* Each puts bytes at @to and uses bytes of s->in. The number put, or -1. */
static int64_t inflate_some(struct reel_source *s, uint8_t *to, size_t n,
			    struct reel_error *err)
{
	int rc;

	if (!s->inside) {
		memset(&s->z, 0, sizeof(s->z));
		if (inflateInit2(&s->z, 15 + 16) != Z_OK)
			return reel_fail(err, REEL_E_MEMORY, "out of memory");
		s->inside = true;
	}
	s->z.next_in = s->in + s->at;
	s->z.avail_in = (unsigned int)(s->n - s->at);
	s->z.next_out = to;
	s->z.avail_out = n < IN_BYTES ? (unsigned int)n : IN_BYTES;
	rc = inflate(&s->z, Z_NO_FLUSH);
	s->at = s->n - s->z.avail_in;
	if (rc == Z_STREAM_END) {
		inflateEnd(&s->z);
		s->inside = false;
	} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
		return damaged(s, "bytes that zlib refuses", err);
	}
	return s->z.next_out - to;
}

static int64_t unzstd_some(struct reel_source *s, uint8_t *to, size_t n,
			   struct reel_error *err)
{
	ZSTD_inBuffer in = {s->in, s->n, s->at};
	ZSTD_outBuffer out = {to, n, 0};
	size_t rc = ZSTD_decompressStream(s->zstd, &out, &in);

	if (ZSTD_isError(rc))
		return damaged(s, "bytes that zstd refuses", err);
	s->at = in.pos;
	s->inside = rc != 0;
	return (int64_t)out.pos;
}

static int64_t copy_some(struct reel_source *s, uint8_t *to, size_t n)
{
	if (n > s->n - s->at)
		n = s->n - s->at;
	memcpy(to, s->in + s->at, n);
	s->at += n;
	return (int64_t)n;
}

/* Read bytes into @to: no copy of s->in. Their number, 0 at the end, or -1. */
static int64_t read_plain(struct reel_source *s, uint8_t *to, size_t n,
			  struct reel_error *err)
{
	ssize_t got = read(s->fd, to, n);

	if (got < 0)
		return reel_fail_io(err, "read", s->path, errno);
	s->in_offset += s->n + (size_t)got;
	s->at = s->n = 0;
	s->ended = !got;
	return got;
}

/* Put up to @n bytes, not 0 before the end. Their number, or -1. */
static int64_t read_some(struct reel_source *s, uint8_t *to, size_t n,
			 struct reel_error *err)
{
	int64_t got = 0;

	if (s->form == PLAIN && s->at == s->n && !s->ended && n >= IN_BYTES)
		return read_plain(s, to, n, err);
	while (!got) {
		if (fill(s, err))
			return -1;
		if (s->ended && !s->inside)
			return 0;
		got = s->form == GZIP	? inflate_some(s, to, n, err)
		      : s->form == ZSTD ? unzstd_some(s, to, n, err)
					: copy_some(s, to, n);
		if (!got && s->ended && s->inside)
			return damaged(s, "the compressed data is cut off",
				       err);
	}
	return got;
}

int64_t reel_source_read(struct reel_source *s, void *to, size_t n,
			 struct reel_error *err)
{
	uint8_t *p = to;
	size_t done = 0;
	int64_t got = 1;

	while (done < n && got > 0 && !s->failure.code) {
		got = read_some(s, p + done, n - done, &s->failure);
		if (got > 0)
			done += (size_t)got;
	}
	if (!done && n && s->failure.code)
		return reel_fail(err, s->failure.code, "%s", s->failure.text);
	return (int64_t)done;
}

const char *reel_source_path(const struct reel_source *s)
{
	return s->path;
}

uint64_t reel_source_offset(const struct reel_source *s)
{
	return s->in_offset + s->at;
}

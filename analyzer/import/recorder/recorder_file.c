/* SPDX-License-Identifier: MIT */
/* The files of a folder of Recorder, in memory. */
#include "analyzer/import/recorder/recorder_file.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/buf.h"
#include "lib/error.h"

#define RATIO_MOST 1040 /* of zlib, a little more than it can reach */

uint32_t recorder_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

uint64_t recorder_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

double recorder_real(const uint8_t *p)
{
	uint64_t v = recorder_u64(p);
	double d;

	memcpy(&d, &v, sizeof(d));
	return d;
}

void recorder_file_fini(struct recorder_file *f)
{
	free(f->path);
	free(f->data);
	*f = (struct recorder_file){0};
}

int recorder_file_bad(const struct recorder_file *f, uint64_t at,
		      const char *what, struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT, "'%s' %s (byte %" PRIu64 ")",
			 f->path, what, at);
}

static int make(struct recorder_file *f, const char *path, size_t bytes,
		struct reel_error *err)
{
	recorder_file_fini(f);
	f->path = reel_strdup(path, err);
	f->data = f->path ? reel_alloc(bytes + 1, 1, err) : NULL;
	f->bytes = bytes;
	return f->data ? 0 : -1;
}

static int path_of(struct reel_buf *to, const char *dir, const char *name,
		   struct reel_error *err)
{
	return reel_buf_printf(to, err, "%s%s", dir, name);
}

bool recorder_file_exists(const char *dir, const char *name)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct reel_error err = {0};
	bool is = !path_of(&path, dir, name, &err) &&
		  !access(reel_buf_text(&path), F_OK);

	reel_buf_fini(&path);
	return is;
}

static int read_bytes(struct recorder_file *f, FILE *in, struct reel_error *err)
{
	size_t n = fread(f->data, 1, f->bytes, in);

	if (ferror(in))
		return reel_fail_io(err, "read", f->path, errno);
	f->bytes = n;
	return 0;
}

int recorder_file_read(struct recorder_file *f, const char *dir,
		       const char *name, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct stat st = {0};
	FILE *in = NULL;
	int rc = path_of(&path, dir, name, err);

	if (!rc) {
		in = fopen(reel_buf_text(&path), "rbe");
		if (!in || fstat(fileno(in), &st) || !S_ISREG(st.st_mode))
			rc = reel_fail(err, REEL_E_IO, "cannot open '%s': %s",
				       reel_buf_text(&path),
				       in ? "not a regular file"
					  : strerror(errno));
	}
	if (!rc)
		rc = make(f, reel_buf_text(&path), (size_t)st.st_size, err);
	if (!rc)
		rc = read_bytes(f, in, err);
	if (in)
		fclose(in);
	reel_buf_fini(&path);
	return rc;
}

int recorder_file_part(struct recorder_file *f, const struct recorder_file *of,
		       size_t at, size_t bytes, struct reel_error *err)
{
	if (make(f, of->path, bytes, err))
		return -1;
	memcpy(f->data, of->data + at, bytes);
	return 0;
}

/* Sizes of the block at @at. */
static int block_sizes(const struct recorder_file *of, size_t at, size_t end,
		       uint64_t *packed, uint64_t *content,
		       struct reel_error *err)
{
	if (end - at < 16)
		return recorder_file_bad(of, at, "is cut off", err);
	*packed = recorder_u64(of->data + at);
	*content = recorder_u64(of->data + at + 8);
	if (*packed > end - at - 16)
		return recorder_file_bad(of, at, "is cut off in a block", err);
	if (*content / RATIO_MOST > *packed)
		return recorder_file_bad(
			of, at + 8, "has a block of no possible size", err);
	return 0;
}

static int unpack(uint8_t *to, uint64_t content, const struct recorder_file *of,
		  size_t at, uint64_t packed, struct reel_error *err)
{
	uLongf got = (uLongf)content;

	if (uncompress(to, &got, of->data + at + 16, (uLong)packed) != Z_OK ||
	    got != content)
		return recorder_file_bad(of, at, "has a damaged block", err);
	return 0;
}

int recorder_file_inflate(struct recorder_file *f,
			  const struct recorder_file *of, size_t *at,
			  size_t end, struct reel_error *err)
{
	uint64_t packed = 0, content = 0;

	if (block_sizes(of, *at, end, &packed, &content, err) ||
	    make(f, of->path, (size_t)content, err) ||
	    unpack(f->data, content, of, *at, packed, err))
		return -1;
	*at += 16 + (size_t)packed;
	return 0;
}

int recorder_file_inflate_all(struct recorder_file *f,
			      const struct recorder_file *of, size_t at,
			      size_t end, struct reel_error *err)
{
	uint64_t packed = 0, content = 0, all = 0;
	size_t first = at;

	for (; at < end; at += 16 + (size_t)packed) {
		if (block_sizes(of, at, end, &packed, &content, err))
			return -1;
		all += content;
	}
	if (make(f, of->path, (size_t)all, err))
		return -1;
	for (at = first, all = 0; at < end; at += 16 + (size_t)packed) {
		if (block_sizes(of, at, end, &packed, &content, err) ||
		    unpack(f->data + all, content, of, at, packed, err))
			return -1;
		all += content;
	}
	return 0;
}

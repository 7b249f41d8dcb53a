/* SPDX-License-Identifier: MIT */
/* Lines of a text file: one buffer, which grows to the longest line. */
#include "analyzer/import/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "lib/error.h"

#define FIRST_ROOM (256 << 10)
#define LINE_MOST (16 << 20)

struct import_lines {
	gzFile file;
	char *path;
	char *buf;
	size_t room, at, end; /* of the bytes that were read and not returned */
	uint64_t number, skipped;
	bool ended;
};

int import_lines_open(struct import_lines **out, const char *path,
		      struct reel_error *err)
{
	struct import_lines *l = reel_alloc(1, sizeof(*l), err);
	int fd;

	if (!l)
		return -1;
	l->room = FIRST_ROOM;
	l->path = reel_strdup(path, err);
	l->buf = reel_alloc(l->room, 1, err);
	if (!l->path || !l->buf)
		goto fail;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		reel_fail(err, REEL_E_IO, "cannot open '%s': %s", path,
			  strerror(errno));
		goto fail;
	}
	l->file = gzdopen(fd, "rb");
	if (!l->file) {
		close(fd);
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		goto fail;
	}
	gzbuffer(l->file, 128 << 10);
	*out = l;
	return 0;
fail:
	import_lines_close(l);
	return -1;
}

void import_lines_close(struct import_lines *l)
{
	if (!l)
		return;
	if (l->file)
		gzclose(l->file);
	free(l->path);
	free(l->buf);
	free(l);
}

/* Move the remaining bytes to the front and read more behind them. */
static int read_more(struct import_lines *l, struct reel_error *err)
{
	int n, code;

	memmove(l->buf, l->buf + l->at, l->end - l->at);
	l->end -= l->at;
	l->at = 0;
	if (l->end == l->room) {
		if (reel_grow(&l->buf, 2 * l->room, 1, err))
			return -1;
		l->room *= 2;
	}
	n = gzread(l->file, l->buf + l->end, (unsigned int)(l->room - l->end));
	if (n > 0)
		l->end += (size_t)n;
	if (n > 0)
		return 0;
	l->ended = true;
	gzerror(l->file, &code);
	if (code == Z_ERRNO)
		return reel_fail(err, REEL_E_IO, "cannot read '%s': %s",
				 l->path, strerror(errno));
	if (n < 0 || code == Z_BUF_ERROR)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' is damaged or cut short near byte %llu "
				 "(gzip)",
				 l->path,
				 (unsigned long long)import_lines_offset(l));
	return 0;
}

int import_lines_next(struct import_lines *l, const char **line, size_t *len,
		      struct reel_error *err)
{
	bool too_long = false;
	size_t searched = 0;

	for (;;) {
		char *start = l->buf + l->at, *newline;
		size_t left = l->end - l->at;

		newline = memchr(start + searched, '\n', left - searched);
		if (newline || (l->ended && left)) {
			*line = start;
			*len = newline ? (size_t)(newline - start) : left;
			l->at += newline ? *len + 1 : left;
			l->number++;
			if (!too_long)
				return 1;
			l->skipped++;
			too_long = false;
			searched = 0;
			continue;
		}
		if (l->ended) {
			l->skipped += too_long;
			return 0;
		}
		searched = left;
		if (left >= LINE_MOST) { /* drop it as it comes */
			too_long = true;
			l->at = l->end;
			searched = 0;
		}
		if (read_more(l, err))
			return -1;
	}
}

uint64_t import_lines_number(const struct import_lines *l)
{
	return l->number;
}

uint64_t import_lines_skipped(const struct import_lines *l)
{
	return l->skipped;
}

uint64_t import_lines_offset(const struct import_lines *l)
{
	z_off_t at = gzoffset(l->file);

	return at < 0 ? 0 : (uint64_t)at;
}

/* SPDX-License-Identifier: MIT */
/* Lines of a text file: one buffer, which grows to the longest line. */
#include "analyzer/import/common/lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/source.h"

#define FIRST_ROOM (256 << 10)
#define LINE_MOST (16 << 20)

struct import_lines {
	struct reel_source *source;
	char *buf;
	size_t room, at, end; /* of the bytes that were read and not returned */
	uint64_t number, skipped, bytes;
	bool ended, cut; /* cut: the end is before damage */
	bool open;	 /* the last line has no delimiter behind it */
	char delimiter;
};

int import_lines_open(struct import_lines **out, const char *path,
		      struct reel_error *err)
{
	struct import_lines *l = reel_alloc(1, sizeof(*l), err);

	if (!l)
		return -1;
	l->room = FIRST_ROOM;
	l->delimiter = '\n';
	l->buf = reel_alloc(l->room, 1, err);
	if (!l->buf || reel_source_open(&l->source, path, err)) {
		import_lines_close(l);
		return -1;
	}
	*out = l;
	return 0;
}

void import_lines_close(struct import_lines *l)
{
	if (!l)
		return;
	reel_source_close(l->source);
	free(l->buf);
	free(l);
}

/* Lines of the first bytes end with bare carriage returns where these are their only
 * ends. */
static void find_delimiter(struct import_lines *l)
{
	if (l->delimiter == '\n' && !memchr(l->buf, '\n', l->end) &&
	    memchr(l->buf, '\r', l->end))
		l->delimiter = '\r';
}

/* Move the remaining bytes to the front and read more behind them. */
static int read_more(struct import_lines *l, struct reel_error *err)
{
	bool first = !l->number && !l->end;
	int64_t n;

	memmove(l->buf, l->buf + l->at, l->end - l->at);
	l->end -= l->at;
	l->at = 0;
	if (l->end == l->room) {
		if (reel_grow(&l->buf, 2 * l->room, 1, err))
			return -1;
		l->room *= 2;
	}
	n = reel_source_read(l->source, l->buf + l->end, l->room - l->end, err);
	if (n < 0)
		return -1;
	if (reel_source_behind_gap(l->source)) { /* without the cut line */
		memmove(l->buf, l->buf + l->end + 1, (size_t)n - 1);
		l->end = (size_t)n - 1;
	} else {
		l->end += (size_t)n;
	}
	if (first)
		find_delimiter(l);
	l->bytes += (uint64_t)n;
	l->ended = !n;
	l->cut = reel_source_stopped(l->source);
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

		newline =
			memchr(start + searched, l->delimiter, left - searched);
		if (newline || (l->ended && left && !l->cut)) {
			*line = start;
			*len = newline ? (size_t)(newline - start) : left;
			l->at += newline ? *len + 1 : left;
			l->open = !newline;
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
		if (reel_source_behind_gap(l->source)) {
			l->skipped += too_long || left > 0;
			too_long = false;
			searched = 0;
		}
	}
}

void import_lines_delimiter(struct import_lines *l, char c)
{
	l->delimiter = c;
}

uint64_t import_lines_number(const struct import_lines *l)
{
	return l->number;
}

bool import_lines_open_end(const struct import_lines *l)
{
	return l->open;
}

uint64_t import_lines_skipped(const struct import_lines *l)
{
	return l->skipped;
}

uint64_t import_lines_bytes(const struct import_lines *l)
{
	return l->bytes;
}

uint64_t import_lines_offset(const struct import_lines *l)
{
	return reel_source_offset(l->source);
}

/* SPDX-License-Identifier: MIT */
/* Sort records in bounded memory. */
#include "analyzer/import/common/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/output.h"

#define FIRST_RECORDS 64
#define BLOCK_RECORDS 64 /* the least that is read of a run at once */

/* A sorted part of the file, and what is read of it. */
struct run {
	uint64_t at, left; /* in records: next of the file, how many */
	char *buf;
	size_t i, n; /* of buf: next record, end */
};

struct sorter {
	sorter_compare *compare;
	size_t bytes; /* of a record */
	char *buf;
	size_t n, room, most; /* of buf, in records */
	size_t next;	      /* to read from buf, without runs */
	int fd;
	struct run *run;
	uint32_t *heap; /* numbers of runs, that of the first record first */
	uint32_t runs, run_room, heaped;
	uint64_t count, written;
};

int sorter_new(struct sorter **out, size_t record_bytes,
	       sorter_compare *compare, size_t memory_bytes,
	       struct reel_error *err)
{
	struct sorter *s = reel_alloc(1, sizeof(*s), err);

	if (!s)
		return -1;
	s->compare = compare;
	s->bytes = record_bytes;
	s->most = memory_bytes / record_bytes;
	if (s->most < FIRST_RECORDS)
		s->most = FIRST_RECORDS;
	s->fd = -1;
	*out = s;
	return 0;
}

void sorter_free(struct sorter *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->runs; i++)
		free(s->run[i].buf);
	if (s->fd >= 0)
		close(s->fd);
	free(s->run);
	free(s->heap);
	free(s->buf);
	free(s);
}

uint64_t sorter_count(const struct sorter *s)
{
	return s->count;
}

/* All of @n bytes at @offset, by pread() or pwrite(). */
static int transfer(struct sorter *s, char *p, size_t n, uint64_t offset,
		    int write_it, struct reel_error *err)
{
	while (n) {
		ssize_t got = write_it ? pwrite(s->fd, p, n, (off_t)offset)
				       : pread(s->fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return reel_fail(err, REEL_E_IO,
					 "cannot %s a temporary file: %m",
					 write_it ? "write" : "read");
		p += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

static void sort(struct sorter *s)
{
	if (s->compare && s->n)
		qsort(s->buf, s->n, s->bytes, s->compare);
}

/* The records in memory become a run of the file. */
static int spill(struct sorter *s, struct reel_error *err)
{
	struct run *r;

	if (s->fd < 0 && (s->fd = reel_output_temporary(err)) < 0)
		return -1;
	if (s->runs == s->run_room) {
		uint32_t room = s->run_room ? 2 * s->run_room : 16;

		if (reel_grow(&s->run, room, sizeof(*s->run), err))
			return -1;
		s->run_room = room;
	}
	sort(s);
	if (transfer(s, s->buf, s->n * s->bytes, s->written * s->bytes, 1, err))
		return -1;
	r = &s->run[s->runs++];
	*r = (struct run){.at = s->written, .left = s->n};
	s->written += s->n;
	s->n = 0;
	return 0;
}

int sorter_add(struct sorter *s, const void *record, struct reel_error *err)
{
	if (s->n == s->most && spill(s, err))
		return -1;
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : FIRST_RECORDS;

		if (room > s->most)
			room = s->most;
		if (reel_grow(&s->buf, room, s->bytes, err))
			return -1;
		s->room = room;
	}
	memcpy(s->buf + s->n++ * s->bytes, record, s->bytes);
	s->count++;
	return 0;
}

/* --- reading -------------------------------------------------------------- */

/* Read on in @r, when all of its buffer is used. */
static int refill(struct sorter *s, struct run *r, struct reel_error *err)
{
	size_t n = s->most / s->runs;

	if (r->i < r->n || !r->left)
		return 0;
	if (n < BLOCK_RECORDS)
		n = BLOCK_RECORDS;
	if (!r->buf) {
		r->buf = reel_alloc(n, s->bytes, err);
		if (!r->buf)
			return -1;
	}
	if (n > r->left)
		n = (size_t)r->left;
	if (transfer(s, r->buf, n * s->bytes, r->at * s->bytes, 0, err))
		return -1;
	r->at += n;
	r->left -= n;
	r->i = 0;
	r->n = n;
	return 0;
}

static const char *front(const struct sorter *s, uint32_t run)
{
	const struct run *r = &s->run[run];

	return r->buf + r->i * s->bytes;
}

/* Is the front of run @a before that of run @b? For equal ones the earlier
 * run. */
static int is_before(const struct sorter *s, uint32_t a, uint32_t b)
{
	int c = s->compare ? s->compare(front(s, a), front(s, b)) : 0;

	return c ? c < 0 : a < b;
}

static void sift_down(struct sorter *s, uint32_t i)
{
	for (;;) {
		uint32_t least = i, left = 2 * i + 1, at;

		for (uint32_t c = left; c < left + 2 && c < s->heaped; c++)
			if (is_before(s, s->heap[c], s->heap[least]))
				least = c;
		if (least == i)
			return;
		at = s->heap[i];
		s->heap[i] = s->heap[least];
		s->heap[least] = at;
		i = least;
	}
}

int sorter_finish(struct sorter *s, struct reel_error *err)
{
	if (!s->runs) {
		sort(s);
		return 0;
	}
	if (s->n && spill(s, err))
		return -1;
	free(s->buf);
	s->buf = NULL;
	s->room = 0;
	s->heap = reel_alloc(s->runs, sizeof(*s->heap), err);
	if (!s->heap)
		return -1;
	for (uint32_t i = 0; i < s->runs; i++) {
		if (refill(s, &s->run[i], err))
			return -1;
		s->heap[s->heaped++] = i;
	}
	for (uint32_t i = s->heaped; i--;)
		sift_down(s, i);
	return 0;
}

int sorter_next(struct sorter *s, void *record, struct reel_error *err)
{
	struct run *r;

	if (!s->runs) {
		if (s->next == s->n)
			return 0;
		memcpy(record, s->buf + s->next++ * s->bytes, s->bytes);
		return 1;
	}
	if (!s->heaped)
		return 0;
	r = &s->run[s->heap[0]];
	memcpy(record, r->buf + r->i++ * s->bytes, s->bytes);
	if (refill(s, r, err))
		return -1;
	if (r->i == r->n) {
		free(r->buf);
		r->buf = NULL;
		s->heap[0] = s->heap[--s->heaped];
	}
	sift_down(s, 0);
	return 1;
}

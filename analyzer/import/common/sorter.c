/* SPDX-License-Identifier: MIT */
/* Sort records in bounded memory. */
#include "analyzer/import/common/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/error.h"
#include "lib/output.h"

#define FIRST_RECORDS 64
#define BLOCK_BYTES 32768 /* of records that are compressed together */
#define ZSTD_LEVEL 1

/* A sorted part of the file, blocks behind a uint32_t with their length; and what is
 * read of it. */
struct run {
	uint64_t at;   /* of the next block in the file */
	uint64_t left; /* records from there on */
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
	uint64_t count;
	/* The run that is being written: records in @block, and in its blocks. */
	size_t blocked, block_most;
	uint64_t in_run;
	char *block, *packed;
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	uint64_t file_bytes, run_at;
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
	s->block_most = BLOCK_BYTES / record_bytes + 1;
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
	ZSTD_freeCCtx(s->cctx);
	ZSTD_freeDCtx(s->dctx);
	free(s->run);
	free(s->heap);
	free(s->buf);
	free(s->block);
	free(s->packed);
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

static int out_of_memory(struct reel_error *err)
{
	return reel_fail(err, REEL_E_MEMORY, "out of memory");
}

static int open_file(struct sorter *s, struct reel_error *err)
{
	size_t bytes = s->block_most * s->bytes;

	s->block = reel_alloc(s->block_most, s->bytes, err);
	s->packed = s->block ? reel_alloc(sizeof(uint32_t) +
						  ZSTD_compressBound(bytes),
					  1, err)
			     : NULL;
	if (!s->packed)
		return -1;
	s->cctx = ZSTD_createCCtx();
	s->dctx = ZSTD_createDCtx();
	if (!s->cctx || !s->dctx)
		return out_of_memory(err);
	s->fd = reel_output_temporary(err);
	return s->fd < 0 ? -1 : 0;
}

static int write_block(struct sorter *s, struct reel_error *err)
{
	size_t raw = s->blocked * s->bytes, head = sizeof(uint32_t);
	size_t len = ZSTD_compressCCtx(s->cctx, s->packed + head,
				       ZSTD_compressBound(raw), s->block, raw,
				       ZSTD_LEVEL);
	uint32_t packed = (uint32_t)len;

	if (ZSTD_isError(len))
		return out_of_memory(err);
	memcpy(s->packed, &packed, head);
	if (transfer(s, s->packed, head + len, s->file_bytes, 1, err))
		return -1;
	s->file_bytes += head + len;
	s->blocked = 0;
	return 0;
}

int sorter_run_add(struct sorter *s, const void *record, struct reel_error *err)
{
	if (s->fd < 0 && open_file(s, err))
		return -1;
	if (s->blocked == s->block_most && write_block(s, err))
		return -1;
	memcpy(s->block + s->blocked++ * s->bytes, record, s->bytes);
	s->in_run++;
	s->count++;
	return 0;
}

int sorter_run_end(struct sorter *s, struct reel_error *err)
{
	if (!s->in_run)
		return 0;
	if (s->runs == s->run_room) {
		uint32_t room = s->run_room ? 2 * s->run_room : 16;

		if (reel_grow(&s->run, room, sizeof(*s->run), err))
			return -1;
		s->run_room = room;
	}
	if (write_block(s, err))
		return -1;
	s->run[s->runs++] = (struct run){.at = s->run_at, .left = s->in_run};
	s->run_at = s->file_bytes;
	s->in_run = 0;
	return 0;
}

/* The records in memory become a run of the file. */
static int spill(struct sorter *s, struct reel_error *err)
{
	size_t n = s->n;

	sort(s);
	s->count -= n; /* sorter_run_add() counts them */
	for (size_t i = 0; i < n; i++)
		if (sorter_run_add(s, s->buf + i * s->bytes, err))
			return -1;
	s->n = 0;
	return sorter_run_end(s, err);
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

/* The next @n records of @r, a block. */
static int read_block(struct sorter *s, struct run *r, size_t n,
		      struct reel_error *err)
{
	size_t raw = n * s->bytes;
	uint32_t len;

	if (transfer(s, (char *)&len, sizeof(len), r->at, 0, err))
		return -1;
	if (len > ZSTD_compressBound(raw))
		return reel_fail(err, REEL_E_IO, "a temporary file is damaged");
	if (transfer(s, s->packed, len, r->at + sizeof(len), 0, err))
		return -1;
	if (ZSTD_decompressDCtx(s->dctx, r->buf, raw, s->packed, len) != raw)
		return reel_fail(err, REEL_E_IO, "a temporary file is damaged");
	r->at += sizeof(len) + len;
	return 0;
}

/* Read on in @r, when all of its buffer is used. */
static int refill(struct sorter *s, struct run *r, struct reel_error *err)
{
	size_t n = s->block_most;

	if (r->i < r->n || !r->left)
		return 0;
	if (!r->buf && !(r->buf = reel_alloc(n, s->bytes, err)))
		return -1;
	if (n > r->left)
		n = (size_t)r->left;
	if (read_block(s, r, n, err))
		return -1;
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

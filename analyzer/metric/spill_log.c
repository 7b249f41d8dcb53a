/* SPDX-License-Identifier: MIT */
/*
 * Logs of small records: LEB128 numbers in chunks; a record never spans two
 * chunks.
 */
#include "analyzer/metric/spill_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/error.h"

#define FIRST_CHUNK_BYTES 256u /* most threads do little I/O */
#define CHUNK_BYTES 4096u
#define LEAST_CHUNK_BYTES 512u
#define RECORD_MAX (10u * REEL_SPILL_NUMBERS)

/* Small, as their number grows with the events. */
struct chunk {
	union {
		uint8_t *data;
		int64_t at; /* in the file */
	};
	uint16_t used, bytes;
	bool filed;
};

struct stream {
	struct chunk *chunk;
	uint32_t chunks, room;
};

struct reel_spill_log {
	struct stream *stream;
	uint32_t streams;
	size_t held_bytes, limit_bytes;
	int fd; /* -1: all is in memory */
	int64_t file_bytes;
};

struct reel_spill_reader {
	struct reel_spill_log *log;
	/* Borrowed from the stream, which is complete; the streams themselves
	 * may move. */
	const struct chunk *next;
	uint32_t chunks;	/* from it on */
	const uint8_t *p, *end; /* what is left of the chunk before it */
	uint8_t *buffer;	/* for chunks in the file */
};

int reel_spill_log_new(struct reel_spill_log **out, size_t memory_bytes,
		       struct reel_error *err)
{
	struct reel_spill_log *log = reel_alloc(1, sizeof(*log), err);

	if (!log)
		return -1;
	log->fd = -1;
	log->limit_bytes = memory_bytes;
	*out = log;
	return 0;
}

static int open_file(struct reel_spill_log *log, struct reel_error *err)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];

	if (!dir || !*dir || strlen(dir) > sizeof(path) - 32)
		dir = "/tmp";
	strcpy(path, dir);
	strcat(path, "/ioreel.XXXXXX");
	log->fd = mkostemp(path, O_CLOEXEC);
	if (log->fd < 0)
		return reel_fail_io(err, "make a temporary file in", dir,
				    errno);
	unlink(path);
	return 0;
}

/* Write a full chunk to the file. */
static int spill_chunk(struct reel_spill_log *log, struct chunk *c,
		       struct reel_error *err)
{
	ssize_t n;

	if (log->fd < 0 && open_file(log, err))
		return -1;
	do
		n = pwrite(log->fd, c->data, c->used, log->file_bytes);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)c->used)
		return reel_fail(err, REEL_E_IO,
				 "cannot write a temporary file: %s",
				 n < 0 ? strerror(errno) : "disk full");
	free(c->data);
	c->at = log->file_bytes;
	c->filed = true;
	log->file_bytes += n;
	log->held_bytes -= c->bytes;
	return 0;
}

/* The last chunks of all streams stay in memory: thousands share it. */
static uint16_t chunk_bytes(const struct reel_spill_log *log)
{
	size_t share = log->limit_bytes / 4 / log->streams;

	if (share > CHUNK_BYTES)
		return CHUNK_BYTES;
	return share < LEAST_CHUNK_BYTES ? LEAST_CHUNK_BYTES : (uint16_t)share;
}

/* Add a chunk after @full, the last one; NULL: the first chunk. */
static struct chunk *new_chunk(struct reel_spill_log *log, struct stream *s,
			       struct chunk *full, struct reel_error *err)
{
	struct chunk *c;

	if (full && log->held_bytes > log->limit_bytes &&
	    spill_chunk(log, full, err))
		return NULL;
	if (reel_array_reach(&s->chunk, &s->room, s->chunks, sizeof(*c), err) ||
	    !s->chunk)
		return NULL;
	c = &s->chunk[s->chunks];
	c->used = 0;
	c->filed = false;
	c->bytes = s->chunks ? chunk_bytes(log) : FIRST_CHUNK_BYTES;
	c->data = reel_alloc(1, c->bytes, err);
	if (!c->data)
		return NULL;
	s->chunks++;
	log->held_bytes += c->bytes;
	return c;
}

/* Put @n numbers at @p. Returns their end. */
static uint8_t *put_numbers(uint8_t *p, const uint64_t *number, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t v = number[i];

		for (; v >= 0x80; v >>= 7)
			*p++ = (uint8_t)(v | 0x80);
		*p++ = (uint8_t)v;
	}
	return p;
}

int reel_spill_log_add(struct reel_spill_log *log, uint32_t stream,
		       const uint64_t *number, int n, uint32_t records,
		       struct reel_error *err)
{
	struct stream *s;
	struct chunk *c;

	if (reel_array_reach(&log->stream, &log->streams, stream,
			     sizeof(*log->stream), err))
		return -1;
	s = &log->stream[stream];
	c = s->chunks ? &s->chunk[s->chunks - 1] : NULL;
	while (records) {
		uint8_t *p;

		if (!c || c->used + RECORD_MAX > c->bytes)
			c = new_chunk(log, s, c, err);
		if (!c)
			return -1;
		p = c->data + c->used;
		for (const uint8_t *full = c->data + c->bytes - RECORD_MAX;
		     records && p <= full; records--, number += n)
			p = put_numbers(p, number, n);
		c->used = (uint16_t)(p - c->data);
	}
	return 0;
}

void reel_spill_log_close(struct reel_spill_log *log)
{
	uint32_t i, k;

	if (!log)
		return;
	for (i = 0; i < log->streams; i++) {
		for (k = 0; k < log->stream[i].chunks; k++)
			if (!log->stream[i].chunk[k].filed)
				free(log->stream[i].chunk[k].data);
		free(log->stream[i].chunk);
	}
	free(log->stream);
	if (log->fd >= 0)
		close(log->fd);
	free(log);
}

int reel_spill_reader_open(struct reel_spill_reader **out,
			   struct reel_spill_log *log, uint32_t stream,
			   struct reel_error *err)
{
	struct reel_spill_reader *r = reel_alloc(1, sizeof(*r), err);

	if (!r)
		return -1;
	r->log = log;
	if (stream < log->streams) {
		r->next = log->stream[stream].chunk;
		r->chunks = log->stream[stream].chunks;
	}
	*out = r;
	return 0;
}

/* Gives the bytes of @c, or NULL with @err. */
static uint8_t *chunk_data(struct reel_spill_reader *r, const struct chunk *c,
			   struct reel_error *err)
{
	ssize_t n;

	if (!c->filed)
		return c->data;
	if (!r->buffer)
		r->buffer = reel_alloc(1, CHUNK_BYTES, err);
	if (!r->buffer)
		return NULL;
	do
		n = pread(r->log->fd, r->buffer, c->used, c->at);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)c->used)
		return r->buffer;
	reel_fail(err, REEL_E_IO, "cannot read a temporary file: %s",
		  n < 0 ? strerror(errno) : "it is cut short");
	return NULL;
}

int reel_spill_reader_at(struct reel_spill_reader *r, const uint8_t **p,
			 struct reel_error *err)
{
	const struct chunk *c;

	if (r->p == r->end) {
		if (!r->chunks)
			return 0;
		r->chunks--;
		c = r->next++;
		r->p = chunk_data(r, c, err);
		if (!r->p)
			return -1;
		r->end = r->p + c->used;
	}
	*p = r->p;
	return 1;
}

void reel_spill_reader_to(struct reel_spill_reader *r, const uint8_t *p)
{
	r->p = p;
}

void reel_spill_reader_close(struct reel_spill_reader *r)
{
	if (r)
		free(r->buffer);
	free(r);
}

/* SPDX-License-Identifier: MIT */
/* The calls of a benchmark, logged. */
#include "replay/io/call_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/error.h"

#define MAGIC 0x676f6c63u /* "clog" */
#define BUFFER_BYTES (256u << 10)
#define ALIGN 8

/* Before the entries of a block. */
struct block {
	uint32_t magic, number;
	uint64_t bytes; /* of the entries */
};

struct call_log {
	int fd;
	uint32_t number;
	atomic_int *failed;
	size_t used; /* of the entries */
	struct block head;
	uint8_t entries[BUFFER_BYTES]; /* right behind the head */
};
_Static_assert(offsetof(struct call_log, entries) ==
		       offsetof(struct call_log, head) + sizeof(struct block),
	       "a block is written from one place");

int call_log_new(struct call_log **out, int fd, uint32_t number,
		 atomic_int *failed, struct reel_error *err)
{
	struct call_log *log = reel_alloc(1, sizeof(*log), err);

	if (!log)
		return -1;
	log->fd = fd;
	log->number = number;
	log->failed = failed;
	log->head.magic = MAGIC;
	log->head.number = number;
	*out = log;
	return 0;
}

void call_log_begin(struct call_log *log, bool is_process)
{
	call_log_add(log,
		     &(struct call_entry){.call = CALL_LOG_BEGIN,
					  .start_ns = reel_now_ns(),
					  .arg = getpid(),
					  .arg2 = gettid(),
					  .size = is_process},
		     NULL, NULL);
}

/* A block is one write: a shorter one would mix with those of others. */
void call_log_flush(struct call_log *log)
{
	size_t n = sizeof(log->head) + log->used;
	int was = errno, none = 0;
	ssize_t done;

	if (!log->used)
		return;
	log->head.bytes = log->used;
	done = write(log->fd, &log->head, n);
	if (done != (ssize_t)n)
		atomic_compare_exchange_strong(log->failed, &none,
					       done < 0 ? errno : ENOSPC);
	log->used = 0;
	errno = was;
}

static size_t padded(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

void call_log_add(struct call_log *log, const struct call_entry *e,
		  const char *path, const char *path2)
{
	struct call_entry full = *e;
	uint8_t *to;
	size_t n;

	if (full.result < 0 && !full.err)
		full.err = errno;
	full.path_bytes = path ? (uint16_t)(strlen(path) + 1) : 0;
	full.path2_bytes = path2 ? (uint16_t)(strlen(path2) + 1) : 0;
	n = padded(sizeof(full) + full.path_bytes + full.path2_bytes);
	if (log->used + n > BUFFER_BYTES)
		call_log_flush(log);
	to = log->entries + log->used;
	memcpy(to, &full, sizeof(full));
	if (path)
		memcpy(to + sizeof(full), path, full.path_bytes);
	if (path2)
		memcpy(to + sizeof(full) + full.path_bytes, path2,
		       full.path2_bytes);
	log->used += n;
}

void call_log_span(struct call_log *log, uint16_t mark, enum reel_span span,
		   int64_t detail)
{
	uint16_t has = CALL_HAS_ARG | (detail >= 0 ? CALL_HAS_ARG2 : 0);

	call_log_add(log,
		     &(struct call_entry){.call = mark,
					  .has = has,
					  .start_ns = reel_now_ns(),
					  .arg = span,
					  .arg2 = detail},
		     NULL, NULL);
}

void call_log_free(struct call_log *log)
{
	free(log);
}

/* --- reading -------------------------------------------------------------- */

/* The block at @at; false: none is there, or it is cut short. */
static bool block_at(const uint8_t *blocks, size_t bytes, size_t at,
		     struct block *b)
{
	if (at > bytes || bytes - at < sizeof(*b))
		return false;
	memcpy(b, blocks + at, sizeof(*b));
	return b->magic == MAGIC && b->bytes <= bytes - at - sizeof(*b);
}

uint32_t call_log_numbers(const uint8_t *blocks, size_t bytes)
{
	struct block b;
	uint32_t n = 0;

	for (size_t at = 0; block_at(blocks, bytes, at, &b);
	     at += sizeof(b) + b.bytes)
		if (b.number >= n && b.number < UINT32_MAX)
			n = b.number + 1;
	return n;
}

void call_stream_begin(struct call_stream *s, const uint8_t *blocks,
		       size_t bytes, uint32_t number)
{
	memset(s, 0, sizeof(*s));
	s->blocks = blocks;
	s->bytes = bytes;
	s->number = number;
}

/* To the first entry of the next block of the thread. */
static bool next_block(struct call_stream *s)
{
	struct block b;

	while (block_at(s->blocks, s->bytes, s->end, &b)) {
		s->at = s->end + sizeof(b);
		s->end = s->at + b.bytes;
		if (b.number == s->number && b.bytes)
			return true;
	}
	s->damaged = s->end != s->bytes;
	return false;
}

/* Is a path of @bytes bytes at @p, with its end? */
static bool is_path(const char *p, size_t bytes)
{
	return !bytes || !p[bytes - 1];
}

bool call_stream_next(struct call_stream *s)
{
	struct call_entry *e = &s->entry;
	const char *text;

	if (s->damaged || (s->at == s->end && !next_block(s)))
		return false;
	if (s->end - s->at < sizeof(*e))
		goto damaged;
	memcpy(e, s->blocks + s->at, sizeof(*e));
	if (s->end - s->at <
	    padded(sizeof(*e) + e->path_bytes + e->path2_bytes))
		goto damaged;
	text = (const char *)s->blocks + s->at + sizeof(*e);
	if (!is_path(text, e->path_bytes) ||
	    !is_path(text + e->path_bytes, e->path2_bytes))
		goto damaged;
	s->path = e->path_bytes ? text : NULL;
	s->path2 = e->path2_bytes ? text + e->path_bytes : NULL;
	s->at += padded(sizeof(*e) + e->path_bytes + e->path2_bytes);
	return true;
damaged:
	s->damaged = true;
	return false;
}

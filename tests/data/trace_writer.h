/* SPDX-License-Identifier: MIT */
/*
 * A writer of traces for the tests, written from the text of trace_format.h
 * alone: it shares no code with the shim or the reader, so that it exposes
 * their mistakes.
 */
#ifndef TESTS_DATA_TRACE_WRITER_H
#define TESTS_DATA_TRACE_WRITER_H

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/trace_format.h"

#include "lib/trace/reader.h" /* struct reel_record: what to write */

/* A thread's unfinished block; zeroed except tid is a valid start. */
struct tw_block {
	uint8_t *data; /* head and records, room bytes */
	size_t room;
	size_t used; /* of records */
	uint32_t tid, seq, slot, lost;
	uint64_t base, end;
	uint64_t next_offset, size;
	uint32_t desc;
	char path[REEL_PATH_SHARED];
	size_t path_len;
};

static inline uint8_t *tw_varint(uint8_t *p, uint64_t v)
{
	for (; v > 127; v >>= 7)
		*p++ = (uint8_t)(v & 127) | 128;
	*p++ = (uint8_t)v;
	return p;
}

static inline uint8_t *tw_zigzag(uint8_t *p, int64_t v)
{
	return tw_varint(p, v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1);
}

static inline uint8_t *tw_bytes(uint8_t *p, const char *s, size_t n)
{
	p = tw_varint(p, n);
	memcpy(p, s, n);
	return p + n;
}

static inline uint8_t *tw_path(struct tw_block *b, uint8_t *p, const char *s,
			       size_t n)
{
	size_t same = 0;

	while (same < n && same < b->path_len && s[same] == b->path[same])
		same++;
	p = tw_varint(p, same);
	p = tw_bytes(p, s + same, n - same);
	b->path_len = n < sizeof(b->path) ? n : sizeof(b->path);
	memcpy(b->path, s, b->path_len);
	return p;
}

static inline uint8_t *tw_more(struct tw_block *b, uint8_t *p,
			       unsigned int more, const struct reel_record *r)
{
	if (more & REEL_M_NEWDESC) {
		p = tw_varint(p, r->newdesc);
		b->desc = r->newdesc;
		p = tw_varint(p, (uint32_t)r->newfd);
	}
	if (more & REEL_M_ARG)
		p = tw_zigzag(p, r->arg);
	if (more & REEL_M_ARG2)
		p = tw_zigzag(p, r->arg2);
	if (more & REEL_M_POS)
		p = tw_varint(p, (uint64_t)r->pos);
	if (more & REEL_M_COUNT)
		p = tw_varint(p, r->count);
	if (more & REEL_M_PATH)
		p = tw_path(b, p, r->path, r->path_len);
	if (more & REEL_M_AT)
		p = tw_varint(p, r->at);
	if (more & REEL_M_PATH2) {
		p = tw_bytes(p, r->path2, r->path2_len);
		p = tw_varint(p, r->at2);
	}
	return p;
}

static inline unsigned int tw_more_flags(const struct reel_record *r)
{
	return (r->newdesc ? REEL_M_NEWDESC : 0u) |
	       (r->has_arg ? REEL_M_ARG : 0u) |
	       (r->has_arg2 ? REEL_M_ARG2 : 0u) |
	       (r->has_pos ? REEL_M_POS : 0u) |
	       (r->count > 1 ? REEL_M_COUNT : 0u) |
	       (r->path ? REEL_M_PATH : 0u) | (r->at ? REEL_M_AT : 0u) |
	       (r->path2 ? REEL_M_PATH2 : 0u);
}

/* Encode desc, offset, size, result; sets their flags in *@flags. */
static inline uint8_t *tw_core(struct tw_block *b, uint8_t *p, uint8_t *flags,
			       const struct reel_record *r)
{
	int64_t expected = r->has_size ? r->size : 0;
	uint8_t f = 0;

	if (r->desc) {
		f |= r->desc == b->desc ? REEL_F_DESC_SAME : REEL_F_DESC_NEW;
		if (r->desc != b->desc)
			p = tw_varint(p, r->desc);
		b->desc = r->desc;
	}
	if (r->has_offset) {
		f |= REEL_F_OFFSET;
		p = tw_zigzag(p,
			      (int64_t)((uint64_t)r->offset - b->next_offset));
		b->next_offset = (uint64_t)r->offset + (uint64_t)expected;
	}
	if (r->has_size) {
		bool same = b->size == (uint64_t)r->size + 1;

		f |= same ? REEL_F_SIZE_SAME : REEL_F_SIZE_NEW;
		if (!same)
			p = tw_varint(p, (uint64_t)r->size);
		b->size = (uint64_t)r->size + 1;
	}
	if (r->err) {
		f |= REEL_F_RES_ERROR;
		p = tw_varint(p, (uint64_t)r->err);
	} else if (r->result == 0 && expected != 0) {
		f |= REEL_F_RES_ZERO;
	} else if (r->result != expected) {
		f |= REEL_F_RES_OTHER;
		p = tw_zigzag(p, r->result);
	}
	*flags |= f;
	return p;
}

/* Append @r at @p, in the context of @b. Returns the end. */
static inline uint8_t *tw_record(struct tw_block *b, uint8_t *p,
				 const struct reel_record *r)
{
	unsigned int more = tw_more_flags(r);
	uint8_t *flags;

	if (r->call < REEL_CALL_WIDE) {
		*p++ = (uint8_t)r->call;
	} else {
		*p++ = (uint8_t)(REEL_CALL_WIDE +
				 ((r->call - REEL_CALL_WIDE) >> 8));
		*p++ = (uint8_t)(r->call - REEL_CALL_WIDE);
	}
	flags = p++;
	*flags = more ? REEL_F_MORE : 0;
	if (more)
		*p++ = (uint8_t)more;
	p = tw_varint(p, r->end_ticks - b->end);
	b->end = r->end_ticks;
	p = tw_varint(p, r->dur_ticks);
	p = tw_core(b, p, flags, r);
	return tw_more(b, p, more, r);
}

/* Begin the block @seq of the thread; the first record ends at @base or later.
 */
static inline void tw_begin(struct tw_block *b, uint32_t seq, uint64_t base)
{
	b->used = 0;
	b->seq = seq;
	b->base = b->end = base;
	b->next_offset = 0;
	b->size = 0;
	b->desc = 0;
	b->path_len = 0;
}

/* True when a record with paths of @text bytes in total fits. */
static inline bool tw_room(const struct tw_block *b, size_t text)
{
	return sizeof(struct reel_block_head) + b->used + text + 200 <= b->room;
}

static inline void tw_add(struct tw_block *b, const struct reel_record *r)
{
	uint8_t *from = b->data + sizeof(struct reel_block_head) + b->used;

	b->used += (size_t)(tw_record(b, from, r) - from);
}

/*
 * Write the head of the block and its padding. @ticks and @ns are the pair, 0
 * for an unflushed block. Returns the size in bytes.
 */
static inline size_t tw_seal(struct tw_block *b, uint64_t ticks, uint64_t ns)
{
	struct reel_block_head h = {
		.magic = REEL_BLOCK_MAGIC,
		.used = (uint32_t)b->used,
		.tid = b->tid,
		.seq = b->seq,
		.lost = b->lost,
		.base_ticks = b->base,
		.pair_ticks = ticks,
		.pair_mono_ns = ns,
		.slot = b->slot,
	};
	size_t bytes = sizeof(h) + b->used;

	if (ticks)
		h.check = reel_block_check(&h);
	memcpy(b->data, &h, sizeof(h));
	for (; bytes % 8; bytes++)
		b->data[bytes] = 0;
	return bytes;
}

/* Write @n strings "key=value" after @h, and set the sizes in the head. */
static inline size_t tw_head_text(struct reel_head *h, char *text, size_t room,
				  const char *const *s, int n)
{
	size_t len = 0;

	for (int i = 0; i < n && len + strlen(s[i]) + 9 < room; i++) {
		strcpy(text + len, s[i]);
		len += strlen(s[i]) + 1;
	}
	for (; len % 8; len++)
		text[len] = '\0';
	h->text_bytes = (uint32_t)len;
	h->head_bytes = (uint32_t)(sizeof(*h) + len);
	return len;
}

/* Append to the file @path, or create it. */
static inline void tw_write(const char *path, const char *mode,
			    const void *data, size_t bytes)
{
	FILE *f = fopen(path, mode);

	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0)
		err(1, "cannot write '%s'", path);
}

/* Make a new directory for a test; its path goes to @dir. */
static inline void tw_tempdir(char *dir, size_t room)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, room, "%s/ioreel-test.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		err(1, "cannot make '%s'", dir);
}

static inline void tw_remove(const char *dir)
{
	char cmd[4096];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	if (system(cmd) != 0)
		warnx("cannot remove '%s'", dir);
}

/*
 * Fill a head for a hand-made trace: process @pid, its uid the same number,
 * clock MONOTONIC, started at @start_ns.
 */
static inline struct reel_head tw_head(uint32_t pid, uint64_t start_ns)
{
	struct reel_head h = {
		.magic = REEL_HEAD_MAGIC,
		.major = REEL_TRACE_MAJOR,
		.minor = REEL_TRACE_MINOR,
		.head_bytes = sizeof(h),
		.uid = pid,
		.pid = pid,
		.clock = REEL_CLOCK_MONOTONIC,
		.first_desc = 1,
		.start_ticks = start_ns,
		.start_mono_ns = start_ns,
		.start_real_ns = start_ns,
		.start_boot_ns = start_ns,
		.boot_id = "hand-made",
	};

	return h;
}

/* Fill a block with @n reads of 100 bytes of descriptor 1, 10 ns apart, after
 * @base. */
static inline void tw_reads(struct tw_block *b, uint32_t tid, uint32_t seq,
			    uint64_t base, int n)
{
	struct reel_record r = {.call = 24,
				.desc = 1,
				.has_size = true,
				.size = 100,
				.result = 100,
				.dur_ticks = 5,
				.count = 1};

	if (!b->data) {
		b->room = REEL_SLOT_BYTES;
		b->data = calloc(1, b->room + 8);
		if (!b->data)
			err(1, "no memory");
	}
	b->tid = tid;
	tw_begin(b, seq, base);
	for (int i = 1; i <= n; i++) {
		r.end_ticks = base + 10 * (uint64_t)i;
		tw_add(b, &r);
	}
}

#endif

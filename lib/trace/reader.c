/* SPDX-License-Identifier: MIT */
/*
 * Streams: one thread's records, block after block; and access to the trace.
 *
 * A stream holds no descriptor and at most one block. With many threads it
 * holds less than a block, so that ten thousand streams fit into 28 MiB: a
 * record that does not decode may be incomplete in the buffer, which grows for a
 * long one.
 */
#include "lib/trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/num.h"
#include "lib/trace/internal.h"

#define STREAMS_BYTES (20u << 20)
#define CHUNK_MIN 2048
#define CHUNK_GROWN (TRACE_RECORD_MAX + 1024)

struct reel_stream {
	struct reel_trace *tr;
	const struct trace_block *next, *last; /* next blocks: [next, last) */
	const struct trace_block *now;
	struct trace_decoder d;
	uint8_t *buf;
	size_t room;   /* of buf, without the slack */
	int64_t at;    /* file offset of the byte after d.end */
	uint32_t left; /* bytes of the block from there on */
};

int reel_trace_processes(const struct reel_trace *tr)
{
	return (int)tr->images;
}

const struct reel_trace_process *reel_trace_process(const struct reel_trace *tr,
						    int i)
{
	return &tr->image[i].pub;
}

int reel_trace_threads(const struct reel_trace *tr)
{
	return (int)tr->threads;
}

const struct reel_trace_thread *reel_trace_thread(const struct reel_trace *tr,
						  int i)
{
	return &tr->thread[i].pub;
}

const struct reel_trace_damage *reel_trace_damage(const struct reel_trace *tr)
{
	return &tr->damage;
}

const json_t *reel_trace_job(const struct reel_trace *tr)
{
	return tr->job;
}

const struct reel_counts *reel_trace_counts(const struct reel_trace *tr)
{
	return &tr->counts;
}

const char *reel_trace_text(const struct reel_trace_process *p, const char *key)
{
	for (int i = 0; i < p->texts; i++)
		if (strcmp(p->text[i].key, key) == 0)
			return p->text[i].value;
	return NULL;
}

/* Buffer size of a stream: a block, or its share of the memory. */
static size_t chunk_bytes(const struct reel_trace *tr)
{
	size_t share = STREAMS_BYTES / (tr->threads ? tr->threads : 1);

	if (share > TRACE_USED_MAX)
		return TRACE_USED_MAX;
	return share < CHUNK_MIN ? CHUNK_MIN : share;
}

int reel_stream_open(struct reel_stream **out, struct reel_trace *tr, int i,
		     struct reel_error *err)
{
	const struct trace_thread *t = &tr->thread[i];
	struct reel_stream *s = reel_alloc(1, sizeof(*s), err);
	size_t most = 0;

	if (!s)
		return -1;
	s->tr = tr;
	s->next = &tr->block[t->first_block];
	s->last = s->next + t->pub.blocks;
	for (const struct trace_block *b = s->next; b < s->last; b++)
		if (b->used > most)
			most = b->used;
	s->room = chunk_bytes(tr);
	if (s->room > most)
		s->room = most;
	s->buf = reel_alloc(s->room + TRACE_SLACK, 1, err);
	if (!s->buf) {
		free(s);
		return -1;
	}
	s->d.p = s->d.end = s->buf;
	s->d.first_format = tr->image[t->pub.process].pub.head.major == 1;
	*out = s;
	return 0;
}

void reel_stream_close(struct reel_stream *s)
{
	if (!s)
		return;
	trace_decoder_fini(&s->d);
	free(s->buf);
	free(s);
}

static int fail_changed(const struct reel_stream *s, struct reel_error *err)
{
	return reel_fail(err, REEL_E_IO, "'%s' changed while it was read",
			 s->tr->file[s->now->file].path);
}

/* True when the block is still at its indexed position. */
static bool same_head(const struct trace_input *in, const struct trace_block *b)
{
	struct reel_block_head h;

	return trace_input_read(in, &h, sizeof(h), b->at) &&
	       h.magic == REEL_BLOCK_MAGIC && h.tid == b->tid &&
	       h.seq == b->seq && h.base_ticks == b->base_ticks &&
	       (!h.used || h.used >= b->used);
}

/*
 * Skip the block. It is no damage in the window of a live process: the newer
 * content is later than this trace.
 */
static void skip_rest(struct reel_stream *s)
{
	s->d.p = s->d.end = s->buf;
	s->left = 0;
}

/* Skip the block and count the rest of it as damage. */
static void drop_rest(struct reel_stream *s, const char *why)
{
	uint64_t bytes = (uint64_t)(s->d.end - s->d.p) + s->left;
	char at[REEL_NUM];
	int64_t from = s->at - (s->d.end - s->d.p);

	/* The last record of a cut block: that damage is counted already. */
	if (s->now->used < s->now->wanted && bytes < TRACE_RECORD_MAX)
		goto out;
	trace_damage_cut(s->tr, bytes, "'%s': block %u: %s at byte %s",
			 s->tr->file[s->now->file].path, s->now->number, why,
			 reel_num_count(at, from));
out:
	skip_rest(s);
}

/* A record may fill most of the buffer: make room for any. */
static int widen_buffer(struct reel_stream *s, size_t have,
			struct reel_error *err)
{
	size_t at = (size_t)(s->d.p - s->buf);

	if (s->room >= CHUNK_GROWN || have < s->room / 2)
		return 0;
	if (reel_grow(&s->buf, CHUNK_GROWN + TRACE_SLACK, 1, err))
		return -1;
	s->room = CHUNK_GROWN;
	s->d.p = s->buf + at;
	s->d.end = s->d.p + have;
	return 0;
}

/* Refill the buffer: the rest moves to the front, new bytes follow. */
static int fill_buffer(struct reel_stream *s, bool begin,
		       struct reel_error *err)
{
	const struct trace_file *f = &s->tr->file[s->now->file];
	size_t have = (size_t)(s->d.end - s->d.p), more;
	struct trace_input in;
	bool good, same;

	if (widen_buffer(s, have, err))
		return -1;
	more = s->room - have;
	if (more > s->left)
		more = s->left;
	if (trace_input_open(&in, f->path) < 0) {
		if (!f->window || errno != ENOENT)
			return reel_fail_io(err, "open", f->path, errno);
		skip_rest(s);
		return 0;
	}
	memmove(s->buf, s->d.p, have);
	good = trace_input_read(&in, s->buf + have, more, s->at);
	/* Checked after the read, so that a changed window is noticed. */
	same = !begin && !f->window ? true : same_head(&in, s->now);
	trace_input_close(&in);
	s->d.p = s->buf;
	s->d.end = s->buf + have;
	if (!same && f->window) {
		skip_rest(s);
		return 0;
	}
	if (!good || !same)
		return fail_changed(s, err);
	s->d.end += more;
	memset(s->buf + have + more, 0, TRACE_SLACK);
	s->at += (int64_t)more;
	s->left -= (uint32_t)more;
	return 0;
}

/* Begin the next block that has records. 1, 0 at the end, or -1. */
static int next_block(struct reel_stream *s, struct reel_error *err)
{
	while (s->next < s->last && s->next->used == 0)
		s->next++;
	if (s->next == s->last) {
		free(s->buf);
		s->buf = NULL;
		s->d.p = s->d.end = NULL;
		return 0;
	}
	s->now = s->next++;
	s->d.p = s->d.end = s->buf;
	s->left = s->now->used;
	s->at = s->now->at + (int64_t)sizeof(struct reel_block_head);
	trace_decoder_begin(&s->d, s->now->base_ticks);
	return fill_buffer(s, true, err) < 0 ? -1 : 1;
}

/* Continue after trace_decode() returned @rc <= 0; @any: bytes were left. */
static int __attribute__((noinline))
next_slow(struct reel_stream *s, struct reel_record *rec, int rc, bool any,
	  struct reel_error *err)
{
	for (;;) {
		if (rc < 0 && err && err->code)
			return -1;
		/* A 0 ends the block, the end of the buffer does not. */
		if (s->left && (rc < 0 || !any) &&
		    s->d.end - s->d.p < TRACE_RECORD_MAX) {
			if (fill_buffer(s, false, err) < 0)
				return -1;
		} else {
			if (rc < 0 || s->left)
				drop_rest(s, "no record begins");
			rc = next_block(s, err);
			if (rc <= 0)
				return rc;
		}
		any = s->d.p < s->d.end;
		rc = trace_decode(&s->d, rec, err);
		if (rc > 0)
			return 1;
	}
}

int reel_stream_next(struct reel_stream *s, struct reel_record *rec,
		     struct reel_error *err)
{
	bool any = s->d.p < s->d.end;
	int rc = trace_decode(&s->d, rec, err);

	return rc > 0 ? 1 : next_slow(s, rec, rc, any, err);
}

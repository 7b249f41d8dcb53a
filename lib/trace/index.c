/* SPDX-License-Identifier: MIT */
/*
 * Index a log or a window: the positions of its blocks, from their heads.
 *
 * A log is walked from block to block. Where no block begins, the walk searches
 * for the next valid head, first inside the previous block: after a short write
 * a block is shorter than its head says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/trace/internal.h"

struct walk {
	struct reel_trace *tr;
	struct trace_input in;
	uint32_t file;
	int64_t image; /* owner of the blocks; -1: no head yet */
	int64_t log;   /* start of the log: blocks are aligned to it */
	int64_t limit; /* end of the log */
	int64_t pos;
	int64_t last;	 /* index of the block just before pos, or -1 */
	uint32_t number; /* of blocks in this log */
	uint64_t magic;	 /* the last one found */
	size_t words;	 /* in word[], read at words_at */
	int64_t words_at;
	uint64_t word[512];
};

static int add_file(struct reel_trace *tr, const char *path, bool window,
		    struct reel_error *err)
{
	struct trace_file *f;

	if (reel_array_reach(&tr->file, &tr->file_room, tr->files, sizeof(*f),
			     err))
		return -1;
	f = &tr->file[tr->files];
	f->window = window;
	f->path = reel_strdup(path, err);
	if (!f->path)
		return -1;
	tr->files++;
	return 0;
}

static int add_block(struct walk *w, const struct reel_block_head *head,
		     uint32_t there, struct reel_error *err)
{
	struct reel_trace *tr = w->tr;
	struct trace_block *b;

	if (reel_array_reach(&tr->block, &tr->block_room, tr->blocks,
			     sizeof(*b), err))
		return -1;
	b = &tr->block[tr->blocks];
	b->at = w->pos;
	b->base_ticks = head->base_ticks;
	b->file = w->file;
	b->process = (uint32_t)w->image;
	b->tid = head->tid;
	b->seq = head->seq;
	b->used = there < head->used ? there : head->used;
	b->wanted = head->used;
	b->lost = head->lost;
	b->slot = head->slot;
	b->number = ++w->number;
	w->last = tr->blocks++;
	if (!head->pair_ticks)
		return 0;
	return trace_clock_pair(tr, (uint32_t)w->image, head->pair_ticks,
				head->pair_mono_ns, err);
}

/* Read the block head at w->pos; false if it is not valid. */
static bool read_block_head(const struct walk *w, struct reel_block_head *head)
{
	if (w->image < 0 || w->limit - w->pos < (int64_t)sizeof(*head) ||
	    !trace_input_read(&w->in, head, sizeof(*head), w->pos))
		return false;
	return head->magic == REEL_BLOCK_MAGIC && head->tid != 0 &&
	       head->used <= TRACE_USED_MAX &&
	       head->check == reel_block_check(head);
}

/* Add the block at w->pos, up to the end of the log, and advance. */
static int walk_block(struct walk *w, const struct reel_block_head *head,
		      struct reel_error *err)
{
	int64_t room = w->limit - w->pos - (int64_t)sizeof(*head);
	int64_t bytes = (int64_t)(head->used + 7) & ~7ll;

	if (add_block(w, head, room < head->used ? (uint32_t)room : head->used,
		      err) < 0)
		return -1;
	if (bytes > room)
		bytes = room;
	w->pos += (int64_t)sizeof(*head) + bytes;
	return 0;
}

/*
 * A merged log may hold the copy of a log that still exists: the merge was
 * killed before it removed the log. Returns the length of the copy, or 0.
 */
static int64_t copied_log_bytes(const struct walk *w)
{
	struct reel_head head;

	if (!trace_input_read(&w->in, &head, sizeof(head), w->pos) ||
	    head.magic != REEL_HEAD_MAGIC || head.log_bytes < sizeof(head) ||
	    head.log_bytes > INT64_MAX)
		return 0;
	for (uint32_t i = 0; i < w->tr->images; i++)
		if (!w->tr->image[i].pub.head.log_bytes &&
		    w->tr->image[i].pub.head.uid == head.uid)
			return (int64_t)head.log_bytes;
	return 0;
}

/* Begin a log if a head is at w->pos; skip the copy of a log. */
static enum trace_verdict walk_head(struct walk *w, struct reel_error *err)
{
	struct reel_head head;
	enum trace_verdict v;
	int64_t room = w->in.bytes - w->pos, copy = copied_log_bytes(w);

	if (copy) {
		w->pos = copy < room ? w->pos + copy : w->in.bytes;
		w->image = -1;
		return TRACE_GOOD;
	}
	v = trace_head_read(w->tr, &w->in, w->pos, false, &head, err);
	if (v != TRACE_GOOD)
		return v;
	w->image = w->tr->images - 1;
	w->log = w->pos;
	w->last = -1;
	w->number = 0;
	w->limit = w->in.bytes;
	if (head.log_bytes >= head.head_bytes &&
	    head.log_bytes <= (uint64_t)room)
		w->limit = w->pos + (int64_t)head.log_bytes;
	w->pos += head.head_bytes;
	return TRACE_GOOD;
}

/* Read the words at @from, or after the hole there, into w->word. */
static bool read_chunk(struct walk *w, int64_t from, int64_t limit)
{
	int64_t data = trace_input_data(&w->in, from);
	size_t n = sizeof(w->word);

	if (data > from)
		from = w->log + ((data - w->log) & ~7ll);
	w->words = 0;
	w->words_at = from;
	if (limit - from < 8)
		return false;
	if (limit - from < (int64_t)n)
		n = (size_t)(limit - from) & ~(size_t)7;
	if (!trace_input_read(&w->in, w->word, n, from))
		return false;
	w->words = n / 8;
	return true;
}

/*
 * The position of the next magic of a block or a head from @from on, or @limit.
 * Words are kept between calls: a file may consist of magic numbers.
 */
static int64_t find_magic(struct walk *w, int64_t from, int64_t limit)
{
	int64_t end = w->words_at + (int64_t)w->words * 8;
	size_t i = 0;

	if (from >= w->words_at && from < end && (from - w->words_at) % 8 == 0)
		i = (size_t)(from - w->words_at) / 8;
	else if (!read_chunk(w, from, limit))
		return limit;
	for (;;) {
		for (; i < w->words; i++)
			if (w->word[i] == REEL_BLOCK_MAGIC ||
			    w->word[i] == REEL_HEAD_MAGIC)
				goto found;
		from = w->words_at + (int64_t)w->words * 8;
		if (from >= limit || !read_chunk(w, from, limit))
			return limit;
		i = 0;
	}
found:
	w->magic = w->word[i];
	from = w->words_at + (int64_t)i * 8;
	return from < limit ? from : limit;
}

/*
 * No block or head is at w->pos. Move to the next valid head: inside the
 * previous block, which is then cut short, or after it; or to the end of the
 * log.
 */
static void find_next_head(struct walk *w)
{
	struct trace_block *last = NULL;
	struct reel_block_head head;
	struct reel_head log;
	char at[REEL_NUM];
	int64_t lost = w->pos, from = w->pos + 8;

	if (w->last >= 0) {
		last = &w->tr->block[w->last];
		from = last->at + 8;
	}
	from = w->log + ((from - w->log + 7) & ~7ll);
	for (;; from = w->pos + 8) {
		w->pos = find_magic(w, from, w->limit);
		if (w->pos >= w->limit)
			break;
		if (w->magic == REEL_BLOCK_MAGIC && read_block_head(w, &head))
			break;
		if (w->magic == REEL_HEAD_MAGIC &&
		    trace_input_read(&w->in, &log, sizeof(log), w->pos) &&
		    trace_head_good(&log, w->in.bytes - w->pos))
			break;
	}
	if (last && w->pos < lost) {
		int64_t used = w->pos - last->at - (int64_t)sizeof(head);

		if (used < 0)
			used = 0;
		if (used < last->used)
			last->used = (uint32_t)used;
		return;
	}
	reel_num_count(at, lost);
	if (w->image < 0)
		trace_damage_file(w->tr, "'%s' has no readable head",
				  w->in.path);
	else
		trace_damage_cut(w->tr, (uint64_t)(w->pos - lost),
				 "'%s': no block begins at byte %s", w->in.path,
				 at);
}

/* One step of the walk: add a block, begin a log, or search the next head. */
static int walk_step(struct walk *w, struct reel_error *err)
{
	struct reel_block_head head;

	if (read_block_head(w, &head))
		return walk_block(w, &head, err);
	if (w->pos >= w->limit)
		w->limit = w->in.bytes;
	switch (walk_head(w, err)) {
	case TRACE_GOOD:
		return 0;
	case TRACE_FAILED:
		return -1;
	case TRACE_BAD:
		break;
	}
	find_next_head(w);
	return 0;
}

int trace_index_log(struct reel_trace *tr, const char *path, int64_t image,
		    struct reel_error *err)
{
	struct walk w = {.tr = tr, .image = image, .last = -1};
	int rc = -1;

	if (add_file(tr, path, false, err) < 0)
		return -1;
	w.file = tr->files - 1;
	if (trace_input_open(&w.in, tr->file[w.file].path) < 0) {
		trace_damage_open(tr, path, errno);
		return 0;
	}
	w.limit = w.in.bytes;
	if (w.in.bytes == 0 && image < 0)
		trace_damage_file(tr, "'%s' is empty", path);
	while (w.pos < w.in.bytes)
		if (walk_step(&w, err) < 0)
			goto out;
	rc = 0;
out:
	trace_input_close(&w.in);
	return rc;
}

/* Measure the records of a slot whose block is not finished. */
static int measure_slot(struct walk *w, uint32_t room, uint32_t *used,
			struct reel_error *err)
{
	uint8_t *bytes = reel_alloc(1, TRACE_USED_MAX + TRACE_SLACK, err);

	if (!bytes)
		return -1;
	*used = 0;
	if (trace_input_read(&w->in, bytes, room,
			     w->pos + (int64_t)sizeof(struct reel_block_head)))
		*used = reel_records_bytes(bytes, room);
	free(bytes);
	return 0;
}

/* Add slot @i of a window, if a thread owns it. */
static int walk_slot(struct walk *w, uint32_t i, struct reel_error *err)
{
	struct reel_block_head head;
	int64_t room;
	char at[REEL_NUM];

	w->pos = REEL_WINDOW_HEAD_BYTES + (int64_t)i * REEL_SLOT_BYTES;
	room = w->in.bytes - w->pos - (int64_t)sizeof(head);
	if (!trace_input_read(&w->in, &head, sizeof(head), w->pos))
		return 0;
	if (head.tid == 0)
		return 0;
	if (head.magic != REEL_BLOCK_MAGIC || head.used > TRACE_USED_MAX) {
		reel_num_count(at, w->pos);
		trace_damage_cut(w->tr, 0,
				 "'%s': slot %u at byte %s is damaged",
				 w->in.path, i, at);
		return 0;
	}
	if (room > (int64_t)TRACE_USED_MAX)
		room = TRACE_USED_MAX;
	if (!head.used && measure_slot(w, (uint32_t)room, &head.used, err) < 0)
		return -1;
	return add_block(w, &head,
			 room < head.used ? (uint32_t)room : head.used, err);
}

static int walk_slots(struct walk *w, struct reel_error *err)
{
	int64_t at, next;
	uint32_t i;

	for (i = 0; i < TRACE_SLOTS_MAX; i++) {
		at = REEL_WINDOW_HEAD_BYTES + (int64_t)i * REEL_SLOT_BYTES;
		next = trace_input_data(&w->in, at);
		if (next >= w->in.bytes)
			break;
		if (next - at >= REEL_SLOT_BYTES) {
			next = (next - REEL_WINDOW_HEAD_BYTES) /
			       REEL_SLOT_BYTES;
			if (next >= TRACE_SLOTS_MAX)
				break;
			i = (uint32_t)next;
		}
		if (walk_slot(w, i, err) < 0)
			return -1;
	}
	return 0;
}

int trace_index_window(struct reel_trace *tr, const char *path, int64_t *image,
		       struct reel_error *err)
{
	struct walk w = {.tr = tr, .image = -1, .last = -1};
	struct reel_head head;
	enum trace_verdict v;
	int rc = -1;

	*image = -1;
	if (add_file(tr, path, true, err) < 0)
		return -1;
	w.file = tr->files - 1;
	if (trace_input_open(&w.in, tr->file[w.file].path) < 0) {
		trace_damage_open(tr, path, errno);
		return 0;
	}
	v = trace_head_read(tr, &w.in, 0, true, &head, err);
	if (v == TRACE_FAILED)
		goto out;
	rc = 0;
	if (v == TRACE_BAD) {
		trace_damage_file(tr, "'%s' has no readable head", path);
		goto out;
	}
	w.image = *image = tr->images - 1;
	rc = walk_slots(&w, err);
out:
	trace_input_close(&w.in);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * A bitmap with a bit for each piece of the file. The size of a piece doubles
 * when there are too many, so that no file takes more than half a megabyte.
 */
#include "replay/fsstate/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/model/classify.h"

#define PIECE_SHIFT 18 /* 256 KiB: more than Linux reads ahead by default */
#define PIECES_MOST (1u << 22)
#define HOLE_LEAST (1 << 20) /* smaller ones are filled */

struct extents {
	uint64_t *used; /* a bit for each piece */
	uint32_t words;
	uint8_t shift;
	bool all;
	struct plan_hole *seen; /* by SEEK_HOLE, SEEK_DATA; in their order */
	uint32_t seen_n, seen_room;
};

static int ensure_extents(struct extents **e, struct reel_error *err)
{
	if (*e)
		return 0;
	*e = reel_alloc(1, sizeof(**e), err);
	if (!*e)
		return -1;
	(*e)->shift = PIECE_SHIFT;
	return 0;
}

static bool is_used(const struct extents *e, int64_t piece)
{
	return piece / 64 < e->words && e->used[piece / 64] >> (piece % 64) & 1;
}

/* Merge each two pieces into one. */
static void coarsen_bitmap(struct extents *e)
{
	for (uint32_t i = 0; i < e->words; i++) {
		uint64_t word = 0;

		for (int64_t bit = 0; bit < 64; bit++) {
			int64_t piece = 2 * (64 * (int64_t)i + bit);

			if (is_used(e, piece) || is_used(e, piece + 1))
				word |= 1ull << bit;
		}
		e->used[i] = word;
	}
	e->shift++;
}

static int mark_used(struct extents **to, int64_t from, int64_t end,
		     struct reel_error *err)
{
	struct extents *e;
	int64_t first, last;

	if (ensure_extents(to, err))
		return -1;
	e = *to;
	if (e->all || from < 0 || end <= from || end > INT64_MAX / 2)
		return 0;
	/* One piece more on each side, for readahead and fault-around. */
	while ((end >> e->shift) + 1 >= PIECES_MOST)
		coarsen_bitmap(e);
	first = from >> e->shift;
	last = (end >> e->shift) + 1;
	if (first)
		first--;
	if (last / 64 >= e->words) {
		uint32_t words = (uint32_t)(last / 64 + 1);

		words += words / 4;
		if (reel_grow(&e->used, words, sizeof(*e->used), err))
			return -1;
		memset(e->used + e->words, 0,
		       (words - e->words) * sizeof(*e->used));
		e->words = words;
	}
	for (; first <= last; first++)
		e->used[first / 64] |= 1ull << (first % 64);
	return 0;
}

static int mark_all_used(struct extents **e, struct reel_error *err)
{
	if (ensure_extents(e, err))
		return -1;
	(*e)->all = true;
	return 0;
}

static int add_seen_hole(struct extents **to, int64_t from, int64_t end,
			 struct reel_error *err)
{
	struct extents *e;

	if (from < 0 || end <= from)
		return 0;
	if (ensure_extents(to, err))
		return -1;
	e = *to;
	if (reel_array_reach(&e->seen, &e->seen_room, e->seen_n,
			     sizeof(*e->seen), err))
		return -1;
	e->seen[e->seen_n++] = (struct plan_hole){from, end - from};
	return 0;
}

/* A seek to data or a hole must give the recorded result again. */
static int note_seek(struct extents **e, const struct reel_event *ev,
		     struct reel_error *err)
{
	int64_t from = ev->arg2 == REEL_NO_OFFSET ? 0 : ev->arg2;

	if (ev->arg == SEEK_HOLE && !ev->err)
		return mark_used(e, from, ev->result, err);
	if (ev->arg != SEEK_DATA || (ev->err && ev->err != ENXIO))
		return 0;
	if (ev->err)
		return add_seen_hole(e, from, INT64_MAX, err);
	return add_seen_hole(e, from, ev->result, err) ||
			       mark_used(e, ev->result, ev->result + 1, err)
		       ? -1
		       : 0;
}

/*
 * Bytes that the call reads from the storage, or changes there; -1: none. The
 * replay touches the pages of a mapping from its start on, first those that
 * were read, then those that were written: twice the bytes.
 */
static int64_t bytes_of(const struct reel_event *ev)
{
	if (ev->call == REEL_CALL_READAHEAD ||
	    (ev->call == REEL_CALL_POSIX_FADVISE &&
	     ev->arg == POSIX_FADV_WILLNEED))
		return ev->arg2 ? ev->arg2 : INT64_MAX; /* 0: to the end */
	if (ev->group != REEL_GROUP_READ && ev->group != REEL_GROUP_WRITE)
		return -1;
	if (ev->result > INT64_MAX / 8)
		return -1;
	return is_mapped_access(ev->call) ? 2 * ev->result : ev->result;
}

int extents_event(struct extents **e, const struct reel_event *ev,
		  struct reel_error *err)
{
	int64_t bytes = bytes_of(ev);

	if (ev->call == REEL_CALL_LSEEK)
		return note_seek(e, ev, err);
	if (ev->err || bytes <= 0)
		return 0;
	/* An unknown part of it, or all to the end. */
	if (ev->offset < 0 || bytes == INT64_MAX)
		return mark_all_used(e, err);
	if (ev->offset > INT64_MAX / 4)
		return 0;
	return mark_used(e, ev->offset, ev->offset + bytes, err);
}

void extents_free(struct extents *e)
{
	if (!e)
		return;
	free(e->used);
	free(e->seen);
	free(e);
}

struct holes {
	struct plan_hole *at;
	uint32_t n, room;
	int64_t size_bytes;
};

static int add_hole(struct holes *h, int64_t from, int64_t to,
		    struct reel_error *err)
{
	if (to > h->size_bytes)
		to = h->size_bytes;
	if (from >= to)
		return 0;
	if (reel_array_reach(&h->at, &h->room, h->n, sizeof(*h->at), err))
		return -1;
	h->at[h->n++] = (struct plan_hole){from, to - from};
	return 0;
}

static int add_unused(const struct extents *e, struct holes *h,
		      struct reel_error *err)
{
	unsigned int shift = e ? e->shift : PIECE_SHIFT;
	int64_t pieces = e ? 64 * (int64_t)e->words : 0, first = 0;

	for (int64_t i = 0; i < pieces; i++) {
		if (!is_used(e, i))
			continue;
		if ((i - first) << shift >= HOLE_LEAST &&
		    add_hole(h, first << shift, i << shift, err))
			return -1;
		first = i + 1;
	}
	return h->size_bytes - (first << shift) >= HOLE_LEAST
		       ? add_hole(h, first << shift, h->size_bytes, err)
		       : 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct plan_hole *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sort the holes, and merge those that touch. */
static void merge_holes(struct holes *h)
{
	uint32_t n = 0;

	if (h->n)
		qsort(h->at, h->n, sizeof(*h->at), by_offset);
	for (uint32_t i = 0; i < h->n; i++) {
		struct plan_hole *last = n ? &h->at[n - 1] : NULL;
		int64_t end = h->at[i].at + h->at[i].bytes;

		if (!last || h->at[i].at > last->at + last->bytes)
			h->at[n++] = h->at[i];
		else if (end > last->at + last->bytes)
			last->bytes = end - last->at;
	}
	h->n = n;
}

int extents_holes(const struct extents *e, int64_t size_bytes,
		  struct plan_hole **out, uint32_t *n, struct reel_error *err)
{
	struct holes h = {.size_bytes = size_bytes};
	int rc = e && e->all ? 0 : add_unused(e, &h, err);

	for (uint32_t i = 0; e && i < e->seen_n && !rc; i++)
		rc = add_hole(&h, e->seen[i].at,
			      e->seen[i].at + e->seen[i].bytes, err);
	if (rc) {
		free(h.at);
		return -1;
	}
	merge_holes(&h);
	*out = h.at;
	*n = h.n;
	return 0;
}

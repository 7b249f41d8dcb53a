/* SPDX-License-Identifier: MIT */
/*
 * The memory that a read fills, or a write takes from, which is a good part of
 * what a copy from or to the page cache costs: at some places in a page it
 * takes half as long again as at others, so a large one gets the job's.
 *
 * A small read goes where the job's thread has just worked: the buffer is
 * touched before, as ours has slept and lost it from the caches. A large one
 * often goes into pages that malloc() has just got from the kernel, and each of
 * them is a page fault inside the read. Which share of them was fresh is not
 * recorded, but it shows in the time that the reads took: for each size the
 * share is moved, in small steps, to where the median of our reads meets that
 * of the job's. On a slower storage it has no weight.
 */
#include <string.h>
#include <sys/mman.h>

#include "lib/calls.h"
#include "schemas/trace_format.h"

#include "replay/player.h"

#define PAGE_BYTES 4096
#define WHOLE 128 /* a share of 1 */
#define FIRST_STEP 16

static struct share *share_of(struct player *p, const struct step *s)
{
	return &p->fresh[63 - __builtin_clzll((unsigned long long)s->size)];
}

static size_t place_of(const struct step *s)
{
	switch (s->r->op) {
	case REEL_CALL_READ:
	case REEL_CALL_PREAD:
	case REEL_CALL_WRITE:
	case REEL_CALL_PWRITE:
		return s->m->arg == PLAN_NO_OFFSET ?
			       0 : (size_t)s->m->arg % REEL_PLACE_BYTES;
	default:
		return 0;
	}
}

void memory_before(struct player *p, const struct step *s, bool fills)
{
	size_t place = place_of(s), pages = (size_t)s->size / PAGE_BYTES;
	volatile uint8_t *in;

	p->out = p->out_pages + place;
	in = p->in = p->in_pages + place;
	if (!fills || p->engine->mode == REPLAY_AFAP)
		return;
	if (s->size < REEL_LARGE_BYTES) {
		for (int64_t i = 0; i < s->size; i += 64)
			in[i] = 0;
		return;
	}
	pages = pages * share_of(p, s)->now / WHOLE;
	if (pages)
		madvise(p->in_pages, pages * PAGE_BYTES, MADV_DONTNEED);
}

void memory_after_read(struct player *p, const struct step *s, int64_t took_ns,
		       int64_t want_ns)
{
	struct share *share = share_of(p, s);
	int step;

	if (s->size < REEL_LARGE_BYTES)
		return;
	if (!share->step)
		share->step = FIRST_STEP;
	step = share->step;
	if (share->step > 1)
		share->step -= (share->step + 3) / 4;
	if (took_ns < want_ns)
		share->now += step;
	else
		share->now -= step;
	if (share->now > WHOLE)
		share->now = WHOLE;
	if (share->now < 0)
		share->now = 0;
}

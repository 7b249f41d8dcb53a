/* SPDX-License-Identifier: MIT */
/*
 * The memory that a read fills, which is a good part of what a read from the
 * page cache costs.
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

#include "replay/player.h"

#define SMALL_BYTES (64 << 10)
#define PAGE_BYTES 4096
#define WHOLE 128 /* a share of 1 */
#define FIRST_STEP 16

static struct share *share_of(struct player *p, const struct step *s)
{
	return &p->fresh[63 - __builtin_clzll((unsigned long long)s->size)];
}

void memory_before_read(struct player *p, const struct step *s)
{
	volatile uint8_t *in = p->in;
	size_t pages = (size_t)s->size / PAGE_BYTES;

	if (p->engine->mode == REPLAY_AFAP)
		return;
	if (s->size <= SMALL_BYTES) {
		for (int64_t i = 0; i < s->size; i += 64)
			in[i] = 0;
		return;
	}
	pages = pages * share_of(p, s)->now / WHOLE;
	if (pages)
		madvise(p->in, pages * PAGE_BYTES, MADV_DONTNEED);
}

void memory_after_read(struct player *p, const struct step *s, int64_t took_ns,
		       int64_t want_ns)
{
	struct share *share = share_of(p, s);
	int step;

	if (s->size <= SMALL_BYTES)
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

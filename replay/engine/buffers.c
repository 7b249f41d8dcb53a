/* SPDX-License-Identifier: MIT */
/*
 * The memory of reads and writes. It decides on a good part of the time that a
 * copy from or to the page cache takes, so the replay imitates the job's.
 *
 * Offset in the page: at some offsets a copy takes half as long again as at
 * others. Large transfers get the recorded offset.
 *
 * CPU caches: a small read goes to memory that the job's thread has just used.
 * The replay touches its buffer before, because it slept and lost it from the
 * caches. A large read is not touched: in the job, the processing of the read
 * before had evicted its buffer, and a copy over cached lines is slower by up
 * to a sixth (on an EPYC).
 *
 * Page faults: a large read often goes to pages that malloc() has just got from
 * the kernel, and each of them faults during the read. The share of fresh pages
 * is not recorded, but the time of the reads shows it. For each size the share
 * is moved in small steps, until the median of the replay's reads is that of
 * the job's. On a slower storage the share has no effect. (A share computed
 * from the time of each single read would be too large: delays by chance in the
 * job would be added to those of the replay.)
 *
 * Physical pages: they make up to a tenth of a copy, by the cache sets that
 * they share. So lasting pages are huge pages where possible, and the share
 * compensates for the rest: it can slow the replay down, not speed it up.
 *
 * Layout: fresh pages are below in_pages, lasting ones above.
 */
#include "replay/engine/buffers.h"

#include <string.h>
#include <sys/mman.h>

#include "schemas/trace_format.h"

#include "lib/calls.h"

#include "replay/engine/player.h"
#include "schemas/syscall.h"

#define PAGE_BYTES 4096
#define WHOLE 128 /* a share of 1 */
#define FIRST_STEP 16
#define FIRST_READS 64
#define LEAST                                                                  \
	(-16) /* no fresh pages, and the replay's reads are still slower */
#define HUGE_BYTES (UINT64_C(2) << 20)
#define HUGE_STREAMS 64 /* more streams would take too much memory */

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/*
 * The data of writes: printable, so that it can be read as lines, and without a
 * pattern that compresses.
 */
static uint8_t text[PLAN_SHARED_BYTES + REEL_PLACE_BYTES]
	__attribute__((aligned(REEL_PLACE_BYTES)));

void buffers_fill_text(void)
{
	uint64_t z = 0x243f6a8885a308d3ull;

	for (size_t i = 0; i < sizeof(text); i++) {
		z ^= z << 13;
		z ^= z >> 7;
		z ^= z << 17;
		text[i] = (uint8_t)(0x40 | (z & 0x1f));
	}
}

static uint8_t *map_pages(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Large writes come from memory of their own, as in the job. */
static void init_output(struct player *p)
{
	uint64_t bytes = p->stream->most_written;
	uint64_t all = bytes + REEL_PLACE_BYTES;
	uint8_t *to = text;

	p->out_bytes = PLAN_SHARED_BYTES;
	if (bytes > PLAN_SHARED_BYTES) {
		p->out_bytes = bytes;
		to = map_pages(all);
		for (uint64_t at = 0; to && at < all; at += sizeof(text))
			memcpy(to + at, text,
			       all - at < sizeof(text) ? all - at
						       : sizeof(text));
	}
	p->out = p->out_pages = to;
}

static void init_input(struct player *p)
{
	uint64_t bytes =
		round_up(p->stream->most_read + REEL_PLACE_BYTES, PAGE_BYTES);
	uint64_t lasting = bytes;
	bool huge = p->stream->most_read >= REEL_LARGE_BYTES &&
		    p->engine->plan->head->streams <= HUGE_STREAMS;
	uint8_t *at;

	if (huge)
		lasting = round_up(bytes, HUGE_BYTES) + HUGE_BYTES;
	at = map_pages(bytes + lasting);
	if (!at)
		return;
	p->in_map = at;
	p->in_map_bytes = bytes + lasting;
	p->in_pages = at + bytes;
	if (huge)
		p->in_pages += -(uintptr_t)p->in_pages % HUGE_BYTES;
	/* Fresh pages are dropped and faulted in one by one. */
	madvise(at, (size_t)(p->in_pages - at), MADV_NOHUGEPAGE);
	if (huge) {
		madvise(p->in_pages, lasting - HUGE_BYTES, MADV_HUGEPAGE);
		for (uint64_t i = 0; i < bytes && i < HUGE_BYTES;
		     i += PAGE_BYTES)
			p->in_pages[i] = 1;
	}
	p->in = p->in_pages;
}

bool buffers_init(struct player *p)
{
	init_input(p);
	init_output(p);
	return p->in && p->out;
}

void buffers_free(struct player *p)
{
	if (p->in)
		raw(SYS_munmap, p->in_map, p->in_map_bytes);
	if (p->out_pages && p->out_pages != text)
		raw(SYS_munmap, p->out_pages,
		    p->stream->most_written + REEL_PLACE_BYTES);
}

static struct fresh_share *share_of(struct player *p, const struct call_spec *s)
{
	return &p->fresh[63 - __builtin_clzll((unsigned long long)s->size)];
}

static size_t page_offset(const struct call_spec *s)
{
	switch (s->r->op) {
	case REEL_CALL_READ:
	case REEL_CALL_PREAD:
	case REEL_CALL_WRITE:
	case REEL_CALL_PWRITE:
		return s->m->arg == PLAN_NO_OFFSET
			       ? 0
			       : (size_t)s->m->arg % REEL_PLACE_BYTES;
	default:
		return 0;
	}
}

static void touch_lines(volatile uint8_t *at, int64_t bytes)
{
	for (int64_t i = 0; i < bytes; i += 64)
		at[i] = 0;
}

void buffers_before(struct player *p, const struct call_spec *s, bool fills)
{
	size_t offset = page_offset(s), share, fresh;

	p->out = p->out_pages + offset;
	p->in = p->in_pages + offset;
	if (!fills || p->engine->mode == REPLAY_AFAP)
		return;
	if (s->size < REEL_LARGE_BYTES) {
		touch_lines(p->in, s->size);
		return;
	}
	share = share_of(p, s)->now > 0 ? (size_t)share_of(p, s)->now : 0;
	fresh = (size_t)s->size / PAGE_BYTES * share / WHOLE * PAGE_BYTES;
	p->in -= fresh;
	if (fresh)
		madvise(p->in_pages - fresh, fresh, MADV_DONTNEED);
}

/* Track the median of the job's read times, by a small step towards each. */
static void follow_median(struct fresh_share *share, int64_t want_ns)
{
	int64_t most = INT64_MAX / 4; /* a damaged plan can hold any number */
	int64_t by = share->want_ns / (share->seen < FIRST_READS ? 16 : 128);

	if (!share->want_ns)
		share->want_ns = want_ns < most ? want_ns : most;
	else if (want_ns > share->want_ns && share->want_ns < most)
		share->want_ns += by;
	else if (want_ns < share->want_ns)
		share->want_ns -= by;
	if (share->seen < FIRST_READS)
		share->seen++;
}

void buffers_after_read(struct player *p, const struct call_spec *s,
			int64_t start_ns, int64_t end_ns, int64_t want_ns)
{
	struct fresh_share *share = share_of(p, s);
	int step;

	if (s->size < REEL_LARGE_BYTES)
		return;
	follow_median(share, want_ns);
	if (!share->step)
		share->step = FIRST_STEP;
	step = share->step;
	if (share->step > 1)
		share->step -= (share->step + 3) / 4;
	if (end_ns - start_ns < share->want_ns)
		share->now += step;
	else
		share->now -= step;
	if (share->now > WHOLE)
		share->now = WHOLE;
	if (share->now < LEAST)
		share->now = LEAST;
}

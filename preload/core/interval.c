/* SPDX-License-Identifier: MIT */
/*
 * Intervals of counters: their fields, their length, and the next one.
 *
 * An interval ends with a step, at most once a second, and lasts longer if the
 * job would write more than PACE_RATE bytes a second. A full block goes to the
 * log with short numbers.
 */
#include "preload/core/interval.h"

#include <string.h>
#include <sys/mman.h>

#include "schemas/syscall.h"

#include "preload/core/budget.h"
#include "preload/core/counters.h"
#include "preload/core/symbols.h"
#include "preload/core/types.h"
#include "preload/core/window.h"

#define ENTRIES_USED 640
/* Limit on the bytes that the intervals of a job write: at once, and a
 * second. */
#define PACE_START (2u << 20)
#define PACE_RATE 500

/* Ticks of a second, or more while they are unknown. */
static uint64_t second_ticks(void)
{
	static uint64_t known_ticks;
	uint64_t ticks = __atomic_load_n(&known_ticks, __ATOMIC_RELAXED), ns;
	const struct reel_head *h = shim.head;

	if (shim_hot.clock == REEL_CLOCK_MONOTONIC)
		return 1000000000;
	if (ticks)
		return ticks;
	shim_clock_pair(&ticks, &ns);
	ticks -= h->start_ticks;
	ns -= h->start_mono_ns;
	if (ns < 20000000 || ns > 1ull << 40)
		return 4000000000;
	ticks = (uint64_t)((unsigned __int128)ticks * 1000000000 / ns);
	__atomic_store_n(&known_ticks, ticks, __ATOMIC_RELAXED);
	return ticks;
}

/* The counts of the job, or of this process if there is no job.counts. */
static struct reel_counts *pace_of_job(void)
{
	static struct reel_counts own;
	struct reel_counts *c = shim.counts ? shim.counts : &own;
	uint64_t none = 0;

	if (!__atomic_load_n(&c->counted_real_ns, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&c->counted_real_ns, &none,
					    shim_clock_ns(CLOCK_REALTIME),
					    false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	return c;
}

/* Have the counters of the job written more than their limit? */
static bool is_over_limit(void)
{
	struct reel_counts *c = pace_of_job();
	uint64_t now = shim_clock_ns(CLOCK_REALTIME),
		 since = c->counted_real_ns;

	return __atomic_load_n(&c->counted_bytes, __ATOMIC_RELAXED) >
	       PACE_START + (now > since ? now - since : 0) /
				    (1000000000 / PACE_RATE);
}

static uint64_t get_field(const uint8_t *at)
{
	uint64_t v = 0;

	for (int i = 0; i < FIELD_BYTES; i++)
		v |= (uint64_t)(at[i] & 0x7f) << (7 * i);
	return v;
}

size_t shim_counted_pack(struct shim_thread *t, const void **data)
{
	struct shim_counters *c = t->counters;
	const struct reel_block_head *b = t->block;
	struct reel_block_head *head;
	const uint8_t *from = (const uint8_t *)b, *end = t->p;
	uint8_t *to;
	size_t n;

	if (!c || !c->fields || c->base != b->base_ticks || c->seq != t->seq ||
	    c->serial != t->serial)
		return 0;
	to = c->packed;
	for (uint32_t i = 0; i < c->fields; i++) {
		const uint8_t *field = (const uint8_t *)b + c->field[i];

		n = (size_t)(field - from);
		memcpy(to, from, n);
		to = shim_put(to + n, get_field(field));
		from = field + FIELD_BYTES;
	}
	n = (size_t)(end - from);
	memcpy(to, from, n);
	to += n;
	head = (void *)c->packed;
	head->used = (uint32_t)(to - (uint8_t *)(head + 1));
	head->check = reel_block_check(head);
	while ((to - c->packed) % 8)
		*to++ = 0;
	*data = c->packed;
	n = (size_t)(to - c->packed);
	__atomic_fetch_add(&pace_of_job()->counted_bytes, n, __ATOMIC_RELAXED);
	return n;
}

static struct shim_counters *counters_page(struct shim_thread *t)
{
	struct shim_counters *c = t->counters;

	if (likely(c != NULL))
		return c;
	c = (void *)raw(SYS_mmap, 0, sizeof(*c), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)c > -4096ul)
		return NULL;
	raw(SYS_madvise, c, sizeof(*c), MADV_DONTFORK);
	t->counters = c;
	return c;
}

bool shim_in_summed(const struct shim_counters *c)
{
	for (uint32_t i = 0; i < c->depth; i++)
		if (shim_is_summed(c->open[i].kind))
			return true;
	return false;
}

void shim_put_record(struct shim_thread *t, uint8_t *p, uint32_t call)
{
	uint8_t *head = t->p;

	t->last_desc = 0;
	t->last_size = UINT64_MAX;
	shim_barrier();
	if (call >= REEL_CALL_WIDE) {
		head[1] = (uint8_t)(call - REEL_CALL_WIDE);
		shim_barrier();
		head[0] = (uint8_t)(REEL_CALL_WIDE +
				    ((call - REEL_CALL_WIDE) >> 8));
	} else {
		head[0] = (uint8_t)call;
	}
	t->p = p;
}

uint8_t *shim_put_end(struct shim_thread *t, uint8_t *p, uint64_t end)
{
	if (end < t->last_end)
		end = t->last_end;
	p = shim_put(p, end - t->last_end);
	t->last_end = end;
	return p;
}

static void put_head(struct shim_thread *t, struct shim_counters *c,
		     uint64_t now)
{
	uint8_t *p = t->p;

	p[1] = REEL_F_SIZE_NEW | REEL_F_RES_EXPECTED;
	p = shim_put(shim_put_end(t, p + 2, now), 0);
	c->since = t->last_end;
	c->extent = p;
	shim_put_record(t, shim_new_field(t, p, 0), MARK_COUNTED);
}

struct shim_span_sum *shim_interval_sum(struct shim_thread *t, uint32_t kind,
					int64_t detail, uint64_t start)
{
	struct shim_counters *c = t->counters;
	struct shim_span_sum *s = &c->sum[kind];
	uint8_t *p = t->p;

	if (s->at)
		return s;
	p[1] = REEL_F_SIZE_NEW | REEL_F_RES_EXPECTED | REEL_F_MORE;
	p[2] = REEL_M_ARG | REEL_M_ARG2 | REEL_M_POS | REEL_M_COUNT;
	p = shim_put_end(t, p + 3, start);
	*s = (struct shim_span_sum){.at = p, .begin = t->last_end};
	p = shim_new_field(t, p, 0);
	s->size_at = (uint8_t)(p - s->at);
	p = shim_new_field(t, p, 0);
	p = shim_put(p, shim_zigzag(kind));
	p = shim_put(p, shim_zigzag(detail));
	/* A span may have begun in an earlier interval. */
	p = shim_put(p, start < s->begin ? s->begin - start : 0);
	s->count_at = (uint8_t)(p - s->at);
	shim_put_record(t, shim_new_field(t, p, 0), MARK_COUNTED);
	return s;
}

/* Is the interval in the current block of @t? */
static bool is_in_block(const struct shim_thread *t,
			const struct shim_counters *c)
{
	return c->base == t->block->base_ticks && c->seq == t->seq &&
	       c->serial == t->serial;
}

bool shim_interval_is_over(const struct shim_counters *c, uint64_t now)
{
	return now > c->since && now - c->since >= second_ticks() << c->level;
}

/* Begin another interval at @now. Open spans continue in it. */
static void begin_interval(struct shim_thread *t, struct shim_counters *c,
			   uint64_t now)
{
	if (!c->base || c->serial != t->serial) {
		c->depth = c->phase = c->level = 0;
		c->close_step = true;
	} else if (!is_over_limit()) {
		c->level -= c->level > 0;
	} else if (c->level < SHIM_DOUBLINGS) {
		c->level++;
	}
	if (c->level < shim_budget_level())
		c->level = shim_budget_level();
	if (c->used)
		memset(c->counter, 0, sizeof(c->counter));
	memset(c->sum, 0, sizeof(c->sum));
	if (!is_in_block(t, c))
		c->fields = 0;
	c->used = c->marks = 0;
	c->closing = false;
	c->base = t->block->base_ticks;
	c->seq = t->seq;
	c->serial = t->serial;
	put_head(t, c, now);
	for (uint32_t i = 0; i < c->depth; i++)
		if (shim_is_summed(c->open[i].kind))
			shim_interval_sum(t, c->open[i].kind, c->open[i].detail,
					  c->open[i].start);
}

/* Room for a record and the first records of an interval. */
#define RENEWED_MAX (SHIM_RECORD_MAX + REEL_SPANS * 64)

struct shim_counters *shim_interval_begin(struct shim_thread **thread,
					  uint64_t now)
{
	struct shim_thread *t = shim_begin(RENEWED_MAX, now);
	struct shim_counters *c;

	*thread = t;
	if (!t)
		return NULL;
	c = counters_page(t);
	if (!c) {
		t->limit = t->room;
		shim_count(REEL_LOST_WINDOW, 1);
		return NULL;
	}
	if (!is_in_block(t, c) || c->used >= ENTRIES_USED || c->closing ||
	    (shim_interval_is_over(c, now) && !shim_in_summed(c)))
		begin_interval(t, c, now);
	return c;
}

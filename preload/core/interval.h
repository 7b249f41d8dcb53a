/* SPDX-License-Identifier: MIT */
/*
 * The intervals in which the counters and spans of a thread are summed, in its
 * window (trace_format.h, "INTERVALS"). For counters.c only.
 */
#ifndef PRELOAD_CORE_INTERVAL_H
#define PRELOAD_CORE_INTERVAL_H

#include "preload/core/shim.h"

#define ENTRIES 1024 /* of a thread, a power of two */
#define FIELD_MAX ((1ull << 56) - 1)
#define FIELD_BYTES 8
#define OPEN_SPANS 32 /* of a thread at a time; more are not summed */

struct shim_counter {
	uint64_t key; /* 0: free */
	uint8_t *at;  /* the field dur; the next are offsets from it */
	uint8_t size_at, result_at, fetched_at, count_at;
	uint64_t dur, size, result, fetched, count;
};

/* The spans of a kind in an interval. */
struct shim_span_sum {
	uint8_t *at; /* the field dur; NULL: no record in this interval */
	uint8_t size_at, count_at;
	uint64_t begin, dur, count;
};

struct shim_open_span {
	uint64_t start, name;
	int64_t detail;
	uint8_t kind;
	bool dropped; /* its mark is not written */
};

/* The counters of one thread, on pages that a forked child does not inherit. */
struct shim_counters {
	uint64_t base;	/* of the block that the counters are in */
	uint64_t since; /* ticks at which the interval began */
	uint32_t seq, serial, used;
	uint32_t level;	 /* how often its second is doubled */
	uint8_t *extent; /* its length, a field of its head */
	uint32_t marks;	 /* of spans in this interval */
	bool closing;	 /* the next record begins another interval */
	bool close_step; /* the end of this step closes it */
	uint32_t depth, phase;
	uint32_t made, made_as; /* by the last call that made a descriptor */
	struct shim_open_span open[OPEN_SPANS];
	struct shim_span_sum sum[REEL_SPANS];
	struct shim_counter counter[ENTRIES];
	uint32_t fields; /* of fixed width in the block */
	uint16_t field[REEL_SLOT_BYTES / FIELD_BYTES];
	_Alignas(8) uint8_t packed[REEL_SLOT_BYTES];
};

/* Store 56 bits as a varint of eight bytes. */
static inline void shim_put_field(uint8_t *at, uint64_t v)
{
	if (v > FIELD_MAX)
		v = FIELD_MAX;
	/* Two groups of 28 bits, four of 14, eight of 7. */
	v = (v & 0xfffffff) | (v & 0xfffffff0000000) << 4;
	v = (v & 0x3fff00003fff) | (v & 0xfffc0000fffc000) << 2;
	v = (v & 0x7f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
	shim_store(at, v | 0x80808080808080);
}

/* Add a field with the value @v at @p. Returns the end of the field. */
static inline uint8_t *shim_new_field(struct shim_thread *t, uint8_t *p,
				      uint64_t v)
{
	struct shim_counters *c = t->counters;

	shim_put_field(p, v);
	c->field[c->fields++] = (uint16_t)(p - (uint8_t *)t->block);
	return p + FIELD_BYTES;
}

/* Is a span of @kind summed? */
static inline bool shim_is_summed(uint32_t kind)
{
	return kind >= REEL_SPAN_STEP && kind <= REEL_SPAN_PREPROCESS;
}

/* Has the thread an open span that is summed? */
bool shim_in_summed(const struct shim_counters *c);
/* Write the time @end of a record, relative to the record before, at @p.
 * Returns the end of the field. */
uint8_t *shim_put_end(struct shim_thread *t, uint8_t *p, uint64_t end);
/* Complete the record from t->p to @p by its first byte. */
void shim_put_record(struct shim_thread *t, uint8_t *p, uint32_t call);
/* The sum of the spans of @kind in this interval. If it is new, its first span
 * began at @start. */
struct shim_span_sum *shim_interval_sum(struct shim_thread *t, uint32_t kind,
					int64_t detail, uint64_t start);
/* Has the interval lasted its full length at @now? */
bool shim_interval_is_over(const struct shim_counters *c, uint64_t now);
/*
 * Mark this thread busy, store it in *@thread, and return its counters in the
 * interval of @now. NULL: the call is lost and counted.
 */
struct shim_counters *shim_interval_begin(struct shim_thread **thread,
					  uint64_t now);

#endif

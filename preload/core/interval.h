/* SPDX-License-Identifier: MIT */
/*
 * The intervals in which a thread's counters and spans are summed, as they lie
 * in its window (trace_format.h, "INTERVALS"). For counters.c alone.
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
	uint8_t *at;  /* dur; the others lie so many bytes behind it */
	uint8_t size_at, result_at, fetched_at, count_at;
	uint64_t dur, size, result, fetched, count;
};

/* The spans of a kind in an interval. */
struct shim_span_sum {
	uint8_t *at; /* dur; NULL: no record in this interval */
	uint8_t size_at, count_at;
	uint64_t begin, dur, count;
};

struct shim_open_span {
	uint64_t start, name;
	int64_t detail;
	uint8_t kind;
	bool dropped; /* its mark is not written */
};

/* One thread's, on pages of its own that a forked child does not get. */
struct shim_counters {
	uint64_t base;	/* of the block that the counters are in */
	uint64_t since; /* ticks at which the interval began */
	uint32_t seq, serial, used;
	uint32_t level;	 /* it lasts a second, doubled so often */
	uint8_t *extent; /* field of its head */
	uint32_t marks;	 /* of spans in this interval */
	bool closing;	 /* the next record begins another one */
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

/* 56 bits in a varint of eight bytes. */
static inline void shim_put_field(uint8_t *at, uint64_t v)
{
	if (v > FIELD_MAX)
		v = FIELD_MAX;
	/* Two of 28 bits, four of 14, eight of 7. */
	v = (v & 0xfffffff) | (v & 0xfffffff0000000) << 4;
	v = (v & 0x3fff00003fff) | (v & 0xfffc0000fffc000) << 2;
	v = (v & 0x7f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
	shim_store(at, v | 0x80808080808080);
}

/* A field of @v at @p; returns what is behind it. */
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

/* Does a span of the thread that is summed lie open? */
bool shim_in_summed(const struct shim_counters *c);
/* A record's end, relative to the record before, at @p; returns what is behind. */
uint8_t *shim_put_end(struct shim_thread *t, uint8_t *p, uint64_t end);
/* The record from t->p to @p is complete: its first byte makes it one. */
void shim_put_record(struct shim_thread *t, uint8_t *p, uint32_t call);
/* The spans of @kind in this interval; the first of them began at @start. */
struct shim_span_sum *shim_interval_sum(struct shim_thread *t, uint32_t kind,
					int64_t detail, uint64_t start);
/* Has the interval lasted its time at @now? */
bool shim_interval_is_over(const struct shim_counters *c, uint64_t now);
/*
 * This thread, busy, and its counters in the interval of @now. NULL: lost,
 * counted.
 */
struct shim_counters *shim_interval_begin(struct shim_thread **thread,
					  uint64_t now);

#endif

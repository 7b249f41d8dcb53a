/* SPDX-License-Identifier: MIT */
/*
 * Logs of small records of numbers, one log per stream. A log is written once,
 * then read any number of times. Full chunks beyond a budget of memory go to an
 * unnamed temporary file.
 */
#ifndef ANALYZER_METRIC_SPILL_LOG_H
#define ANALYZER_METRIC_SPILL_LOG_H

#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct reel_spill_log;
struct reel_spill_reader;

#define REEL_SPILL_NUMBERS 4 /* the most in a record */

/* Gives *@out. @memory_bytes: the budget. */
int reel_spill_log_new(struct reel_spill_log **out, size_t memory_bytes,
		       struct reel_error *err);
/* Append @records records of @n numbers each; small numbers take few bytes.
 * @stream indexes an array. */
int reel_spill_log_add(struct reel_spill_log *log, uint32_t stream,
		       const uint64_t *number, int n, uint32_t records,
		       struct reel_error *err);
void reel_spill_log_close(struct reel_spill_log *log);

/* Read @stream, which must be complete. Gives *@out. */
int reel_spill_reader_open(struct reel_spill_reader **out,
			   struct reel_spill_log *log, uint32_t stream,
			   struct reel_error *err);
/* 1: *@p is at the next record, whose numbers are read in the order of its add,
 * each once; reel_spill_reader_to() then tells where they end. 0 at the end;
 * -1. */
int reel_spill_reader_at(struct reel_spill_reader *r, const uint8_t **p,
			 struct reel_error *err);
void reel_spill_reader_to(struct reel_spill_reader *r, const uint8_t *p);
void reel_spill_reader_close(struct reel_spill_reader *r);

/* The number at *@p, which is moved behind it. It stays in a register: an array
 * that is written number by number and read in pairs stalls the processor. */
static inline uint64_t reel_spill_number(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned int shift;

	for (shift = 0; **p & 0x80; shift += 7)
		v |= (uint64_t)(*(*p)++ & 0x7f) << shift;
	return v | (uint64_t) * (*p)++ << shift;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Logs of small records of numbers, one log per stream, each written once and
 * then read, any number of times. Full chunks past a budget of memory lie in a
 * temporary file that has no name.
 */
#ifndef ANALYZER_METRIC_SPILL_LOG_H
#define ANALYZER_METRIC_SPILL_LOG_H

#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct reel_spill_log;
struct reel_spill_reader;

#define REEL_SPILL_NUMBERS 4 /* at most, in a record */

/* Gives *@out. @memory_bytes: held before chunks go to the file. */
int reel_spill_log_new(struct reel_spill_log **out, size_t memory_bytes,
		       struct reel_error *err);
/* Append a record of @n numbers, small ones cheaply. @stream is small, dense.
 */
int reel_spill_log_add(struct reel_spill_log *log, uint32_t stream,
		       const uint64_t *number, int n, struct reel_error *err);
void reel_spill_log_close(struct reel_spill_log *log);

/* Read @stream, which gets no more records. Gives *@out. */
int reel_spill_reader_open(struct reel_spill_reader **out,
			   struct reel_spill_log *log, uint32_t stream,
			   struct reel_error *err);
/* 1 and the record, of as many numbers as were written; 0 at the end; -1. */
int reel_spill_reader_next(struct reel_spill_reader *r, uint64_t *number, int n,
			   struct reel_error *err);
void reel_spill_reader_close(struct reel_spill_reader *r);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Sort records of one size in bounded memory: beyond a budget, sorted runs go,
 * compressed, to an unnamed temporary file and are merged when they are read.
 */
#ifndef ANALYZER_IMPORT_SORTER_H
#define ANALYZER_IMPORT_SORTER_H

#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct sorter;

typedef int sorter_compare(const void *a, const void *b);

/*
 * @compare as for qsort(), a total order; NULL: records stay in the order of
 * sorter_add(). @memory_bytes: the budget. Gives *@out for sorter_free(). 0, or
 * -1.
 */
int sorter_new(struct sorter **out, size_t record_bytes,
	       sorter_compare *compare, size_t memory_bytes,
	       struct reel_error *err);
void sorter_free(struct sorter *s); /* NULL too */

/* Copy @record. 0, or -1 with @err: REEL_E_MEMORY, REEL_E_IO. */
int sorter_add(struct sorter *s, const void *record, struct reel_error *err);
/*
 * The next record of a run whose records come in their order: it takes no memory.
 * sorter_run_end() ends the run. Of equal records, those of earlier runs are first.
 */
int sorter_run_add(struct sorter *s, const void *record,
		   struct reel_error *err);
int sorter_run_end(struct sorter *s, struct reel_error *err);
uint64_t sorter_count(const struct sorter *s);
/* All records are added: read them from now on. 0, or -1 with @err. */
int sorter_finish(struct sorter *s, struct reel_error *err);
/* The next record. 1, 0 at the end, or -1 with @err: REEL_E_IO. */
int sorter_next(struct sorter *s, void *record, struct reel_error *err);

#endif

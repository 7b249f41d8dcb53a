/* SPDX-License-Identifier: MIT */
/* Calls that are counted instead of recorded one by one. */
#ifndef PRELOAD_CORE_COUNTERS_H
#define PRELOAD_CORE_COUNTERS_H

#include "preload/core/shim.h"

/* Ask shim_counted() about each record. */
extern int shim_counting;

/*
 * The call was counted, or is recorded with the name that its file shares with
 * others; false: it is a record as it is.
 */
COLD bool shim_counted(struct shim_event *ev, uint64_t start, uint64_t end,
		       int64_t result, int err);
COLD bool shim_counted_io(uint32_t call, uint32_t desc, int64_t size,
			  uint64_t start, uint64_t end, int64_t result,
			  int err);
/* The descriptor @made, without a number, as its calls are to name it: that of
 * the name that it shares. */
uint32_t shim_counted_desc(uint32_t made);
/* Record @ev, uncounted: record.c */
COLD void shim_record_now(const struct shim_event *ev, uint64_t start,
			  uint64_t end, int64_t result, int err);

/* What IOREEL_EVENTS asked for: all, none, or steps "A-B". */
void shim_counting_ask(const char *events);
/*
 * The block of @t for the log, with short numbers, into *@data; its bytes. 0:
 * no counters are in it.
 */
size_t shim_counted_pack(struct shim_thread *t, const void **data);
/* The process has its window: what holds for it? */
void shim_counting_start(void);
/* We are what fork() made. */
void shim_counting_forked(void);
/* The rest of the job is counted from here on: its budget is spent. */
void shim_counting_from_now(void);
/* Is it counted to its end, not only between some steps? */
bool shim_counting_always(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Counting mode: calls are counted instead of recorded one by one. */
#ifndef PRELOAD_CORE_COUNTERS_H
#define PRELOAD_CORE_COUNTERS_H

#include "preload/core/shim.h"

/* Counting mode: each record must ask shim_counted() first. */
extern int shim_counting;

/*
 * Count the call, or record it with the name that its file shares. False: the
 * caller must record it as it is.
 */
COLD bool shim_counted(struct shim_event *ev, uint64_t start, uint64_t end,
		       int64_t result, int err);
COLD bool shim_counted_io(uint32_t call, uint32_t desc, int64_t size,
			  uint64_t start, uint64_t end, int64_t result,
			  int err);
/* The id that calls on @made must use, a descriptor without an fd number: the
 * id of its shared name. */
uint32_t shim_counted_desc(uint32_t made);
/* Record @ev without asking shim_counted(). record.c */
COLD void shim_record_now(const struct shim_event *ev, uint64_t start,
			  uint64_t end, int64_t result, int err);

/* Parse IOREEL_EVENTS: all, none, or steps "A-B"; NULL: all. */
void shim_counting_ask(const char *events);
/*
 * Point *@data at a copy of the block of @t for the log, with short numbers,
 * and return its bytes. 0: the block has no counters.
 */
size_t shim_counted_pack(struct shim_thread *t, const void **data);
/* The process has its window: begin to count if the job does. */
void shim_counting_start(void);
/* This is a forked child. */
void shim_counting_forked(void);
/* The budget is spent: count the rest of the job. */
void shim_counting_from_now(void);
/* Is the process counted to its end, and not only outside some steps? */
bool shim_counting_always(void);

#endif

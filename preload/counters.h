/* SPDX-License-Identifier: MIT */
/* Calls that are counted instead of recorded one by one. */
#ifndef PRELOAD_COUNTERS_H
#define PRELOAD_COUNTERS_H

#include "preload/shim.h"

/* Ask shim_counted() about each record. */
extern int shim_counting;

/*
 * The call was counted, and is no record; false: it is one, as it makes a
 * descriptor known, with the path that @ev has then; or as these steps are
 * wanted.
 */
COLD bool shim_counted(struct shim_event *ev, uint64_t start, uint64_t end,
		       int64_t result, int err);
COLD bool shim_counted_io(uint32_t call, uint32_t desc, int64_t size,
			  uint64_t start, uint64_t end, int64_t result,
			  int err);

/* What IOREEL_EVENTS asked for: all, none, or steps "A-B". */
void shim_counting_ask(const char *events);
/* The process has its window: what holds for it? */
void shim_counting_start(void);
/* We are what fork() made. */
void shim_counting_forked(void);
/* @bytes went into a log. */
void shim_budget_used(size_t bytes);

#endif

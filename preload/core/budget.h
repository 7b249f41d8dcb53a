/* SPDX-License-Identifier: MIT */
/* The budget of --max-size, shared by the job's processes. */
#ifndef PRELOAD_CORE_BUDGET_H
#define PRELOAD_CORE_BUDGET_H

#include "preload/core/shim.h"

/* An interval of counters is a second, doubled so often at most. */
#define SHIM_DOUBLINGS 16

/*
 * --max-size: @bytes are to go into a log, or into the process's window (@more
 * than it needs). False: there is no room.
 */
bool shim_budget_log(size_t bytes);
bool shim_budget_window(size_t bytes, bool more);
/* They did go (@good), or did not; from now on there may be room for counters
 * only. */
void shim_budget_written(size_t bytes, bool good);
/* The process begins its window; it was removed, and a head of @head_bytes is
 * in its log. */
void shim_budget_begin(void);
void shim_budget_window_gone(uint32_t head_bytes);
/* Number of doublings of the interval: one for each halving of the free budget. */
uint32_t shim_budget_level(void);

#endif

/* SPDX-License-Identifier: MIT */
/* The budget of --max-size, shared by the job's processes. */
#ifndef PRELOAD_CORE_BUDGET_H
#define PRELOAD_CORE_BUDGET_H

#include "preload/core/shim.h"

/* An interval of counters lasts a second, doubled at most this many times. */
#define SHIM_DOUBLINGS 16

/*
 * Take @bytes of the budget, for a log or for the process's window. @more: the
 * window can do without them. False: the budget is spent.
 */
bool shim_budget_log(size_t bytes);
bool shim_budget_window(size_t bytes, bool more);
/* Bytes taken for a log were written, or not (@good). The process may have to
 * count its calls from now on. */
void shim_budget_written(size_t bytes, bool good);
/* The process makes a new window. */
void shim_budget_begin(void);
/* The window was removed, and its log has a head of @head_bytes. */
void shim_budget_window_gone(uint32_t head_bytes);
/* Number of doublings of the interval: one for each halving of the free
 * budget. */
uint32_t shim_budget_level(void);

#endif

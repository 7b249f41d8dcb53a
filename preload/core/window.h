/* SPDX-License-Identifier: MIT */
/* Between window.c, which keeps blocks, and process.c, which keeps files. */
#ifndef PRELOAD_CORE_WINDOW_H
#define PRELOAD_CORE_WINDOW_H

#include "preload/core/shim.h"
#include "preload/core/types.h"

#define SHIM_THREADS 16384 /* states in the arena, [0] is the process's mark */

/* Files of this process in the trace directory. A descriptor for a moment, or
 * minus the error number. */
int shim_open_file(const char *sub, const char *suffix, int flags);
int shim_open_window(int flags);
int shim_open_log(int flags);
bool shim_size_allowed(uint64_t size);
int shim_allocate(int fd, uint64_t off, uint64_t bytes);

void shim_remove_window(void);

/* The head to the log: at its start, and at the end with final counters. */
bool shim_write_head(void);

/*
 * Ticks and CLOCK_MONOTONIC of one moment: the narrowest of a few brackets,
 * whose width is returned in ticks.
 */
uint32_t shim_clock_pair(uint64_t *ticks, uint64_t *mono_ns);

/* The process has its log and window; makes them after a fork. process.c */
bool shim_process_ready(void);

/* Write the blocks of this and of ended threads. False when others live. */
bool shim_flush_all(void);

#endif

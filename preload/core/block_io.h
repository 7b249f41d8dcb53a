/* SPDX-License-Identifier: MIT */
/*
 * Bytes that a read fetched from storage because the page cache lacked them.
 * Linux counts the sectors that each thread requests; the counter is read only
 * after a read that took longer than one from the page cache.
 */
#ifndef PRELOAD_CORE_BLOCK_IO_H
#define PRELOAD_CORE_BLOCK_IO_H

#include "preload/core/symbols.h"

#pragma GCC visibility push(hidden)

/* Called by the program's first thread: its sectors so far were for the images
 * before this one, or for the code of this one. */
void shim_block_io_start(void);

/* @t belongs to the new thread @tid. */
void shim_block_io_begin(struct shim_thread *t, uint32_t tid);

/* @desc is a pipe or socket: its reads fetch nothing from storage. */
void shim_block_io_exclude(uint32_t desc);

/* The slow half of shim_fetched(). */
COLD int64_t shim_fetched_slow(uint32_t desc);

/*
 * The arg2 of a call's record: trace_format.h, FETCHED; NONE if the counter was
 * not read. The limit of some 5 us is longer than a small copy takes, and
 * 4 GB/s is slower than a large one. Leaves errno alone.
 */
#define SHIM_WAIT_TICKS 16384
HOT int64_t shim_fetched(uint32_t call, uint32_t desc, uint64_t dur,
			 int64_t result)
{
	if (likely(dur < SHIM_WAIT_TICKS) || call < CALL_READ ||
	    call > CALL_PREADV2 || result <= 0 ||
	    dur - SHIM_WAIT_TICKS < (uint64_t)result / 2)
		return NONE;
	return shim_fetched_slow(desc);
}

#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What a read had to fetch from the storage, as the page cache did not have it:
 * Linux counts, for each thread, the sectors that it asked for. It is asked only
 * after a read that took longer than one from the cache does.
 */
#ifndef PRELOAD_CORE_BLOCK_IO_H
#define PRELOAD_CORE_BLOCK_IO_H

#include "preload/core/symbols.h"

#pragma GCC visibility push(hidden)

/* The program's first thread is the calling one; what it has fetched was for
 * the images before this one, or for this one's code. */
void shim_storage_start(void);

/* @t is a new thread's. */
void shim_storage_begin(struct shim_thread *t, uint32_t tid);

/* Nothing that is read by @desc comes from a storage: it is a pipe or socket. */
void shim_storage_not(uint32_t desc);

COLD int64_t shim_fetched(uint32_t desc);

/*
 * The arg2 of a call's record: trace_format.h, FETCHED; NONE where it was not
 * looked. Some 5 us are more than a small copy takes, and 4 GB/s less than a
 * large one does. errno is left alone.
 */
#define SHIM_WAIT_TICKS 16384
HOT int64_t shim_storage(uint32_t call, uint32_t desc, uint64_t dur,
			 int64_t result)
{
	if (likely(dur < SHIM_WAIT_TICKS) || call < CALL_READ ||
	    call > CALL_PREADV2 || result <= 0 ||
	    dur - SHIM_WAIT_TICKS < (uint64_t)result / 2)
		return NONE;
	return shim_fetched(desc);
}

#pragma GCC visibility pop

#endif

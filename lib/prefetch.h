/* SPDX-License-Identifier: MIT */
/*
 * Prefetches of data that is used soon.
 *
 * GCC may take a function that only prefetches as one without effects, and remove
 * calls of it (GCC 12 does, in loops over a batch). The empty assembly keeps them.
 */
#ifndef LIB_PREFETCH_H
#define LIB_PREFETCH_H

#include <stddef.h>

#define REEL_CACHE_LINE 64 /* bytes; only the speed depends on it */

/* Fetch the cache line of @p, which may point anywhere, for writing. */
static inline void reel_prefetch(const void *p)
{
	__builtin_prefetch(p, 1);
	__asm__ volatile("");
}

/* Fetch the cache lines of @bytes bytes from @p on. */
static inline void reel_prefetch_range(const void *p, size_t bytes)
{
	const char *at = p;

	for (size_t i = 0; i < bytes; i += REEL_CACHE_LINE)
		reel_prefetch(at + i);
	if (bytes)
		reel_prefetch(at + bytes - 1);
}

/*
 * Fetch the cache lines of @bytes bytes from @p on, which may point anywhere, for
 * writing, although another processor has them: reel_prefetch() leaves them shared
 * where the compiler knows no better instruction.
 */
static inline void reel_prefetch_owned(const void *p, size_t bytes)
{
#if defined(__x86_64__)
	const char *at = p;

	for (size_t i = 0; i < bytes; i += REEL_CACHE_LINE)
		__asm__ volatile("prefetchw %0" : : "m"(at[i]));
#else
	reel_prefetch_range(p, bytes);
#endif
}

#endif

/* SPDX-License-Identifier: MIT */
/* Call sites: the place in the program that made a record, on request only. */
#ifndef PRELOAD_STACKS_CALLSITE_H
#define PRELOAD_STACKS_CALLSITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Record the call site of every @every'th record, "1" or more; NULL or not a
 * number: of none. For the constructor: opens libunwind, if there is one.
 */
void shim_sites_start(const char *every);

/*
 * Before the record of @call that ends at @end: record its site, if it is due.
 * False: the unwinder made the call, so do not record it.
 */
bool shim_site(uint32_t call, uint64_t end);

/*
 * The Python frames of this thread, innermost first: stores two words for each
 * at @key, code and instruction, and returns the number of words. 0: no frames,
 * or an unknown version of Python.
 */
int shim_python_frames(uintptr_t *key, int room);
/* Format such a pair as "py FILE:LINE FUNCTION"; its length, 0: no line. */
int shim_python_frame(const uintptr_t *pair, char *out, int room);

/* Append @s to the @n bytes of @out, cut at @room; returns the new length. */
static inline int shim_site_put(char *out, int room, int n, const char *s,
				size_t len)
{
	if (len > (size_t)(room - n))
		len = (size_t)(room - n);
	memcpy(out + n, s, len);
	return n + (int)len;
}

#endif

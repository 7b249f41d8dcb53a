/* SPDX-License-Identifier: MIT */
/* Call sites: where in the program a record was made, on request only. */
#ifndef PRELOAD_STACKS_CALLSITE_H
#define PRELOAD_STACKS_CALLSITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Ask for the call site of every @every'th record, "1" or more; NULL or what
 * is no number: of none. For the constructor: opens libunwind, when there is
 * one.
 */
void shim_sites_start(const char *every);

/*
 * Before the record of @call that ends at @end: that of its site, if this one
 * is to have one. False: the call is the unwinder's own, no record of it.
 */
bool shim_site(uint32_t call, uint64_t end);

/*
 * The Python frames of this thread, innermost first: appends what identifies
 * them to @key, two words each, and returns how many words; 0: none, or a
 * Python that is not known. site_python.c
 */
int shim_python_frames(uintptr_t *key, int room);
/* "py FILE:LINE FUNCTION" of such a pair into @out; its length, 0: there is none. */
int shim_python_frame(const uintptr_t *pair, char *out, int room);

/* @s behind the @n bytes of @out, as much as @room lets; how many there are. */
static inline int shim_site_put(char *out, int room, int n, const char *s,
				size_t len)
{
	if (len > (size_t)(room - n))
		len = (size_t)(room - n);
	memcpy(out + n, s, len);
	return n + (int)len;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Copying and clearing, the shim's own. A sanitizer's library puts itself before
 * libc's, and would take two threads that use one slot of the window in turn
 * for a race of the program. Hidden, these are what the compiler calls here.
 */
#include <stddef.h>
#include <string.h>

#pragma GCC visibility push(hidden)

void *memcpy(void *to, const void *from, size_t n)
{
	void *start = to;

#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
#else
	for (volatile char *p = to; n; n--)
		*p++ = *(const char *)from++;
#endif
	return start;
}

void *memset(void *to, int byte, size_t n)
{
	void *start = to;

#if defined(__x86_64__)
	__asm__ volatile("rep stosb"
			 : "+D"(to), "+c"(n)
			 : "a"(byte)
			 : "memory");
#else
	for (volatile char *p = to; n; n--)
		*p++ = (char)byte;
#endif
	return start;
}

#pragma GCC visibility pop

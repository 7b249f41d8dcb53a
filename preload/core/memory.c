/* SPDX-License-Identifier: MIT */
/*
 * Memory: whether the program's can be read, pages that a forked child finds
 * zeroed, and the shim's own memcpy() and memset().
 */
#include "preload/core/memory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "schemas/syscall.h"

#include "preload/core/shim.h"

/*
 * Where process_vm_readv() is forbidden, rt_sigprocmask() with an invalid
 * operation serves: the kernel copies the signal set before it looks at the
 * operation.
 */
static bool word_readable(const void *p)
{
	uint64_t word;
	struct iovec to = {&word, sizeof(word)};
	struct iovec from = {(void *)(uintptr_t)p, sizeof(word)};
	long r = raw(SYS_process_vm_readv, raw(SYS_getpid), (long)&to, 1,
		     (long)&from, 1, 0);

	if (r == (long)sizeof(word) || r == -EFAULT)
		return r > 0;
	return raw(SYS_rt_sigprocmask, ~0u, p, NULL, 8) != -EFAULT;
}

bool shim_readable(const void *p, size_t n)
{
	uintptr_t from = (uintptr_t)p, to = from + n;

	if (!n)
		return true;
	if (to < from)
		return false;
	for (uintptr_t at = from & ~7ul; at < to; at = (at | 4095) + 1)
		if (!word_readable((const void *)at))
			return false;
	return true;
}

void *shim_wiped(void **at, size_t bytes)
{
	void *have = __atomic_load_n(at, __ATOMIC_ACQUIRE), *none = NULL;
	long fresh;

	if (likely(have))
		return have;
	fresh = raw(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if ((unsigned long)fresh > -4096ul)
		return NULL;
	raw(SYS_madvise, fresh, bytes, MADV_WIPEONFORK);
	if (__atomic_compare_exchange_n(at, &none, (void *)fresh, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return (void *)fresh;
	raw(SYS_munmap, fresh, bytes);
	return none;
}

/*
 * The compiler calls these for copies and clears in the shim: hidden, so no
 * other library replaces them. A sanitizer's library interposes libc's, and it
 * would report two threads that use one slot of the window in turn as a race.
 */
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

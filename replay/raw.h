/* SPDX-License-Identifier: MIT */
/*
 * System calls past libc: for what the engine does for itself, between the
 * calls of the job. The shim sees symbols of libc only, so none of this is in
 * the trace of a replay.
 *
 * Each returns what the kernel does: a result, or -errno.
 */
#ifndef REPLAY_RAW_H
#define REPLAY_RAW_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long raw_call(long n, long a, long b, long c, long d, long e,
			    long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
	long r = syscall(n, a, b, c, d, e, f);

	return r < 0 ? -errno : r;
#endif
}

#define RAW_GET(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define RAW1(n) raw_call(n, 0, 0, 0, 0, 0, 0)
#define RAW2(n, a) raw_call(n, (long)(a), 0, 0, 0, 0, 0)
#define RAW3(n, a, b) raw_call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW4(n, a, b, c) raw_call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW5(n, a, b, c, d)                                                    \
	raw_call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RAW6(n, a, b, c, d, e)                                                 \
	raw_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define RAW7(n, a, b, c, d, e, f)                                              \
	raw_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),     \
		 (long)(f))

/* raw(SYS_close, fd) */
#define raw(...)                                                               \
	RAW_GET(__VA_ARGS__, RAW7, RAW6, RAW5, RAW4, RAW3, RAW2, RAW1, )       \
	(__VA_ARGS__)

#endif

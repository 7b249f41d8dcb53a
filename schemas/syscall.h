/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: no errno, no cancellation point, no recursion
 * into our own wrappers. A result in [-4095, -1] is minus the error number.
 */
#ifndef SCHEMAS_SYSCALL_H
#define SCHEMAS_SYSCALL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__clang_analyzer__)
/* It reads no assembler: an unknown function may fill what is pointed to. */
long raw6(long n, long a, long b, long c, long d, long e, long f);
#elif defined(__x86_64__)
static inline long raw6(long n, long a, long b, long c, long d, long e, long f)
{
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
}
#elif defined(__aarch64__)
static inline long raw6(long n, long a, long b, long c, long d, long e, long f)
{
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
}
#else
#error "the shim knows x86-64 and aarch64"
#endif

#define RAW_ARG(x) ((long)(x))
#define raw0(n) raw6(n, 0, 0, 0, 0, 0, 0)
#define raw1(n, a) raw6(n, RAW_ARG(a), 0, 0, 0, 0, 0)
#define raw2(n, a, b) raw6(n, RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define raw3(n, a, b, c) raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define raw4(n, a, b, c, d)                                                    \
	raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)

#endif

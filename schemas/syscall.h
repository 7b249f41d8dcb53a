/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: no errno, no cancellation point, no recursion into
 * the shim's wrappers. In a replay such a call is not recorded, as the shim
 * wraps functions of libc only.
 *
 * The result is the kernel's: one in [-4095, -1] is minus the error number.
 */
#ifndef SCHEMAS_SYSCALL_H
#define SCHEMAS_SYSCALL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__clang_analyzer__)
/* The analyzer does not read assembler. An unknown function may fill the memory
 * that its arguments point to. */
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
#error "only x86-64 and aarch64 have system calls here"
#endif

#define RAW_ARG(x) ((long)(x))
#define RAW_GET(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define RAW1(n) raw6(n, 0, 0, 0, 0, 0, 0)
#define RAW2(n, a) raw6(n, RAW_ARG(a), 0, 0, 0, 0, 0)
#define RAW3(n, a, b) raw6(n, RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define RAW4(n, a, b, c) raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define RAW5(n, a, b, c, d)                                                    \
	raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)
#define RAW6(n, a, b, c, d, e)                                                 \
	raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), RAW_ARG(e), 0)
#define RAW7(n, a, b, c, d, e, f)                                              \
	raw6(n, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), RAW_ARG(e),    \
	     RAW_ARG(f))

/* raw(SYS_close, fd): a number and up to six arguments, integers or
 * pointers. */
#define raw(...)                                                               \
	RAW_GET(__VA_ARGS__, RAW7, RAW6, RAW5, RAW4, RAW3, RAW2, RAW1, )       \
	(__VA_ARGS__)

#endif

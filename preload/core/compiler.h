/* SPDX-License-Identifier: MIT */
/* Attributes of the shim's functions: visibility, inlining, and where hot code
 * is placed. */
#ifndef PRELOAD_CORE_COMPILER_H
#define PRELOAD_CORE_COMPILER_H

#define EXPORT __attribute__((visibility("default")))
#define FAST EXPORT __attribute__((hot, aligned(64)))
#define HOT static inline __attribute__((always_inline))
#define COLD __attribute__((noinline, cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* In this file, an initializer may name a field again: the last value counts. */
#ifdef __clang__
#define FIELDS_MAY_REPEAT                                                      \
	_Pragma("GCC diagnostic ignored \"-Winitializer-overrides\"")
#else
#define FIELDS_MAY_REPEAT _Pragma("GCC diagnostic ignored \"-Woverride-init\"")
#endif

/*
 * A system call evicts most of our lines from the caches of code, branches and
 * pages, and which ones remain depends on the offset of a function in its page:
 * by placement alone, recording a stat() cost 24 ns or 42. So the frequent
 * wrappers and records are grouped in sections that the linker sorts by name,
 * and a change elsewhere does not move them. @bytes, the offset of a group in
 * its page, is tuned to one processor (AMD Zen, Linux 6; "make bench"), where
 * it saves up to 15 ns a call; elsewhere it costs nothing. "make TUNED=" builds
 * without the offsets.
 */
#define PLACED(order) __attribute__((section(".text.sorted.ioreel." order)))
#ifdef REEL_TUNED_PLACES
#define PLACES_BEGIN(order, bytes)                                             \
	__asm__(".pushsection .text.sorted.ioreel." order                      \
		",\"ax\",%progbits\n.balign 4096\n.skip " bytes                \
		"\n.popsection")
#else
#define PLACES_BEGIN(order, bytes)                                             \
	__asm__(".pushsection .text.sorted.ioreel." order                      \
		",\"ax\",%progbits\n.balign 64\n.popsection")
#endif

#endif

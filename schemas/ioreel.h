/* SPDX-License-Identifier: MIT */
/*
 * Anchors for C and C++: mark the phases of a program in the trace of its I/O.
 *
 * Include this file and call; no library is linked, and the file alone may be
 * copied into a program. Without ioreel the symbols are absent and each call is
 * a test of a null pointer. All are safe in threads and after fork; none sets
 * errno.
 */
#ifndef SCHEMAS_IOREEL_H
#define SCHEMAS_IOREEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 while this process is recorded. */
__attribute__((weak)) int ioreel_recording(void);

/*
 * A span of the calling thread, from begin to end: "epoch", "step", "fetch",
 * "compute", "forward", "backward", "optimizer", "preprocess", "checkpoint",
 * "eval", or a name of your own of at most 200 bytes. @detail: epoch or step
 * number, or -1. Spans nest; cancel removes the innermost one.
 */
__attribute__((weak)) void ioreel_begin(const char *name, int64_t detail);
__attribute__((weak)) void ioreel_end(const char *name);
__attribute__((weak)) void ioreel_cancel(const char *name);

/* The same by number (enum reel_span in ioreel-trace(5)), for the hooks. */
__attribute__((weak)) void ioreel_span_begin(int span, int64_t detail);
__attribute__((weak)) void ioreel_span_end(int span);
__attribute__((weak)) void ioreel_span_cancel(int span);

/* A fact about this process, once: "framework" = "PyTorch 2.6.0". */
__attribute__((weak)) void ioreel_note(const char *key, const char *value);

/*
 * For programs: no effect without ioreel. Assembler reads the address from the
 * global offset table, because in a program linked at a fixed address the
 * compiler turns a weak reference in C into a constant 0.
 */
#if defined(__x86_64__)
#define IOREEL_FIND(to, fn)                                                    \
	__asm__(".weak " #fn "\n\tmovq " #fn "@GOTPCREL(%%rip), %0" : "=r"(to))
#elif defined(__aarch64__)
#define IOREEL_FIND(to, fn)                                                    \
	__asm__(".weak " #fn "\n\tadrp %0, :got:" #fn                          \
		"\n\tldr %0, [%0, :got_lo12:" #fn "]"                          \
		: "=r"(to))
#else
#define IOREEL_FIND(to, fn) ((to) = fn)
#endif
#define IOREEL_CALL(fn, args)                                                  \
	do {                                                                   \
		__typeof__(fn) *ioreel_found;                                  \
                                                                               \
		IOREEL_FIND(ioreel_found, fn);                                 \
		if (ioreel_found)                                              \
			ioreel_found args;                                     \
	} while (0)
#define IOREEL_BEGIN(name, detail) IOREEL_CALL(ioreel_begin, (name, detail))
#define IOREEL_END(name) IOREEL_CALL(ioreel_end, (name))
#define IOREEL_CANCEL(name) IOREEL_CALL(ioreel_cancel, (name))
#define IOREEL_NOTE(key, value) IOREEL_CALL(ioreel_note, (key, value))

/* ioreel_recording(), or 0 without ioreel. */
static inline int ioreel_is_recording(void)
{
	int (*found)(void);

	IOREEL_FIND(found, ioreel_recording);
	return found ? found() : 0;
}

#ifdef __cplusplus
}
#endif

#endif

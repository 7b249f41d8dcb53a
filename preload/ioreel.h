/* SPDX-License-Identifier: MIT */
/*
 * Anchors for C and C++: what the program was doing while it did its I/O.
 *
 * Include this and call; nothing is linked. Without ioreel the symbols are
 * absent and each call is a test of a null pointer. All are safe in threads and
 * after fork; none sets errno.
 */
#ifndef PRELOAD_IOREEL_H
#define PRELOAD_IOREEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 while this process is being recorded. */
__attribute__((weak)) int ioreel_recording(void);

/*
 * A span of the calling thread, from begin to end: "epoch", "step", "fetch",
 * "compute", "forward", "backward", "optimizer", "preprocess", "checkpoint",
 * "eval", or a name of your own of at most 200 bytes. @detail: epoch or step
 * number, or -1. Spans nest; cancel takes the innermost one back.
 */
__attribute__((weak)) void ioreel_begin(const char *name, int64_t detail);
__attribute__((weak)) void ioreel_end(const char *name);
__attribute__((weak)) void ioreel_cancel(const char *name);

/* The same by number (enum reel_span in ioreel-trace(5)), for the hooks. */
__attribute__((weak)) void ioreel_span_begin(int span, int64_t detail);
__attribute__((weak)) void ioreel_span_end(int span);
__attribute__((weak)) void ioreel_span_cancel(int span);

/* A fact about this process, said once: "framework" = "PyTorch 2.6.0". */
__attribute__((weak)) void ioreel_note(const char *key, const char *value);

#define IOREEL_BEGIN(name, detail)                                             \
	do {                                                                   \
		if (ioreel_begin)                                              \
			ioreel_begin(name, detail);                            \
	} while (0)
#define IOREEL_END(name)                                                       \
	do {                                                                   \
		if (ioreel_end)                                                \
			ioreel_end(name);                                      \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif

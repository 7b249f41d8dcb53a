/* SPDX-License-Identifier: MIT */
/* Anchors by path, for the wrappers of calls that look at one. */
#ifndef PRELOAD_ANCHORS_SPANS_H
#define PRELOAD_ANCHORS_SPANS_H

#include <string.h>

#include "preload/core/shim.h"

/*
 * Is @path a mark, and no file: "/ioreel/begin/NAME[/NUMBER]",
 * "/ioreel/end/NAME"? Then its span has been recorded, and the call is not. For
 * access() and stat() of a path that the kernel has read.
 */
bool shim_marker(const char *path, size_t len);

/* A note "KEY=VALUE", cut at REEL_PATH_BYTES; none with a key of over 200. */
void shim_note_text(const char *key, const char *value);

/* A span of this thread that began at @since, of shim_clock(); 0: now. */
void shim_span_since(int span, int64_t detail, uint64_t since);

/* Fetches that this thread has begun, and not ended. */
extern _Thread_local uint32_t shim_fetching
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif

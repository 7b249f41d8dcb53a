/* SPDX-License-Identifier: MIT */
/* Anchors for the rest of the shim: marker paths, spans. */
#ifndef PRELOAD_ANCHORS_SPANS_H
#define PRELOAD_ANCHORS_SPANS_H

#include <string.h>

#include "preload/core/shim.h"

/*
 * Is @path a mark instead of a file: "/ioreel/begin/NAME[/NUMBER]" or
 * "/ioreel/end/NAME"? Then its span is recorded here, and the caller does not
 * record the call. For access() and stat() of a path that the kernel has read.
 */
bool shim_marker(const char *path, size_t len);

/* Begin a span of this thread at @since, a time of shim_clock(); 0: now. */
void shim_span_since(int span, int64_t detail, uint64_t since);

/* End a span of this thread at @at, a time of shim_clock(); 0: now. */
void shim_span_end_at(int span, uint64_t at);

/* Fetch spans open in this thread. */
extern _Thread_local uint32_t shim_fetching
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif

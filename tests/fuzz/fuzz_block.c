/* SPDX-License-Identifier: MIT */
/*
 * Fuzz the decoder of records: a libFuzzer target, or a program that decodes
 * the files in its arguments.
 *
 * The bytes are at the end of an allocation, followed only by the specified
 * slack, so that a sanitizer detects every read beyond it.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/trace/internal.h"

#include "tests/fuzz/alone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_decoder d = {0};
	struct reel_error failure = {0};
	struct reel_record r;
	uint64_t last = 1000;
	const uint8_t *before;
	uint8_t *copy;

	if (size > TRACE_USED_MAX)
		return 0;
	copy = calloc(1, size + TRACE_SLACK);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	d.p = before = copy;
	d.end = copy + size;
	trace_decoder_begin(&d, last);
	while (trace_decode(&d, &r, &failure) > 0) {
		if (d.p <= before || d.p > d.end || r.end_ticks < last ||
		    r.dur_ticks > r.end_ticks ||
		    (r.count < 1 && r.call != REEL_MARK_COUNTED) ||
		    (r.path && strlen(r.path) != r.path_len) ||
		    (r.path2 && strlen(r.path2) != r.path2_len))
			abort();
		before = d.p;
		last = r.end_ticks;
	}
	if (failure.code)
		abort();
	trace_decoder_fini(&d);
	free(copy);
	return 0;
}

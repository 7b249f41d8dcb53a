/* SPDX-License-Identifier: MIT */
/*
 * dprintf(): formatted output on a descriptor. Its writes are internal to libc
 * and, unlike those of printf(), show in no stream's buffer later. So each call
 * is recorded as one write of its output.
 */
#include <stdarg.h>

#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

/* The shim is compiled without vector registers, but floating-point arguments
 * are passed in them. */
#if defined(__x86_64__)
#define WITH_FLOATS __attribute__((target("sse2")))
#else
#define WITH_FLOATS __attribute__((target("+fp+simd")))
#endif

static void record_write(int fd, uint32_t entry, uint64_t start, int r)
{
	uint64_t end = shim_clock();

	if (!r)
		return; /* no output, so libc made no write */
	if (shim_is_desc(entry))
		shim_record_io(CALL_WRITE, entry, r < 0 ? NONE : r, NONE, start,
			       end, r, r < 0 ? errno : 0);
	else
		shim_unrecorded(fd, entry, CALL_WRITE, r);
}

/* @fn, which prints @args, and @printf, the same with "...". */
#define PRINT(fn, printf, params, more, args)                                  \
	static int record_##fn params                                          \
	{                                                                      \
		uint64_t start;                                                \
		uint32_t entry;                                                \
		int r;                                                         \
                                                                               \
		PASS_WHEN(!shim_hot.on, fn, args);                             \
		entry = shim_fd(fd);                                           \
		start = shim_clock();                                          \
		r = real.fn args;                                              \
		record_write(fd, entry, start, r);                             \
		return r;                                                      \
	}                                                                      \
	EXPORT int fn params                                                   \
	{                                                                      \
		return record_##fn args;                                       \
	}                                                                      \
	EXPORT WITH_FLOATS int printf more                                     \
	{                                                                      \
		va_list list;                                                  \
		int r;                                                         \
                                                                               \
		va_start(list, format);                                        \
		r = record_##fn args;                                          \
		va_end(list);                                                  \
		return r;                                                      \
	}
PRINT(vdprintf, dprintf, (int fd, const char *format, va_list list),
      (int fd, const char *format, ...), (fd, format, list))
PRINT(__vdprintf_chk, __dprintf_chk,
      (int fd, int flag, const char *format, va_list list),
      (int fd, int flag, const char *format, ...), (fd, flag, format, list))

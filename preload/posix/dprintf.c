/* SPDX-License-Identifier: MIT */
/*
 * dprintf: formatted output on a descriptor. Its writes are libc's internal
 * ones, and no stream's buffer tells of them later; so, unlike printf, it has a
 * record: a write of what came out.
 */
#include <stdarg.h>

#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

/* The shim leaves vector registers alone; numbers with a point come in them. */
#if defined(__x86_64__)
#define WITH_FLOATS __attribute__((target("sse2")))
#else
#define WITH_FLOATS __attribute__((target("+fp+simd")))
#endif

static void wrote(int fd, uint32_t entry, uint64_t start, int r)
{
	uint64_t end = shim_clock();

	if (!r)
		return; /* nothing came out: libc has called nobody */
	if (shim_is_desc(entry))
		shim_record_io(CALL_WRITE, entry, r < 0 ? NONE : r, NONE, start,
			       end, r, r < 0 ? errno : 0);
	else
		shim_unrecorded(fd, entry, CALL_WRITE, r);
}

static int print(int fd, const char *format, va_list args)
{
	uint64_t start;
	uint32_t entry;
	int r;

	NEED(vdprintf);
	if (unlikely(!shim_hot.on))
		return real.vdprintf(fd, format, args);
	entry = shim_fd(fd);
	start = shim_clock();
	r = real.vdprintf(fd, format, args);
	wrote(fd, entry, start, r);
	return r;
}

static int print_checked(int fd, int flag, const char *format, va_list args)
{
	uint64_t start;
	uint32_t entry;
	int r;

	NEED(__vdprintf_chk);
	if (unlikely(!shim_hot.on))
		return real.__vdprintf_chk(fd, flag, format, args);
	entry = shim_fd(fd);
	start = shim_clock();
	r = real.__vdprintf_chk(fd, flag, format, args);
	wrote(fd, entry, start, r);
	return r;
}

EXPORT int vdprintf(int fd, const char *format, va_list args)
{
	return print(fd, format, args);
}

EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list args)
{
	return print_checked(fd, flag, format, args);
}

EXPORT WITH_FLOATS int dprintf(int fd, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = print(fd, format, args);
	va_end(args);
	return r;
}

EXPORT WITH_FLOATS int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = print_checked(fd, flag, format, args);
	va_end(args);
	return r;
}

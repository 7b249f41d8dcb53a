/* SPDX-License-Identifier: MIT */
/*
 * The wrappers that the preprocessor generates: every CALL and ALSO row of
 * calls.def. A call on a descriptor with only a size and an offset, which the
 * compiler knows for each row, is recorded by the inlined shim_record_io(); all
 * other calls go through shim_record_full(). An event never leaves its wrapper,
 * so that its constant fields vanish.
 */
#include <string.h>

#include "preload/core/block_io.h"
#include "preload/core/path_record.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

FIELDS_MAY_REPEAT

/* The failure test of a call, by its column in calls.def. */
enum failure { FAILS_NEG, FAILS_PTR, FAILS_CODE, FAILS_NEVER };

HOT int error_of(enum failure fails, int64_t result)
{
	switch (fails) {
	case FAILS_NEG:
		return unlikely(result < 0) ? errno : 0;
	case FAILS_PTR:
		return !result ? errno : 0;
	case FAILS_CODE:
		return (int)result;
	case FAILS_NEVER:
		break;
	}
	return 0;
}

/* The same for shim_record_io(), which reads errno after all other work. */
HOT int late_error_of(enum failure fails, int64_t result)
{
	return fails == FAILS_NEG ? SHIM_ERRNO : error_of(fails, result);
}

/* No fields but a size and an offset. Constant for each row, as are the
 * next. */
HOT bool is_plain(const struct shim_event *ev)
{
	return ev->arg == NONE && ev->arg2 == NONE && !ev->path && !ev->st &&
	       !ev->iov;
}

/* An lseek() or an fstat(). */
HOT bool is_brief(const struct shim_event *ev, enum failure fails)
{
	return ev->size == NONE && ev->arg2 == NONE && !ev->iov &&
	       (HAS(ev->offset) || ev->st) && fails == FAILS_NEG;
}

/* A stat() of a path. */
HOT bool is_stat(const struct shim_event *ev)
{
	return ev->st && ev->arg == NONE;
}

/* A transfer that is recorded with the alignment of its memory. */
HOT bool is_large(const struct shim_event *ev)
{
	return unlikely((uint64_t)ev->size >= REEL_LARGE_BYTES) && ev->memory;
}

HOT int64_t regular_size(const struct stat *st)
{
	return S_ISREG(st->st_mode) ? st->st_size : NONE;
}

/* Record a call on a descriptor with more than a size and an offset. */
HOT void record_fields(const struct shim_event *ev, uint32_t call,
		       uint32_t desc, uint64_t start, uint64_t end,
		       int64_t result, int err)
{
	struct shim_event full = *ev;

	if (ev->iov && !err) /* readable: the kernel has accepted it */
		full.size = shim_iov_bytes(ev->iov, ev->iovs);
	full.call = call;
	full.desc = desc;
	full.iov = NULL;
	if (is_large(ev))
		full.arg = (intptr_t)ev->memory & (REEL_PLACE_BYTES - 1);
	if (ev->iov && !err && ev->arg == NONE) {
		shim_record_io(call, desc, full.size, ev->offset, start, end,
			       result, 0);
		return;
	}
	if (ev->arg2 == NONE)
		full.arg2 = shim_fetched(call, desc, end - start, result);
	shim_record_full(&full, start, end, result, err);
}

/* Record a call on a descriptor; @simple: by shim_record_io(). */
HOT void record_fd(const struct shim_event *ev, bool simple, uint32_t call,
		   uint32_t desc, uint64_t start, uint64_t end, int64_t result,
		   enum failure fails)
{
	if (simple)
		shim_record_io(call, desc, ev->size, ev->offset, start, end,
			       result, late_error_of(fails, result));
	else
		record_fields(ev, call, desc, start, end, result,
			      error_of(fails, result));
}

/* An is_brief() call by shim_record_full(). Out of line, so that its wrapper
 * needs no event in memory. */
static __attribute__((noinline)) void
record_brief_full(uint32_t call, uint32_t desc, int64_t offset, int64_t arg,
		  const struct stat *st, uint64_t start, uint64_t end,
		  int64_t result)
{
	struct shim_event ev = {SHIM_EVENT_NONE};

	ev.call = call;
	ev.desc = desc;
	ev.offset = offset;
	ev.arg = arg;
	ev.st = st;
	shim_record_full(&ev, start, end, result, error_of(FAILS_NEG, result));
}

HOT void record_brief(const struct shim_event *ev, uint32_t call, uint32_t desc,
		      uint64_t start, uint64_t end, int64_t result)
{
	if (unlikely(result < 0) ||
	    unlikely(!shim_record_more(call, desc, ev->offset, ev->arg,
				       ev->st ? regular_size(ev->st) : NONE,
				       start, end, result)))
		record_brief_full(call, desc, ev->offset, ev->arg, ev->st,
				  start, end, result);
}

/* Record a call on a path; @path: ev->path, or its copy. */
HOT void record_path(const struct shim_event *ev, uint32_t call,
		     const char *path, uint64_t start, uint64_t end,
		     int64_t result, int err)
{
	struct shim_event full = *ev;

	full.call = call;
	full.path = path;
	shim_record_path(&full, start, end, result, err);
}

/* May the fast wrapper record this call, if its descriptor is recorded? */
HOT bool may_be_fast(const struct shim_event *ev, bool has_fd)
{
	if (!has_fd && !is_stat(ev))
		return false;
	return !(unlikely(!shim_hot_clock()) ||
		 (has_fd ? is_large(ev) : unlikely(shim_overwritten(ev))));
}

/* NOFD is a constant, a descriptor is a parameter. */
#define HAS_FD(fd_) (!(__builtin_constant_p(fd_) && (fd_) == NOFD))

/* The wrapper of every case, which the fast one tail-calls. */
#define WRAP_ANY(id, ret, fails, fn, params, args, fd_, ...)                   \
	static __attribute__((noinline)) ret any_##fn params                   \
	{                                                                      \
		const struct shim_event ev = {SHIM_EVENT_NONE, __VA_ARGS__};   \
		const char *ev_path = ev.path;                                 \
		char kept[SHIM_KEPT];                                          \
		uint32_t entry = 0;                                            \
		uint64_t start, end;                                           \
		ret r;                                                         \
                                                                               \
		if (unlikely(shim_overwritten(&ev)))                           \
			ev_path = shim_keep_path(ev_path, kept);               \
		if (HAS_FD(fd_)) {                                             \
			entry = shim_fd(fd_);                                  \
			if (unlikely(!shim_is_desc(entry))) {                  \
				r = real.fn args;                              \
				shim_unrecorded(fd_, entry, id, (int64_t)r);   \
				return r;                                      \
			}                                                      \
		}                                                              \
		TIMED(r = real.fn args);                                       \
		if (HAS_FD(fd_))                                               \
			record_fd(&ev, is_plain(&ev) && !is_large(&ev), id,    \
				  entry, start, end, (int64_t)r,               \
				  FAILS_##fails);                              \
		else                                                           \
			record_path(&ev, id, ev_path, start, end, (int64_t)r,  \
				    error_of(FAILS_##fails, (int64_t)r));      \
		return r;                                                      \
	}

/*
 * The exported wrapper: the usual case, a recorded descriptor or a stat(), and
 * the counter of shim_ticks() as the clock. It saves few registers.
 */
#define WRAP_FAST(id, ret, fails, fn, params, args, fd_, ...)                  \
	FAST ret fn params                                                     \
	{                                                                      \
		const struct shim_event ev = {SHIM_EVENT_NONE, __VA_ARGS__};   \
		struct shim_thread *self = NULL;                               \
		uint32_t entry;                                                \
		uint64_t start, end;                                           \
		ret r;                                                         \
                                                                               \
		PASS_IF_OFF(fn, args);                                         \
		if (!may_be_fast(&ev, HAS_FD(fd_)))                            \
			return any_##fn args;                                  \
		entry = HAS_FD(fd_) ? shim_fd_entry(fd_) : SHIM_DESC_FIRST;    \
		if (unlikely(!shim_is_desc(entry)))                            \
			return any_##fn args;                                  \
		if (!HAS_FD(fd_))                                              \
			self = shim_self();                                    \
		start = shim_ticks();                                          \
		r = real.fn args;                                              \
		end = shim_ticks();                                            \
		if (!HAS_FD(fd_) && unlikely(r))                               \
			return (ret)shim_record_stat_failed(id, ev.path,       \
							    start, end);       \
		if (!HAS_FD(fd_))                                              \
			return (ret)shim_record_stat(self, id, ev.path, ev.st, \
						     start, end);              \
		if (is_brief(&ev, FAILS_##fails))                              \
			record_brief(&ev, id, entry, start, end, (int64_t)r);  \
		else                                                           \
			record_fd(&ev, is_plain(&ev), id, entry, start, end,   \
				  (int64_t)r, FAILS_##fails);                  \
		return r;                                                      \
	}

#define WRAP(...) WRAP_ANY(__VA_ARGS__) WRAP_FAST(__VA_ARGS__)

/*
 * Place hot wrappers explicitly (compiler.h); the linker places all others. A
 * stat() is in another page than its record: where a change elsewhere had moved
 * both, it cost 27 ns or 42.
 */
#define PLACE(fn, order) extern __typeof__(fn) fn PLACED(order)
PLACES_BEGIN("data.0", "1088");
PLACES_BEGIN("stat.0", "320");
PLACE(stat, "stat.1");
PLACE(stat64, "stat.1");
PLACE(read, "data.1");
PLACE(write, "data.1");
PLACE(pread, "data.1");
PLACE(pread64, "data.1");
PLACE(pwrite, "data.1");
PLACE(pwrite64, "data.1");
PLACE(lseek, "data.2");
PLACE(lseek64, "data.2");
PLACE(fstat, "data.2");
PLACE(fstat64, "data.2");

#define CALL(id, NAME, layer, group, traits, ret, fails, fn, params, args,     \
	     fd_, ...)                                                         \
	WRAP(id, ret, fails, fn, params, args, fd_, __VA_ARGS__)
#define ALSO(NAME, ret, fails, fn, params, args, fd_, ...)                     \
	WRAP(CALL_##NAME, ret, fails, fn, params, args, fd_, __VA_ARGS__)
#include "schemas/calls.def"

/* SPDX-License-Identifier: MIT */
/*
 * The wrappers that the preprocessor writes: every CALL and ALSO row of
 * calls.def. A call on a descriptor goes to the inlined record when it has
 * nothing but a size and an offset, which the compiler sees at each row; all
 * other calls go through shim_record_full().
 */
#include <string.h>

#include "preload/core/block_io.h"
#include "preload/core/path_record.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif

#define FAILED_NEG(r) (unlikely((r) < 0) ? errno : 0)
#define FAILED_PTR(r) ((r) == NULL ? errno : 0)
#define FAILED_CODE(r) ((int)(r))
#define FAILED_NEVER(r) 0
/* The same for a plain row: errno is looked at when all else is done. */
#define PLAIN_NEG(r) SHIM_ERRNO
#define PLAIN_PTR(r) FAILED_PTR(r)
#define PLAIN_CODE(r) FAILED_CODE(r)
#define PLAIN_NEVER(r) 0

/* Known when the row is compiled. */
HOT bool plain(const struct shim_event *ev)
{
	return ev->arg == NONE && ev->arg2 == NONE && !ev->path && !ev->st &&
	       !ev->iov;
}

/* An lseek() or an fstat(). */
HOT bool brief(const struct shim_event *ev)
{
	return ev->size == NONE && ev->arg2 == NONE && !ev->iov &&
	       (HAS(ev->offset) || ev->st);
}

HOT int64_t regular_size(const struct stat *st)
{
	return S_ISREG(st->st_mode) ? st->st_size : NONE;
}

HOT bool large(const struct shim_event *ev)
{
	return unlikely((uint64_t)ev->size >= REEL_LARGE_BYTES) && ev->memory;
}

/* A stat() of a name, known when the row is compiled. */
HOT bool is_stat(const struct shim_event *ev)
{
	return ev->st && ev->arg == NONE;
}

/* A call on a descriptor with more than a size and an offset. */
HOT void record_fd(const struct shim_event *ev, uint32_t call, uint32_t desc,
		   uint64_t start, uint64_t end, int64_t result, int err)
{
	struct shim_event full = *ev;

	if (ev->iov && !err) /* readable: the kernel has accepted it */
		full.size = shim_iov_bytes(ev->iov, ev->iovs);
	full.call = call;
	full.desc = desc;
	full.iov = NULL;
	if (large(ev))
		full.arg = (intptr_t)ev->memory & (REEL_PLACE_BYTES - 1);
	if (ev->iov && !err && ev->arg == NONE) {
		shim_record_io(call, desc, full.size, ev->offset, start, end,
			       result, 0);
		return;
	}
	if (ev->arg2 == NONE)
		full.arg2 = shim_storage(call, desc, end - start, result);
	shim_record_full(&full, start, end, result, err);
}

/* The same of a brief() one, whose wrapper need not hold an event for it. */
static __attribute__((noinline)) void record_brief(uint32_t call, uint32_t desc,
						   int64_t offset, int64_t arg,
						   const struct stat *st,
						   uint64_t start, uint64_t end,
						   int64_t result, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE};

	ev.call = call;
	ev.desc = desc;
	ev.offset = offset;
	ev.arg = arg;
	ev.st = st;
	shim_record_full(&ev, start, end, result, err);
}

/* A call on a name; @path: ev->path, or its copy. */
HOT void told(const struct shim_event *ev, uint32_t call, const char *path,
	      uint64_t start, uint64_t end, int64_t result, int err)
{
	struct shim_event full = *ev;

	full.call = call;
	full.path = path;
	shim_record_path(&full, start, end, result, err);
}

/* @ev never leaves the caller, so that its constant fields vanish. */
#define RECORD_FD(ev, simple, id, entry, start, end, r, fails)                 \
	do {                                                                   \
		if (simple)                                                    \
			shim_record_io(id, entry, (ev)->size, (ev)->offset,    \
				       start, end, (int64_t)(r),               \
				       PLAIN_##fails(r));                      \
		else                                                           \
			record_fd(ev, id, entry, start, end, (int64_t)(r),     \
				  FAILED_##fails(r));                          \
	} while (0)

#define RECORD_BRIEF(ev, id, entry, start, end, r, fails)                      \
	do {                                                                   \
		if (unlikely((int64_t)(r) < 0) ||                              \
		    unlikely(!shim_record_more(                                \
			    id, entry, (ev)->offset, (ev)->arg,                \
			    (ev)->st ? regular_size((ev)->st) : NONE, start,   \
			    end, (int64_t)(r))))                               \
			record_brief(id, entry, (ev)->offset, (ev)->arg,       \
				     (ev)->st, start, end, (int64_t)(r),       \
				     FAILED_##fails(r));                       \
	} while (0)

/* NOFD is a constant, a descriptor is a parameter: told apart by the compiler. */
#define HAS_FD(fd_) (!(__builtin_constant_p(fd_) && (fd_) == NOFD))

/*
 * Twice: the usual case of a call on a recorded descriptor, which saves few
 * registers, and every case, where it tail-calls to.
 */
#define WRAP(id, ret, fails, fn, params, args, fd_, ...)                       \
	static __attribute__((noinline)) ret any_##fn params                   \
	{                                                                      \
		const struct shim_event ev = {SHIM_EVENT_NONE, __VA_ARGS__};   \
		const char *name = ev.path;                                    \
		char kept[SHIM_KEPT];                                          \
		uint32_t entry = 0;                                            \
		uint64_t start, end;                                           \
		ret r;                                                         \
                                                                               \
		if (unlikely(shim_overwritten(&ev)))                           \
			name = shim_keep_path(name, kept);                     \
		if (HAS_FD(fd_)) {                                             \
			entry = shim_fd(fd_);                                  \
			if (unlikely(!shim_is_desc(entry))) {                  \
				r = real.fn args;                              \
				shim_unrecorded(fd_, entry, id, (int64_t)r);   \
				return r;                                      \
			}                                                      \
		}                                                              \
		start = shim_clock();                                          \
		r = real.fn args;                                              \
		end = shim_clock();                                            \
		if (HAS_FD(fd_)) {                                             \
			RECORD_FD(&ev, plain(&ev) && !large(&ev), id, entry,   \
				  start, end, r, fails);                       \
		} else {                                                       \
			told(&ev, id, name, start, end, (int64_t)r,            \
			     FAILED_##fails(r));                               \
		}                                                              \
		return r;                                                      \
	}                                                                      \
	FAST ret fn params                                                     \
	{                                                                      \
		const struct shim_event ev = {SHIM_EVENT_NONE, __VA_ARGS__};   \
		struct shim_thread *self;                                      \
		uint64_t start, end;                                           \
		uint32_t entry;                                                \
		ret r;                                                         \
                                                                               \
		PASS_IF_OFF(fn, args);                                         \
		if (!HAS_FD(fd_)) {                                            \
			if (!is_stat(&ev) || unlikely(!shim_hot_clock() ||     \
						      shim_overwritten(&ev)))  \
				return any_##fn args;                          \
			self = shim_self();                                    \
			start = shim_ticks();                                  \
			r = real.fn args;                                      \
			end = shim_ticks();                                    \
			if (unlikely(r))                                       \
				return (ret)shim_record_stat_failed(           \
					id, ev.path, start, end);              \
			return (ret)shim_record_stat(self, id, ev.path, ev.st, \
						     start, end);              \
		}                                                              \
		if (unlikely(!shim_hot_clock()) || large(&ev))                 \
			return any_##fn args;                                  \
		entry = shim_fd_entry(fd_);                                    \
		if (unlikely(!shim_is_desc(entry)))                            \
			return any_##fn args;                                  \
		start = shim_ticks();                                          \
		r = real.fn args;                                              \
		end = shim_ticks();                                            \
		if (brief(&ev))                                                \
			RECORD_BRIEF(&ev, id, entry, start, end, r, fails);    \
		else                                                           \
			RECORD_FD(&ev, plain(&ev), id, entry, start, end, r,   \
				  fails);                                      \
		return r;                                                      \
	}

/*
 * The frequent ones; the others lie as they come. A stat() lies apart from its
 * record: where it came to lie by what was changed elsewhere, it cost 27 ns or
 * 42.
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
#define BY_HAND(...)
#define ALSO_BY_HAND(...)
#define PART(...)
#define MARK(...)
#include "schemas/calls.def"

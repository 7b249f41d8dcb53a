/* SPDX-License-Identifier: MIT */
/*
 * The wrappers that the preprocessor writes: every CALL and ALSO row of
 * calls.def. A call on a descriptor goes to the inlined record when it has
 * nothing but a size and an offset, which the compiler sees at each row; all
 * other calls go through shim_record_full().
 */
#include "preload/real.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif

#define FAILED_NEG(r) (unlikely((r) < 0) ? errno : 0)
#define FAILED_PTR(r) ((r) == NULL ? errno : 0)
#define FAILED_CODE(r) ((int)(r))
#define FAILED_NEVER(r) 0

static int64_t iov_bytes(const struct iovec *iov, int n)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += (int64_t)iov[i].iov_len;
	return sum;
}

/* A call on a counted-only file. */
COLD static void count_code(uint32_t entry, uint32_t call, int64_t result)
{
	if (entry != SHIM_FD_CODE)
		return;
	shim_count(REEL_CODE_CALLS, 1);
	if (result > 0 && call >= CALL_READ && call <= CALL_PREADV2)
		shim_count(REEL_CODE_READ_BYTES, (uint64_t)result);
	if (result > 0 && call >= CALL_WRITE && call <= CALL_PWRITEV2)
		shim_count(REEL_CODE_WRITE_BYTES, (uint64_t)result);
}

/* Known when the row is compiled. */
HOT bool plain(const struct shim_event *ev)
{
	return ev->arg == NONE && ev->arg2 == NONE && !ev->path && !ev->st;
}

/*
 * A call on a descriptor. @ev never leaves the caller, so that its constant
 * fields vanish; only what is not plain is copied to memory.
 */
HOT void record_fd(const struct shim_event *ev, uint32_t call, uint32_t desc,
		   uint64_t start, uint64_t end, int64_t result, int err)
{
	int64_t size = ev->size;

	if (ev->iov && !err) /* readable: the kernel has accepted it */
		size = iov_bytes(ev->iov, ev->iovs);
	if (plain(ev) && !(ev->iov && err)) {
		shim_record_io(call, desc, size, ev->offset, start, end, result,
			       err);
	} else {
		struct shim_event full = *ev;

		full.call = call;
		full.desc = desc;
		full.size = size;
		full.iov = NULL;
		shim_record_full(&full, start, end, result, err);
	}
}

/* A call on paths: filtered by them. */
static void record_path(struct shim_event *ev, uint64_t start, uint64_t end,
			int64_t result, int err)
{
	if (err == EFAULT || err == ENAMETOOLONG) {
		ev->path = ev->path2 = ev->text = NULL; /* not ours to read */
	} else if (ev->path && shim_is_code(ev->path, strlen(ev->path), true)) {
		shim_count(REEL_CODE_CALLS, 1);
		return;
	}
	shim_record_full(ev, start, end, result, err);
}

/* NOFD is a constant, a descriptor is a parameter: told apart by the compiler. */
#define HAS_FD(fd_) (!(__builtin_constant_p(fd_) && (fd_) == NOFD))

#define WRAP(id, ret, fails, fn, params, args, fd_, ...)                       \
	EXPORT ret fn params                                                   \
	{                                                                      \
		if (unlikely(!shim_hot.on)) {                                      \
			NEED(fn);                                              \
			return real.fn args;                                   \
		}                                                              \
		const struct shim_event ev = { SHIM_EVENT_NONE, __VA_ARGS__ }; \
		uint32_t entry = 0;                                            \
		uint64_t start, end;                                           \
		ret r;                                                         \
                                                                               \
		if (HAS_FD(fd_)) {                                             \
			entry = shim_fd(fd_);                                  \
			if (unlikely(!shim_is_desc(entry))) {                  \
				r = real.fn args;                              \
				count_code(entry, id, (int64_t)r);             \
				return r;                                      \
			}                                                      \
		}                                                              \
		start = shim_clock();                                          \
		r = real.fn args;                                              \
		end = shim_clock();                                            \
		if (HAS_FD(fd_)) {                                             \
			record_fd(&ev, id, entry, start, end, (int64_t)r,      \
				  FAILED_##fails(r));                          \
		} else {                                                       \
			struct shim_event full = ev;                           \
                                                                               \
			full.call = id;                                        \
			record_path(&full, start, end, (int64_t)r,             \
				    FAILED_##fails(r));                        \
		}                                                              \
		return r;                                                      \
	}

#define CALL(id, NAME, layer, group, ret, fails, fn, params, args, fd_, ...)   \
	WRAP(id, ret, fails, fn, params, args, fd_, __VA_ARGS__)
#define ALSO(NAME, ret, fails, fn, params, args, fd_, ...)                     \
	WRAP(CALL_##NAME, ret, fails, fn, params, args, fd_, __VA_ARGS__)
#define BY_HAND(...)
#define ALSO_BY_HAND(...)
#define PART(...)
#define MARK(...)
#include "schemas/calls.def"

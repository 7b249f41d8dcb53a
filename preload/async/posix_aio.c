/* SPDX-License-Identifier: MIT */
/*
 * POSIX aio. libc's threads transfer the data by internal calls, which pass no
 * wrapper, so nothing is counted twice. An operation ends when aio_error(),
 * aio_return(), aio_suspend() or lio_listio() reports it complete.
 *
 * A program may poll millions of times: aio_error() and aio_return() complete
 * an operation but have no record of their own. struct aiocb64 is struct aiocb.
 */
#include <string.h>

#include "preload/async/operations.h"
#include "preload/core/symbols.h"

_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "one layout");

/* Enter @cb. libc reads it too: a bad pointer crashes the program anyway. */
static bool enter_op(const struct aiocb *cb, enum shim_async_kind kind,
		     uint64_t start)
{
	struct shim_async op = {.key = (uintptr_t)cb,
				.start = start,
				.by = REEL_ASYNC_POSIX,
				.kind = (uint8_t)kind,
				.size = NONE,
				.offset = NONE};

	op.desc = shim_fd(cb->aio_fildes);
	if (!shim_is_desc(op.desc))
		return false;
	if (kind != SHIM_ASYNC_SYNC) {
		op.size = (int64_t)cb->aio_nbytes;
		op.offset = cb->aio_offset;
	}
	shim_async_take(op.by, 0, op.key, &(struct shim_async){0});
	shim_async_begin(&op);
	return true;
}

static void remove_op(const struct aiocb *cb)
{
	struct shim_async op;

	shim_async_take(REEL_ASYNC_POSIX, 0, (uintptr_t)cb, &op);
}

static void add_submit(uint32_t call, const struct aiocb *cb, uint64_t start,
		       int r)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};
	uint64_t end = shim_clock();
	int err = r < 0 ? errno : 0;

	if (err)
		remove_op(cb);
	ev.desc = shim_fd(cb->aio_fildes);
	ev.arg = 1;
	ev.arg2 = shim_async_depth(REEL_ASYNC_POSIX, 0);
	if (shim_is_desc(ev.desc))
		shim_record_full(&ev, start, end, r, err);
}

/* @error: the result of aio_error(@cb). */
static void end_op(const struct aiocb *cb, int error, uint64_t end)
{
	if (error == EINPROGRESS)
		return;
	shim_async_end(REEL_ASYNC_POSIX, 0, (uintptr_t)cb,
		       error ? -error : cb->__return_value, end);
}

static bool is_in_flight(const struct aiocb *cb)
{
	return cb && shim_async_known(REEL_ASYNC_POSIX, 0, (uintptr_t)cb);
}

static void end_list(const struct aiocb *const list[], int n, uint64_t end)
{
	NEED(aio_error);
	for (int i = 0; i < n; i++)
		if (is_in_flight(list[i]))
			end_op(list[i], real.aio_error(list[i]), end);
}

#define SUBMIT(fn, params, args, call, kind)                                   \
	EXPORT int fn params                                                   \
	{                                                                      \
		uint64_t start;                                                \
		bool ours;                                                     \
		int r;                                                         \
                                                                               \
		PASS_WHEN(!shim_hot.on, fn, args);                             \
		start = shim_clock();                                          \
		ours = enter_op((const struct aiocb *)cb, kind, start);        \
		r = real.fn args;                                              \
		if (ours)                                                      \
			add_submit(call, (const struct aiocb *)cb, start, r);  \
		return r;                                                      \
	}
SUBMIT(aio_read, (struct aiocb * cb), (cb), CALL_AIO_READ, SHIM_ASYNC_READ)
SUBMIT(aio_read64, (struct aiocb64 * cb), (cb), CALL_AIO_READ, SHIM_ASYNC_READ)
SUBMIT(aio_write, (struct aiocb * cb), (cb), CALL_AIO_WRITE, SHIM_ASYNC_WRITE)
SUBMIT(aio_write64, (struct aiocb64 * cb), (cb), CALL_AIO_WRITE,
       SHIM_ASYNC_WRITE)
SUBMIT(aio_fsync, (int how, struct aiocb *cb), (how, cb), CALL_AIO_FSYNC,
       SHIM_ASYNC_SYNC)
SUBMIT(aio_fsync64, (int how, struct aiocb64 *cb), (how, cb), CALL_AIO_FSYNC,
       SHIM_ASYNC_SYNC)

#define ERROR(fn, type)                                                        \
	EXPORT int fn(const struct type *cb)                                   \
	{                                                                      \
		const struct aiocb *plain = (const struct aiocb *)cb;          \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		r = real.fn(cb);                                               \
		if (shim_hot.on && r != EINPROGRESS && is_in_flight(plain))    \
			end_op(plain, r, shim_clock());                        \
		return r;                                                      \
	}
ERROR(aio_error, aiocb)
ERROR(aio_error64, aiocb64)

#define RETURN(fn, type)                                                       \
	EXPORT ssize_t fn(struct type *cb)                                     \
	{                                                                      \
		const struct aiocb *plain = (const struct aiocb *)cb;          \
                                                                               \
		NEED(fn);                                                      \
		NEED(aio_error);                                               \
		if (shim_hot.on && is_in_flight(plain))                        \
			end_op(plain, real.aio_error(plain), shim_clock());    \
		return real.fn(cb);                                            \
	}
RETURN(aio_return, aiocb)
RETURN(aio_return64, aiocb64)

static void add_wait(uint32_t call, int64_t n, uint64_t start, uint64_t end,
		     int r, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};

	ev.arg = n;
	ev.arg2 = shim_async_depth(REEL_ASYNC_POSIX, 0);
	shim_record_full(&ev, start, end, r, err);
}

/* A failed wait completes nothing. errno stays as the wait left it. */
#define SUSPEND(fn, type)                                                      \
	EXPORT int fn(const struct type *const list[], int n,                  \
		      const struct timespec *timeout)                          \
	{                                                                      \
		uint64_t start, end;                                           \
		int r, saved;                                                  \
                                                                               \
		PASS_WHEN(!shim_hot.on || !shim_async_used, fn,                \
			  (list, n, timeout));                                 \
		TIMED(r = real.fn(list, n, timeout));                          \
		saved = errno;                                                 \
		if (!r)                                                        \
			end_list((const struct aiocb *const *)list, n, end);   \
		add_wait(CALL_AIO_SUSPEND, n, start, end, r, r ? saved : 0);   \
		errno = saved;                                                 \
		return r;                                                      \
	}
SUSPEND(aio_suspend, aiocb)
SUSPEND(aio_suspend64, aiocb64)

#define CANCEL(fn, type)                                                       \
	EXPORT int fn(int fd, struct type *cb)                                 \
	{                                                                      \
		uint64_t start;                                                \
		int r, saved;                                                  \
                                                                               \
		PASS_WHEN(!shim_hot.on || !shim_async_used, fn, (fd, cb));     \
		start = shim_clock();                                          \
		r = real.fn(fd, cb);                                           \
		saved = errno;                                                 \
		if (r == AIO_CANCELED && cb)                                   \
			end_op((const struct aiocb *)cb, ECANCELED,            \
			       shim_clock());                                  \
		add_wait(CALL_AIO_CANCEL, fd, start, shim_clock(), r,          \
			 r < 0 ? saved : 0);                                   \
		errno = saved;                                                 \
		return r;                                                      \
	}
CANCEL(aio_cancel, aiocb)
CANCEL(aio_cancel64, aiocb64)

static void enter_list(struct aiocb *const list[], int n, uint64_t start)
{
	for (int i = 0; i < n; i++)
		if (list[i] && list[i]->aio_lio_opcode == LIO_READ)
			enter_op(list[i], SHIM_ASYNC_READ, start);
		else if (list[i] && list[i]->aio_lio_opcode == LIO_WRITE)
			enter_op(list[i], SHIM_ASYNC_WRITE, start);
}

/* After a failed call each operation has a result of its own. */
#define LISTIO(fn, type)                                                       \
	EXPORT int fn(int mode, struct type *const list[], int n,              \
		      struct sigevent *event)                                  \
	{                                                                      \
		struct aiocb *const *plain = (struct aiocb *const *)list;      \
		uint64_t start, end;                                           \
		int r, saved;                                                  \
                                                                               \
		PASS_WHEN(!shim_hot.on ||                                      \
				  (mode != LIO_WAIT && mode != LIO_NOWAIT),    \
			  fn, (mode, list, n, event));                         \
		start = shim_clock();                                          \
		enter_list(plain, n, start);                                   \
		r = real.fn(mode, list, n, event);                             \
		end = shim_clock();                                            \
		saved = errno;                                                 \
		if (mode == LIO_WAIT || r)                                     \
			end_list((const struct aiocb *const *)plain, n, end);  \
		add_wait(CALL_LIO_LISTIO, n, start, end, r, r ? saved : 0);    \
		errno = saved;                                                 \
		return r;                                                      \
	}
LISTIO(lio_listio, aiocb)
LISTIO(lio_listio64, aiocb64)

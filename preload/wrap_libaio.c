/* SPDX-License-Identifier: MIT */
/*
 * libaio, and its system calls made through syscall().
 *
 * libaio's functions return -errno and are looked for in the caller's scope at
 * their first call: the library may be there for a plugin alone. The setup
 * functions are not wrapped, so that a program that asks whether libaio is
 * there is not misled.
 */
#include "preload/async.h"
#include "preload/real.h"

#include <linux/aio_abi.h>

#include "preload/raw.h"

#define CMD_PREADV 7
#define CMD_PWRITEV 8

/* What the control block asks for. False: nothing that is recorded. */
static bool describe(const struct iocb *cb, struct shim_async *op)
{
	op->offset = cb->aio_offset;
	op->size = (int64_t)cb->aio_nbytes;
	switch (cb->aio_lio_opcode) {
	case CMD_PREADV:
	case CMD_PWRITEV:
		op->size = shim_async_iov((void *)(uintptr_t)cb->aio_buf,
					  cb->aio_nbytes);
		/* fall through */
	case IOCB_CMD_PREAD:
	case IOCB_CMD_PWRITE:
		op->what = cb->aio_lio_opcode == CMD_PWRITEV ||
					   cb->aio_lio_opcode == IOCB_CMD_PWRITE
				   ? SHIM_ASYNC_WRITE
				   : SHIM_ASYNC_READ;
		break;
	case IOCB_CMD_FSYNC:
	case IOCB_CMD_FDSYNC:
		op->what = SHIM_ASYNC_SYNC;
		op->size = op->offset = NONE;
		break;
	default:
		return false;
	}
	op->desc = shim_fd((int)cb->aio_fildes);
	return shim_is_desc(op->desc);
}

/* Enter what io_submit() is asked, as far as it can be read. */
static void submit_begin(const long a[6], uint64_t start)
{
	struct iocb **list = (struct iocb **)a[2];
	struct shim_async op = {.queue = (uint64_t)a[0],
				.by = REEL_ASYNC_LIBAIO,
				.start = start};
	uintptr_t good = ~0ul; /* page */

	if (a[1] <= 0 || a[1] > 65536 ||
	    !shim_readable(list, (size_t)a[1] * sizeof(*list)))
		return;
	for (long i = 0; i < a[1]; i++) {
		uintptr_t at = (uintptr_t)list[i],
			  end = at + sizeof(**list) - 1;

		if (at >> 12 != good || end >> 12 != good) {
			if (!shim_readable(list[i], sizeof(**list)))
				return; /* the kernel stops here too */
			good = end >> 12;
		}
		op.key = at;
		shim_async_take(op.by, op.queue, op.key,
				&(struct shim_async){0});
		if (describe(list[i], &op))
			shim_async_begin(&op);
	}
}

/* Take out what was not accepted: all from @n on. */
static void submit_end(const long a[6], long n)
{
	struct iocb **list = (struct iocb **)a[2];
	struct shim_async op;

	if (n < 0)
		n = 0;
	if (n >= a[1] || a[1] > 65536 ||
	    !shim_readable(list, (size_t)a[1] * sizeof(*list)))
		return;
	for (; n < a[1]; n++)
		shim_async_take(REEL_ASYNC_LIBAIO, (uint64_t)a[0],
				(uint64_t)list[n], &op);
}

static void events(const long a[6], long n, uint64_t end)
{
	const struct io_event *ev = (const struct io_event *)a[3];

	for (long i = 0; i < n; i++)
		shim_async_told(REEL_ASYNC_LIBAIO, (uint64_t)a[0], ev[i].obj,
				ev[i].res, end);
}

uint64_t shim_libaio_before(long nr, const long a[6])
{
	uint64_t start = shim_clock();

	if (nr == SYS_io_submit)
		submit_begin(a, start);
	else if (!shim_async_used)
		return 0;
	return start | !start;
}

static void record(uint32_t call, const long a[6], uint64_t start, uint64_t end,
		   long r, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};

	ev.arg = call == CALL_IO_GETEVENTS ? a[2] : a[1];
	ev.arg2 = shim_async_depth(REEL_ASYNC_LIBAIO, (uint64_t)a[0]);
	shim_record_full(&ev, start, end, r, err);
}

void shim_libaio_after(long nr, const long a[6], uint64_t start, uint64_t end,
		       long r, int err)
{
	const struct io_event *canceled = (const struct io_event *)a[2];

	if (nr == SYS_io_submit)
		submit_end(a, r);
	if (!shim_async_used)
		return;
	switch (nr) {
	case SYS_io_submit:
		record(CALL_IO_SUBMIT, a, start, end, r, err);
		break;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		events(a, r, end);
		record(CALL_IO_GETEVENTS, a, start, end, r, err);
		break;
	case SYS_io_cancel:
		if (!err && r == 0)
			shim_async_told(REEL_ASYNC_LIBAIO, (uint64_t)a[0],
					(uint64_t)a[1], canceled->res, end);
		break;
	case SYS_io_destroy:
		if (!err && r == 0)
			shim_async_leave(REEL_ASYNC_LIBAIO, (uint64_t)a[0],
					 EINPROGRESS);
		break;
	}
}

/* errno is of no use to libaio's callers: its results are -errno. */
#define LIBAIO(nr, fn, params, args, ...)                                      \
	EXPORT int fn params                                                   \
	{                                                                      \
		static int(*found) params;                                     \
		static bool quiet;                                             \
		const long a[6] = {__VA_ARGS__};                               \
		uint64_t start;                                                \
		int r;                                                         \
                                                                               \
		if (unlikely(!found))                                          \
			found = shim_find_from(__builtin_return_address(0),    \
					       #fn, fn, "libaio", &quiet);     \
		if (unlikely(!found))                                          \
			return -ENOSYS;                                        \
		if (quiet)                                                     \
			return found args;                                     \
		start = shim_hot.on ? shim_libaio_before(nr, a) : 0;           \
		r = found args;                                                \
		if (start)                                                     \
			shim_libaio_after(nr, a, start, shim_clock(), r,       \
					  r < 0 ? -r : 0);                     \
		return r;                                                      \
	}

struct io_context;
LIBAIO(SYS_io_submit, io_submit,
       (struct io_context * ctx, long n, struct iocb **list), (ctx, n, list),
       (long)ctx, n, (long)list)
LIBAIO(SYS_io_getevents, io_getevents,
       (struct io_context * ctx, long least, long n, struct io_event *events,
	struct timespec *timeout),
       (ctx, least, n, events, timeout), (long)ctx, least, n, (long)events)
LIBAIO(SYS_io_pgetevents, io_pgetevents,
       (struct io_context * ctx, long least, long n, struct io_event *events,
	struct timespec *timeout, void *mask),
       (ctx, least, n, events, timeout, mask), (long)ctx, least, n,
       (long)events)
LIBAIO(SYS_io_cancel, io_cancel,
       (struct io_context * ctx, struct iocb *cb, struct io_event *event),
       (ctx, cb, event), (long)ctx, (long)cb, (long)event)
LIBAIO(SYS_io_destroy, io_destroy, (struct io_context * ctx), (ctx), (long)ctx)
LIBAIO(SYS_io_destroy, io_queue_release, (struct io_context * ctx), (ctx),
       (long)ctx)

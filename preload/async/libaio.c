/* SPDX-License-Identifier: MIT */
/*
 * libaio, and its system calls made through syscall().
 *
 * libaio's functions return -errno and are looked up in the caller's scope at
 * their first call: only a plugin may have loaded the library. The setup
 * functions are not wrapped: dlsym() finds them only where libaio is loaded.
 *
 * A context is the address of its completion ring, and a program may reap
 * completions there without a call (fio, SPDK). The shim reads the reaped ones
 * before the next submission: until then the kernel cannot overwrite them.
 */
#include <linux/aio_abi.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/memory.h"
#include "preload/core/symbols.h"

#define CMD_PREADV 7
#define CMD_PWRITEV 8

/* The kernel's struct aio_ring. */
struct ring {
	uint32_t id, entries, head, tail, magic, compat, incompat, head_bytes;
	struct io_event event[];
};
#define RING_MAGIC 0xa10a10a1u

/* The next completion to read, plus 1. A new ring starts at its head. */
static uint32_t *ring_pos(uint64_t ctx)
{
	const struct ring *ring = (const void *)(uintptr_t)ctx;
	uint32_t *pos = shim_async_ring_pos(REEL_ASYNC_LIBAIO, ctx);

	if (!pos || *pos)
		return pos;
	if (!shim_readable(ring, sizeof(*ring)) || ring->magic != RING_MAGIC ||
	    ring->incompat || ring->head_bytes != sizeof(*ring))
		return NULL;
	*pos = ring->head + 1;
	return pos;
}

/* Complete the operations that the program reaped from the ring itself. */
static void complete_reaped(uint64_t ctx, uint32_t *pos, uint64_t end)
{
	const struct ring *ring = (const void *)(uintptr_t)ctx;
	uint32_t seen = __atomic_load_n(pos, __ATOMIC_ACQUIRE), next, head;

	head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	while (seen && seen != head + 1 && head < ring->entries) {
		const struct io_event ev =
			ring->event[seen <= ring->entries ? seen - 1 : 0];

		next = seen < ring->entries ? seen + 1 : 1;
		if (!__atomic_compare_exchange_n(pos, &seen, next, false,
						 __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			continue; /* another thread took it */
		shim_async_end(REEL_ASYNC_LIBAIO, ctx, ev.obj, ev.res, end);
		seen = next;
	}
}

/* Fill @op from the control block. False: the operation is not recorded. */
static bool decode_iocb(const struct iocb *cb, struct shim_async *op)
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
		op->kind = cb->aio_lio_opcode == CMD_PWRITEV ||
					   cb->aio_lio_opcode == IOCB_CMD_PWRITE
				   ? SHIM_ASYNC_WRITE
				   : SHIM_ASYNC_READ;
		break;
	case IOCB_CMD_FSYNC:
	case IOCB_CMD_FDSYNC:
		op->kind = SHIM_ASYNC_SYNC;
		op->size = op->offset = NONE;
		break;
	default:
		return false;
	}
	op->desc = shim_fd((int)cb->aio_fildes);
	return shim_is_desc(op->desc);
}

/* Enter the operations of io_submit(), as far as memory is readable. */
static void submit_begin(const long a[6], uint64_t start)
{
	struct iocb **list = (struct iocb **)a[2];
	struct shim_async op = {.queue = (uint64_t)a[0],
				.by = REEL_ASYNC_LIBAIO,
				.start = start};
	uintptr_t good = ~0ul; /* page */
	uint32_t *pos = ring_pos(op.queue);

	if (pos)
		complete_reaped(op.queue, pos, start);
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
		/* An earlier one with this key, whose end was not seen. */
		shim_async_end(op.by, op.queue, op.key, -EINPROGRESS, start);
		if (decode_iocb(list[i], &op))
			shim_async_begin(&op);
	}
}

/* Remove the operations that were not accepted: all from @n on. */
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

static void complete_events(const long a[6], long n, uint64_t end)
{
	const struct io_event *ev = (const struct io_event *)a[3];
	uint32_t *pos = shim_async_ring_pos(REEL_ASYNC_LIBAIO, (uint64_t)a[0]);

	for (long i = 0; i < n; i++)
		shim_async_end(REEL_ASYNC_LIBAIO, (uint64_t)a[0], ev[i].obj,
			       ev[i].res, end);
	if (n > 0 && pos && *pos)
		complete_reaped((uint64_t)a[0], pos, end);
}

/* Complete the reaped operations before the ring is unmapped. */
static void finish_ring(const long a[6], uint64_t now)
{
	uint32_t *pos = shim_async_ring_pos(REEL_ASYNC_LIBAIO, (uint64_t)a[0]);

	if (!pos || !*pos)
		return;
	if (shim_readable((void *)a[0], sizeof(struct ring)))
		complete_reaped((uint64_t)a[0], pos, now);
	*pos = 0;
}

void shim_libaio_finish(uint64_t ctx)
{
	const long a[6] = {(long)ctx};

	finish_ring(a, shim_clock());
}

uint64_t shim_libaio_before(long nr, const long a[6])
{
	uint64_t start = shim_clock();

	if (nr == SYS_io_submit)
		submit_begin(a, start);
	else if (!shim_async_used)
		return 0;
	else if (nr == SYS_io_destroy)
		finish_ring(a, start);
	return start | !start;
}

static void record_call(uint32_t call, const long a[6], uint64_t start,
			uint64_t end, long r, int err)
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
		record_call(CALL_IO_SUBMIT, a, start, end, r, err);
		break;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		complete_events(a, r, end);
		record_call(CALL_IO_GETEVENTS, a, start, end, r, err);
		break;
	case SYS_io_cancel:
		if (!err && r == 0)
			shim_async_end(REEL_ASYNC_LIBAIO, (uint64_t)a[0],
				       (uint64_t)a[1], canceled->res, end);
		break;
	case SYS_io_destroy:
		if (!err && r == 0)
			shim_async_abandon(REEL_ASYNC_LIBAIO, (uint64_t)a[0],
					   EINPROGRESS);
		break;
	}
}

/* libaio does not set errno: its results are -errno. */
#define LIBAIO(nr, fn, params, args, ...)                                      \
	EXPORT int fn params                                                   \
	{                                                                      \
		SHIM_FIND(fn, "libaio");                                       \
		const long a[6] = {__VA_ARGS__};                               \
		uint64_t start;                                                \
		int r;                                                         \
                                                                               \
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

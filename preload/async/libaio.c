/* SPDX-License-Identifier: MIT */
/*
 * libaio, and its system calls made through syscall().
 *
 * libaio's functions return -errno and are looked for in the caller's scope at
 * their first call: the library may be there for a plugin alone. The setup
 * functions are not wrapped, so that a program that asks whether libaio is
 * there is not misled.
 *
 * A context is the address of its ring of completions, and a program may reap
 * them there without a call (fio, SPDK): what it has gone past is read at its
 * next submission, which cannot have overwritten it yet.
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

/* Of a ring that is looked at for the first time all is told already. */
static uint32_t *place_of(uint64_t ctx)
{
	const struct ring *ring = (const void *)(uintptr_t)ctx;
	uint32_t *place = shim_async_place(REEL_ASYNC_LIBAIO, ctx);

	if (!place || *place)
		return place;
	if (!shim_readable(ring, sizeof(*ring)) || ring->magic != RING_MAGIC ||
	    ring->incompat || ring->head_bytes != sizeof(*ring))
		return NULL;
	*place = ring->head + 1;
	return place;
}

/* The program has gone past completions: it knows of them. */
static void reaped(uint64_t ctx, uint32_t *place, uint64_t end)
{
	const struct ring *ring = (const void *)(uintptr_t)ctx;
	uint32_t seen = __atomic_load_n(place, __ATOMIC_ACQUIRE), next, head;

	head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	while (seen && seen != head + 1 && head < ring->entries) {
		const struct io_event ev =
			ring->event[seen <= ring->entries ? seen - 1 : 0];

		next = seen < ring->entries ? seen + 1 : 1;
		if (!__atomic_compare_exchange_n(place, &seen, next, false,
						 __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			continue; /* another thread looks, too */
		shim_async_told(REEL_ASYNC_LIBAIO, ctx, ev.obj, ev.res, end);
		seen = next;
	}
}

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
	uint32_t *place = place_of(op.queue);

	if (place)
		reaped(op.queue, place, start);
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
		/* One of before, that nobody told the end of. */
		shim_async_told(op.by, op.queue, op.key, -EINPROGRESS, start);
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
	uint32_t *place = shim_async_place(REEL_ASYNC_LIBAIO, (uint64_t)a[0]);

	for (long i = 0; i < n; i++)
		shim_async_told(REEL_ASYNC_LIBAIO, (uint64_t)a[0], ev[i].obj,
				ev[i].res, end);
	if (n > 0 && place && *place)
		reaped((uint64_t)a[0], place, end);
}

/* No ring is looked at that is about to go. */
static void destroyed(const long a[6], uint64_t now)
{
	uint32_t *place = shim_async_place(REEL_ASYNC_LIBAIO, (uint64_t)a[0]);

	if (!place || !*place)
		return;
	if (shim_readable((void *)a[0], sizeof(struct ring)))
		reaped((uint64_t)a[0], place, now);
	*place = 0;
}

void shim_libaio_finish(uint64_t ctx)
{
	const long a[6] = {(long)ctx};

	destroyed(a, shim_clock());
}

uint64_t shim_libaio_before(long nr, const long a[6])
{
	uint64_t start = shim_clock();

	if (nr == SYS_io_submit)
		submit_begin(a, start);
	else if (!shim_async_used)
		return 0;
	else if (nr == SYS_io_destroy)
		destroyed(a, start);
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

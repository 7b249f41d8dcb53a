/* SPDX-License-Identifier: MIT */
/*
 * io_uring: what lies in the rings at each call of the program.
 *
 * A ring is known from its set-up through syscall() and the program's mmap()
 * of it, or from the struct io_uring that liburing is given. Entries are read
 * before they are submitted. Completions appear in shared memory without a
 * call: they are found at the next call on the ring that we see, in time,
 * since the ring holds as many as may be in flight. A program that enters the
 * kernel by instructions of its own is not seen, unless IOREEL_COMPLETE=1
 * (async_dispatch.c): how many operations that were, the ring's counters say
 * in the end.
 */
#include "preload/async/uring.h"

#include <string.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/memory.h"
#include "preload/core/symbols.h"

#define RINGS 64
#define FILES_MOST 65536
#define SETUP_SQE128 (1u << 10) /* of kernels newer than the headers may be */
#define SETUP_CQE32 (1u << 11)
#define SETUP_NO_SQARRAY (1u << 16)

enum { FREE, BUSY, LIVE };

int shim_rings_used;
static struct shim_ring *rings; /* [RINGS] */

struct shim_ring *shim_ring_find(int fd)
{
	struct shim_ring *all = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; all && i < RINGS; i++)
		if (__atomic_load_n(&all[i].state, __ATOMIC_ACQUIRE) == LIVE &&
		    all[i].fd == fd)
			return &all[i];
	return NULL;
}

/* A new entry, BUSY; NULL: no room. */
struct shim_ring *shim_ring_new(int fd)
{
	struct shim_ring *all =
		shim_wiped((void **)&rings, RINGS * sizeof(*all));

	for (uint32_t i = 0; all && i < RINGS; i++) {
		uint32_t free = FREE;

		if (!__atomic_compare_exchange_n(&all[i].state, &free, BUSY,
						 false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		memset((char *)&all[i] + sizeof(all[i].state), 0,
		       sizeof(all[i]) - sizeof(all[i].state));
		all[i].fd = fd;
		__atomic_store_n(&shim_rings_used, 1, __ATOMIC_RELAXED);
		return &all[i];
	}
	shim_count(REEL_LOST_LIMIT, 1);
	return NULL;
}

void shim_ring_ready(struct shim_ring *r)
{
	__atomic_store_n(&r->state, LIVE, __ATOMIC_RELEASE);
}

static void files_forget(struct shim_ring *r)
{
	if (r->files)
		raw2(SYS_munmap, r->files, FILES_MOST * sizeof(*r->files));
	r->files = NULL;
	r->files_n = 0;
}

/* Operations that the kernel took and that no call of the program told. */
static void say_unseen(struct shim_ring *r)
{
	uint32_t n = __atomic_load_n(r->sq_tail, __ATOMIC_ACQUIRE) - r->sq_seen;

	if (!n)
		return;
	shim_note("io_uring_unseen", n);
	shim_count(REEL_LOST_LIMIT, n);
}

void shim_ring_end(struct shim_ring *r)
{
	if (r->raw && r->sq_tail && shim_readable(r->sq_tail, 4))
		say_unseen(r);
	shim_async_leave(REEL_ASYNC_URING, (uint64_t)r->fd, EINPROGRESS);
	files_forget(r);
	__atomic_store_n(&r->state, FREE, __ATOMIC_RELEASE);
}

/* --- entries and completions ---------------------------------------------- */

static bool in_slot(const struct io_uring_sqe *sqe)
{
	return sqe->flags & IOSQE_FIXED_FILE;
}

/* 0: not known. */
static uint32_t entry_of(const struct shim_ring *r,
			 const struct io_uring_sqe *sqe)
{
	if (!in_slot(sqe))
		return shim_fd(sqe->fd);
	return r->files && (uint32_t)sqe->fd < r->files_n ? r->files[sqe->fd]
							  : 0;
}

static uint32_t desc_of(const struct shim_ring *r,
			const struct io_uring_sqe *sqe)
{
	uint32_t entry = entry_of(r, sqe);

	return shim_is_desc(entry) ? entry : 0;
}

static bool transfers(const struct io_uring_sqe *sqe, struct shim_async *op)
{
	switch (sqe->opcode) {
	case IORING_OP_READ:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READV:
		op->what = SHIM_ASYNC_READ;
		break;
	case IORING_OP_WRITE:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITEV:
		op->what = SHIM_ASYNC_WRITE;
		break;
	default:
		return false;
	}
	op->size = sqe->len;
	if (sqe->opcode == IORING_OP_READV || sqe->opcode == IORING_OP_WRITEV)
		op->size =
			shim_async_iov((void *)(uintptr_t)sqe->addr, sqe->len);
	if (sqe->off != UINT64_MAX) /* else at the position */
		op->offset = (int64_t)sqe->off;
	return true;
}

/* Newer than the header. */
#define OP_FTRUNCATE 55
#define OP_READV_FIXED 58
#define OP_WRITEV_FIXED 59

/* I/O that has no record here: counted, as a loss. */
static bool untold(const struct shim_ring *r, const struct io_uring_sqe *sqe)
{
	switch (sqe->opcode) {
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
		return sqe->file_index; /* a slot that only the ring knows */
	case IORING_OP_READ:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READV:
	case IORING_OP_WRITE:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITEV:
		return in_slot(sqe) && !entry_of(r, sqe); /* such a slot's */
	case IORING_OP_FALLOCATE:
	case IORING_OP_STATX:
	case IORING_OP_SPLICE:
	case IORING_OP_TEE:
	case IORING_OP_RENAMEAT:
	case IORING_OP_UNLINKAT:
	case IORING_OP_MKDIRAT:
	case IORING_OP_SYMLINKAT:
	case IORING_OP_LINKAT:
	case OP_FTRUNCATE:
	case OP_READV_FIXED:
	case OP_WRITEV_FIXED:
		return true;
	}
	return false;
}

/* What the entry asks for. False: nothing that is recorded. */
static bool describe(const struct shim_ring *r, const struct io_uring_sqe *sqe,
		     struct shim_async *op)
{
	op->size = op->offset = NONE;
	op->key = sqe->user_data;
	switch (sqe->opcode) {
	case IORING_OP_FSYNC:
	case IORING_OP_SYNC_FILE_RANGE:
		op->what = SHIM_ASYNC_SYNC;
		break;
	case IORING_OP_OPENAT:
		op->what = SHIM_ASYNC_OPEN;
		op->offset = sqe->open_flags;
		return true;
	case IORING_OP_OPENAT2:
		op->what = SHIM_ASYNC_OPEN;
		return true;
	case IORING_OP_CLOSE:
		op->what = SHIM_ASYNC_CLOSE;
		if (sqe->file_index)
			return false;
		op->desc = shim_fd_take(sqe->fd);
		return shim_is_desc(op->desc);
	default:
		if (!transfers(sqe, op))
			return false;
	}
	op->desc = desc_of(r, sqe);
	return op->desc != 0;
}

/* A slot of the ring that gets another file, or none, by an operation of it. */
static void slot_changes(const struct shim_ring *r,
			 const struct io_uring_sqe *sqe)
{
	uint32_t at =
		sqe->file_index - 1; /* 0: no slot; -1: one that is free */

	if (r->files && at < r->files_n &&
	    (sqe->opcode == IORING_OP_OPENAT ||
	     sqe->opcode == IORING_OP_OPENAT2 ||
	     sqe->opcode == IORING_OP_CLOSE || sqe->opcode == IORING_OP_ACCEPT))
		r->files[at] = 0;
}

void shim_ring_submit(const struct shim_ring *r, uint32_t index, uint64_t start)
{
	struct shim_async op = {.queue = (uint64_t)r->fd,
				.by = REEL_ASYNC_URING,
				.start = start};
	size_t bytes = sizeof(struct io_uring_sqe);
	const struct io_uring_sqe *sqe;

	if (r->flags & SETUP_SQE128)
		bytes *= 2;
	sqe = (void *)(r->sqes + index * bytes);
	slot_changes(r, sqe);
	if (untold(r, sqe))
		shim_count(REEL_LOST_LIMIT, 1);
	else if (describe(r, sqe, &op))
		shim_async_begin(&op);
}

/* What the program has put between the last call and this one. */
static void submit_raw(struct shim_ring *r, uint64_t start)
{
	uint32_t tail, seen, mask = *r->sq_mask;

	tail = __atomic_load_n(r->sq_tail, __ATOMIC_ACQUIRE);
	seen = __atomic_exchange_n(&r->sq_seen, tail, __ATOMIC_ACQ_REL);
	if (tail - seen > mask + 1) {
		shim_count(REEL_LOST_LIMIT, tail - seen - mask - 1);
		seen = tail - mask - 1;
	}
	for (; seen != tail; seen++)
		shim_ring_submit(r,
				 r->array && !(r->flags & SETUP_NO_SQARRAY)
					 ? r->array[seen & mask] & mask
					 : seen & mask,
				 start);
}

/* Completions that appeared since the last look; two threads share them. */
void shim_ring_scan(struct shim_ring *r, uint64_t end)
{
	size_t bytes =
		sizeof(struct io_uring_cqe) * (r->flags & SETUP_CQE32 ? 2 : 1);
	uint32_t mask = *r->cq_mask, tail, seen;

	seen = __atomic_load_n(&r->cq_seen, __ATOMIC_ACQUIRE);
	for (;;) {
		const struct io_uring_cqe *cqe;
		uint64_t key;
		int32_t res;

		tail = __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE);
		if (seen == tail)
			return;
		if (tail - seen > mask + 1) {
			__atomic_compare_exchange_n(
				&r->cq_seen, &seen, tail - mask - 1, false,
				__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
			continue;
		}
		cqe = (void *)(r->cqes + (seen & mask) * bytes);
		key = cqe->user_data;
		res = cqe->res;
		if (!__atomic_compare_exchange_n(&r->cq_seen, &seen, seen + 1,
						 false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			continue;
		shim_async_told(REEL_ASYNC_URING, (uint64_t)r->fd, key, res,
				end);
		seen++;
	}
}

void shim_ring_record(uint32_t call, int64_t n, const struct shim_ring *r,
		      uint64_t start, uint64_t end, long result, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};

	ev.arg = n;
	ev.arg2 = shim_async_depth(REEL_ASYNC_URING, (uint64_t)r->fd);
	shim_record_full(&ev, start, end, result, err);
}

/* --- through syscall() --------------------------------------------------- */

static void set_up(int fd, const struct io_uring_params *p)
{
	struct shim_ring *r = shim_ring_find(fd);

	if (r)
		shim_ring_end(r); /* its number was closed */
	if (p->flags & SHIM_RING_MIXED)
		return;
	r = shim_ring_new(fd);
	if (!r)
		return;
	r->raw = true;
	r->flags = p->flags;
	r->sq_off = p->sq_off;
	r->cq_off = p->cq_off;
	shim_ring_ready(r);
	shim_dispatch_arm();
}

static bool followed(const struct shim_ring *r)
{
	return r && r->sq_tail && r->cq_tail && r->sqes;
}

void shim_uring_mapped(int fd, int64_t offset, void *addr, size_t len)
{
	struct shim_ring *r = shim_ring_find(fd);
	unsigned char *at = addr;

	if (!r || !r->raw)
		return;
	if (offset == IORING_OFF_SQES) {
		r->sqes = at;
		return;
	}
	if (offset == IORING_OFF_SQ_RING && r->sq_off.tail < len) {
		r->sq_head = (void *)(at + r->sq_off.head);
		r->sq_mask = (void *)(at + r->sq_off.ring_mask);
		r->array = (void *)(at + r->sq_off.array);
		r->sq_tail = (void *)(at + r->sq_off.tail);
	}
	/* One mapping for both, where it is long enough. */
	if ((offset == IORING_OFF_CQ_RING || offset == IORING_OFF_SQ_RING) &&
	    r->cq_off.cqes < len && (!r->cq_tail || offset)) {
		r->cq_head = (void *)(at + r->cq_off.head);
		r->cq_mask = (void *)(at + r->cq_off.ring_mask);
		r->cqes = at + r->cq_off.cqes;
		r->cq_tail = (void *)(at + r->cq_off.tail);
	}
}

static bool within(const void *p, uintptr_t addr, size_t len)
{
	return (uintptr_t)p >= addr && (uintptr_t)p - addr < len;
}

void shim_uring_unmapped(void *addr, size_t len)
{
	struct shim_ring *all = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);
	uintptr_t at = (uintptr_t)addr;

	for (uint32_t i = 0; all && i < RINGS; i++) {
		struct shim_ring *r = &all[i];

		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != LIVE ||
		    !r->raw)
			continue;
		if (!within(r->sq_tail, at, len) &&
		    !within(r->cq_tail, at, len) && !within(r->sqes, at, len))
			continue;
		if (followed(r))
			shim_ring_scan(r, shim_clock());
		shim_ring_end(r);
	}
}

/* The registered descriptors from @at on; -1 is a hole. */
static void files_set(struct shim_ring *r, uint32_t at, const int *fd,
		      uint32_t n)
{
	long mem;

	if (at > FILES_MOST || n > FILES_MOST - at)
		return;
	if (!r->files) {
		mem = raw6(SYS_mmap, 0, FILES_MOST * sizeof(*r->files),
			   PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if ((unsigned long)mem > -4096ul)
			return;
		r->files = (void *)mem;
	}
	for (uint32_t i = 0; i < n; i++)
		if (fd[i] != -2) /* skipped by an update */
			r->files[at + i] = fd[i] < 0 ? 0 : shim_fd(fd[i]);
	if (at + n > r->files_n)
		r->files_n = at + n;
}

/* After io_uring_register() succeeded: the kernel has read what is read here.
 */
void shim_ring_registered(struct shim_ring *r, unsigned int what,
			  const void *arg, unsigned int n)
{
	const struct io_uring_files_update *old = arg;
	const struct io_uring_rsrc_update2 *update = arg;
	const struct io_uring_rsrc_register *reg = arg;

	switch (what) {
	case IORING_REGISTER_FILES:
		files_set(r, 0, arg, n);
		break;
	case IORING_REGISTER_FILES2:
		if (reg->data)
			files_set(r, 0, (void *)(uintptr_t)reg->data, reg->nr);
		break;
	case IORING_REGISTER_FILES_UPDATE:
		files_set(r, old->offset, (void *)(uintptr_t)old->fds, n);
		break;
	case IORING_REGISTER_FILES_UPDATE2:
		files_set(r, update->offset, (void *)(uintptr_t)update->data,
			  update->nr);
		break;
	case IORING_UNREGISTER_FILES:
		files_forget(r);
		break;
	}
}

uint64_t shim_uring_before(long nr, const long a[6])
{
	struct shim_ring *r = shim_ring_find((int)a[0]);
	uint64_t start = shim_clock();

	if (nr == SYS_io_uring_enter) {
		if (!followed(r))
			return a[1] > 0 ? start | !start : 0;
		if (r->raw)
			submit_raw(r, start);
		shim_ring_scan(r, start);
	}
	return start | !start;
}

void shim_uring_after(long nr, const long a[6], uint64_t start, uint64_t end,
		      long r, int err)
{
	struct shim_ring *ring = shim_ring_find((int)a[0]);

	if (nr == SYS_io_uring_setup) {
		if (r >= 0)
			set_up((int)r, (const struct io_uring_params *)a[1]);
	} else if (nr == SYS_io_uring_register) {
		if (ring && r >= 0)
			shim_ring_registered(ring, (unsigned int)a[1],
					     (const void *)a[2],
					     (unsigned int)a[3]);
	} else if (followed(ring)) {
		shim_ring_scan(ring, end);
		shim_ring_record(CALL_IO_URING_ENTER, a[1], ring, start, end, r,
				 err);
	} else if (r > 0) {
		/* Made by a parent, or without a call that was seen. */
		shim_count(REEL_LOST_LIMIT, (uint64_t)r);
	}
}

void shim_uring_finish(void)
{
	struct shim_ring *all = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; all && i < RINGS; i++) {
		struct shim_ring *r = &all[i];

		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != LIVE ||
		    !followed(r) || !shim_readable(r->cq_tail, 4) ||
		    !shim_readable(r->cqes, 4))
			continue;
		shim_ring_scan(r, shim_clock());
		if (r->raw && shim_readable(r->sq_tail, 4))
			say_unseen(r);
		r->sq_seen = *r->sq_tail;
	}
}

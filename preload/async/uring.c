/* SPDX-License-Identifier: MIT */
/*
 * io_uring: reads the rings at each call of the program.
 *
 * A ring is known from its setup through syscall() and the program's mmap() of
 * it, or from the struct io_uring that liburing's functions take. Entries are
 * read before they are submitted. Completions appear in shared memory without a
 * call: they are read at the next call on the ring, before the kernel can
 * overwrite them, since the ring has room for all in flight. System calls by
 * instructions of the program's own are seen only with IOREEL_COMPLETE=1
 * (syscall_dispatch.c); the ring's counters show how many were missed.
 */
#include "preload/async/uring.h"

#include <string.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/memory.h"
#include "preload/core/symbols.h"

#define RINGS 64
#define FILES_MOST 65536
#define SETUP_SQE128 (1u << 10) /* the headers may be older than the kernel */
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

/* In state BUSY; NULL: no room. */
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

static void files_free(struct shim_ring *r)
{
	if (r->files)
		raw(SYS_munmap, r->files, FILES_MOST * sizeof(*r->files));
	r->files = NULL;
	r->files_n = 0;
}

/* Count the operations that were submitted without a call that we saw. */
static void count_unseen(struct shim_ring *r)
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
		count_unseen(r);
	shim_async_abandon(REEL_ASYNC_URING, (uint64_t)r->fd, EINPROGRESS);
	files_free(r);
	__atomic_store_n(&r->state, FREE, __ATOMIC_RELEASE);
}

/* --- entries and completions ---------------------------------------------- */

static bool has_slot(const struct io_uring_sqe *sqe)
{
	return sqe->flags & IOSQE_FIXED_FILE;
}

/* 0: unknown. */
static uint32_t sqe_entry(const struct shim_ring *r,
			  const struct io_uring_sqe *sqe)
{
	if (!has_slot(sqe))
		return shim_fd(sqe->fd);
	return r->files && (uint32_t)sqe->fd < r->files_n ? r->files[sqe->fd]
							  : 0;
}

static uint32_t sqe_desc(const struct shim_ring *r,
			 const struct io_uring_sqe *sqe)
{
	uint32_t entry = sqe_entry(r, sqe);

	return shim_is_desc(entry) ? entry : 0;
}

static bool decode_rw(const struct io_uring_sqe *sqe, struct shim_async *op)
{
	switch (sqe->opcode) {
	case IORING_OP_READ:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READV:
		op->kind = SHIM_ASYNC_READ;
		break;
	case IORING_OP_WRITE:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITEV:
		op->kind = SHIM_ASYNC_WRITE;
		break;
	default:
		return false;
	}
	op->size = sqe->len;
	if (sqe->opcode == IORING_OP_READV || sqe->opcode == IORING_OP_WRITEV)
		op->size =
			shim_async_iov((void *)(uintptr_t)sqe->addr, sqe->len);
	if (sqe->off != UINT64_MAX) /* else at the file position */
		op->offset = (int64_t)sqe->off;
	return true;
}

/* Newer than the header. */
#define OP_FTRUNCATE 55
#define OP_READV_FIXED 58
#define OP_WRITEV_FIXED 59

/* I/O without a record: counted as a loss. */
static bool is_lost(const struct shim_ring *r, const struct io_uring_sqe *sqe)
{
	switch (sqe->opcode) {
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
		return sqe->file_index; /* into a slot: no descriptor */
	case IORING_OP_READ:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READV:
	case IORING_OP_WRITE:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITEV:
		return has_slot(sqe) && !sqe_entry(r, sqe); /* unknown slot */
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

/* Fill @op from the entry. False: the operation is not recorded. */
static bool decode_sqe(const struct shim_ring *r,
		       const struct io_uring_sqe *sqe, struct shim_async *op)
{
	op->size = op->offset = NONE;
	op->key = sqe->user_data;
	switch (sqe->opcode) {
	case IORING_OP_FSYNC:
	case IORING_OP_SYNC_FILE_RANGE:
		op->kind = SHIM_ASYNC_SYNC;
		break;
	case IORING_OP_OPENAT:
		op->kind = SHIM_ASYNC_OPEN;
		op->offset = sqe->open_flags;
		return true;
	case IORING_OP_OPENAT2:
		op->kind = SHIM_ASYNC_OPEN;
		return true;
	case IORING_OP_CLOSE:
		op->kind = SHIM_ASYNC_CLOSE;
		if (sqe->file_index)
			return false;
		op->desc = shim_fd_take(sqe->fd);
		return shim_is_desc(op->desc);
	default:
		if (!decode_rw(sqe, op))
			return false;
	}
	op->desc = sqe_desc(r, sqe);
	return op->desc != 0;
}

/* Forget the file of a slot that the operation replaces or clears. */
static void clear_file_slot(const struct shim_ring *r,
			    const struct io_uring_sqe *sqe)
{
	uint32_t at = sqe->file_index - 1; /* index 0: none, -1: a free slot */

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
	clear_file_slot(r, sqe);
	if (is_lost(r, sqe))
		shim_count(REEL_LOST_LIMIT, 1);
	else if (decode_sqe(r, sqe, &op))
		shim_async_begin(&op);
}

/* Enter the operations that the program queued since the last call. */
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

/* Two threads may scan at a time: each completion is taken by one. */
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
		shim_async_end(REEL_ASYNC_URING, (uint64_t)r->fd, key, res,
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

static void add_ring(int fd, const struct io_uring_params *p)
{
	struct shim_ring *r = shim_ring_find(fd);

	if (r)
		shim_ring_end(r); /* the old ring was closed */
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

static bool is_mapped(const struct shim_ring *r)
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
	/* One mapping may have both rings, if it is long enough. */
	if ((offset == IORING_OFF_CQ_RING || offset == IORING_OFF_SQ_RING) &&
	    r->cq_off.cqes < len && (!r->cq_tail || offset)) {
		r->cq_head = (void *)(at + r->cq_off.head);
		r->cq_mask = (void *)(at + r->cq_off.ring_mask);
		r->cqes = at + r->cq_off.cqes;
		r->cq_tail = (void *)(at + r->cq_off.tail);
	}
}

static bool is_within(const void *p, uintptr_t addr, size_t len)
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
		if (!is_within(r->sq_tail, at, len) &&
		    !is_within(r->cq_tail, at, len) &&
		    !is_within(r->sqes, at, len))
			continue;
		if (is_mapped(r))
			shim_ring_scan(r, shim_clock());
		shim_ring_end(r);
	}
}

/* Set the registered descriptors from @at on; -1: an empty slot. */
static void files_set(struct shim_ring *r, uint32_t at, const int *fd,
		      uint32_t n)
{
	long mem;

	if (at > FILES_MOST || n > FILES_MOST - at)
		return;
	if (!r->files) {
		mem = raw(SYS_mmap, 0, FILES_MOST * sizeof(*r->files),
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

/* The kernel has accepted the memory that is read here. */
void shim_ring_registered(struct shim_ring *r, unsigned int opcode,
			  const void *arg, unsigned int n)
{
	const struct io_uring_files_update *old = arg;
	const struct io_uring_rsrc_update2 *update = arg;
	const struct io_uring_rsrc_register *reg = arg;

	switch (opcode) {
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
		files_free(r);
		break;
	}
}

uint64_t shim_uring_before(long nr, const long a[6])
{
	struct shim_ring *r = shim_ring_find((int)a[0]);
	uint64_t start = shim_clock();

	if (nr == SYS_io_uring_enter) {
		if (!is_mapped(r))
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
			add_ring((int)r, (const struct io_uring_params *)a[1]);
	} else if (nr == SYS_io_uring_register) {
		if (ring && r >= 0)
			shim_ring_registered(ring, (unsigned int)a[1],
					     (const void *)a[2],
					     (unsigned int)a[3]);
	} else if (is_mapped(ring)) {
		shim_ring_scan(ring, end);
		shim_ring_record(CALL_IO_URING_ENTER, a[1], ring, start, end, r,
				 err);
	} else if (r > 0) {
		/* A ring of the parent, or one whose setup we did not see. */
		shim_count(REEL_LOST_LIMIT, (uint64_t)r);
	}
}

void shim_uring_finish(void)
{
	struct shim_ring *all = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; all && i < RINGS; i++) {
		struct shim_ring *r = &all[i];

		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != LIVE ||
		    !is_mapped(r) || !shim_readable(r->cq_tail, 4) ||
		    !shim_readable(r->cqes, 4))
			continue;
		shim_ring_scan(r, shim_clock());
		if (r->raw && shim_readable(r->sq_tail, 4))
			count_unseen(r);
		r->sq_seen = *r->sq_tail;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * liburing: its functions make system calls by instructions of their own, and
 * its inline functions make none. Its struct io_uring describes the rings,
 * which is enough. The setup functions are not wrapped, so that dlsym() finds
 * them only where liburing is loaded.
 */
#include "preload/async/operations.h"
#include "preload/async/uring.h"
#include "preload/core/symbols.h"

/* liburing's struct io_uring, the stable part of its layout. */
struct lib_sq {
	unsigned int *khead, *ktail, *kmask, *kentries, *kflags, *kdropped,
		*array;
	struct io_uring_sqe *sqes;
	unsigned int sqe_head, sqe_tail;
	size_t ring_sz;
	void *ring_ptr;
	unsigned int pad[4];
};
struct lib_cq {
	unsigned int *khead, *ktail, *kmask, *kentries, *kflags, *koverflow;
	struct io_uring_cqe *cqes;
	size_t ring_sz;
	void *ring_ptr;
	unsigned int pad[4];
};
struct io_uring {
	struct lib_sq sq;
	struct lib_cq cq;
	unsigned int flags;
	int fd;
};

/* Enter the entries that liburing has not submitted yet: their number. */
static uint32_t enter_entries(struct shim_ring *r, const struct io_uring *io,
			      uint64_t start)
{
	uint32_t n = io->sq.sqe_tail - io->sq.sqe_head, mask = *r->sq_mask;

	for (uint32_t i = 0; i < n && n <= mask + 1; i++)
		shim_ring_submit(r, (io->sq.sqe_head + i) & mask, start);
	return n;
}

static struct shim_ring *find_ring(const struct io_uring *io)
{
	struct shim_ring *r = shim_ring_find(io->fd);

	if (r && r->sq_tail == io->sq.ktail && r->sqes == (void *)io->sq.sqes)
		return r;
	if (r)
		shim_ring_end(r);
	if (!io->sq.ktail || !io->sq.sqes || !io->cq.ktail || !io->cq.cqes ||
	    io->flags & SHIM_RING_MIXED)
		return NULL;
	r = shim_ring_new(io->fd);
	if (!r)
		return NULL;
	r->flags = io->flags;
	r->sq_head = io->sq.khead;
	r->sq_tail = io->sq.ktail;
	r->sq_mask = io->sq.kmask;
	r->sqes = (void *)io->sq.sqes;
	r->cq_head = io->cq.khead;
	r->cq_tail = io->cq.ktail;
	r->cq_mask = io->cq.kmask;
	r->cqes = (void *)io->cq.cqes;
	r->cq_seen = *r->cq_head;
	shim_ring_ready(r);
	return r;
}

#define LIBURING(fn, call, ret, params, args)                                  \
	EXPORT ret fn params;                                                  \
	EXPORT ret fn params                                                   \
	{                                                                      \
		SHIM_FIND(fn, "liburing");                                     \
		uint64_t start, end;                                           \
		struct shim_ring *ring;                                        \
		uint32_t n;                                                    \
		ret r;                                                         \
                                                                               \
		ring = shim_hot.on && !quiet ? find_ring(io) : NULL;           \
		if (!ring)                                                     \
			return found args;                                     \
		start = shim_clock();                                          \
		n = enter_entries(ring, io, start);                            \
		shim_ring_scan(ring, start);                                   \
		r = found args;                                                \
		end = shim_clock();                                            \
		shim_ring_scan(ring, end);                                     \
		if ((call) && (int)r != -EAGAIN) /* a poll is no wait */       \
			shim_ring_record(call, n, ring, start, end, (int)r,    \
					 (int)r < 0 ? -(int)r : 0);            \
		return r;                                                      \
	}

LIBURING(io_uring_submit, CALL_IO_URING_SUBMIT, int, (struct io_uring * io),
	 (io))
LIBURING(io_uring_submit_and_wait, CALL_IO_URING_SUBMIT, int,
	 (struct io_uring * io, unsigned int wait), (io, wait))
LIBURING(io_uring_submit_and_wait_timeout, CALL_IO_URING_SUBMIT, int,
	 (struct io_uring * io, void *cqe, unsigned int wait, void *ts,
	  void *mask),
	 (io, cqe, wait, ts, mask))
LIBURING(io_uring_submit_and_get_events, CALL_IO_URING_SUBMIT, int,
	 (struct io_uring * io), (io))
LIBURING(__io_uring_get_cqe, CALL_IO_URING_WAIT, int,
	 (struct io_uring * io, void *cqe, unsigned int submit,
	  unsigned int wait, void *mask),
	 (io, cqe, submit, wait, mask))
LIBURING(io_uring_wait_cqe_timeout, CALL_IO_URING_WAIT, int,
	 (struct io_uring * io, void *cqe, void *ts), (io, cqe, ts))
LIBURING(io_uring_wait_cqes, CALL_IO_URING_WAIT, int,
	 (struct io_uring * io, void *cqe, unsigned int wait, void *ts,
	  void *mask),
	 (io, cqe, wait, ts, mask))
LIBURING(io_uring_get_events, CALL_IO_URING_WAIT, int, (struct io_uring * io),
	 (io))
LIBURING(io_uring_peek_batch_cqe, 0, unsigned int,
	 (struct io_uring * io, void *cqes, unsigned int count),
	 (io, cqes, count))

EXPORT int io_uring_queue_exit(struct io_uring *io);
EXPORT int io_uring_queue_exit(struct io_uring *io)
{
	SHIM_FIND(io_uring_queue_exit, "liburing");
	struct shim_ring *ring = shim_hot.on ? shim_ring_find(io->fd) : NULL;

	if (ring && !ring->raw) {
		shim_ring_scan(ring, shim_clock());
		shim_ring_end(ring);
	}
	return found(io);
}

#define REGISTER(fn, opcode, params, args, arg, n)                             \
	EXPORT int fn params;                                                  \
	EXPORT int fn params                                                   \
	{                                                                      \
		SHIM_FIND(fn, "liburing");                                     \
		struct shim_ring *ring;                                        \
		int r = found args;                                            \
                                                                               \
		if (!shim_hot.on || quiet || r < 0)                            \
			return r;                                              \
		ring = find_ring(io);                                          \
		if (ring)                                                      \
			shim_ring_registered(ring, opcode, arg, n);            \
		return r;                                                      \
	}
#define UPDATE(at, fds, n)                                                     \
	(&(struct io_uring_rsrc_update2){                                      \
		.offset = at, .data = (uintptr_t)(fds), .nr = n})

REGISTER(io_uring_register_files, IORING_REGISTER_FILES,
	 (struct io_uring * io, const int *fds, unsigned int n), (io, fds, n),
	 fds, n)
REGISTER(io_uring_register_files_tags, IORING_REGISTER_FILES,
	 (struct io_uring * io, const int *fds, const void *tags,
	  unsigned int n),
	 (io, fds, tags, n), fds, n)
REGISTER(io_uring_register_files_update, IORING_REGISTER_FILES_UPDATE2,
	 (struct io_uring * io, unsigned int at, const int *fds,
	  unsigned int n),
	 (io, at, fds, n), UPDATE(at, fds, n), n)
REGISTER(io_uring_register_files_update_tag, IORING_REGISTER_FILES_UPDATE2,
	 (struct io_uring * io, unsigned int at, const int *fds,
	  const void *tags, unsigned int n),
	 (io, at, fds, tags, n), UPDATE(at, fds, n), n)
REGISTER(io_uring_unregister_files, IORING_UNREGISTER_FILES,
	 (struct io_uring * io), (io), NULL, 0)

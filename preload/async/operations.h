/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous operations in flight: from their submission until the program
 * learns of their completion. POSIX aio, libaio, io_uring.
 *
 * An operation is entered before the real call, because another thread may see
 * its completion before that call returns. An operation that the call refuses
 * is removed again.
 */
#ifndef PRELOAD_ASYNC_OPERATIONS_H
#define PRELOAD_ASYNC_OPERATIONS_H

#include "preload/core/shim.h"

enum shim_async_kind {
	SHIM_ASYNC_READ,
	SHIM_ASYNC_WRITE,
	SHIM_ASYNC_SYNC,
	SHIM_ASYNC_OPEN, /* offset: the open flags */
	SHIM_ASYNC_CLOSE,
};

struct shim_async {
	uint64_t queue;	      /* context or ring; 0: POSIX aio has one queue */
	uint64_t key;	      /* by which the completion refers to it */
	uint64_t start;	      /* ticks */
	int64_t offset, size; /* or NONE */
	uint32_t desc;
	uint32_t depth; /* in flight in the queue, this one included */
	uint8_t by;	/* enum reel_async */
	uint8_t kind;	/* enum shim_async_kind */
};

/* Was any operation ever entered? */
extern int shim_async_used;

/* Enter @op and fill its depth. Counted as lost when the table is full. */
void shim_async_begin(struct shim_async *op);

/* Remove the operation from the table, to @op. False: it is not there. */
bool shim_async_take(enum reel_async by, uint64_t queue, uint64_t key,
		     struct shim_async *op);
bool shim_async_known(enum reel_async by, uint64_t queue, uint64_t key);

/* Remove a completed operation and record it; @result: bytes, or -errno. */
void shim_async_end(enum reel_async by, uint64_t queue, uint64_t key,
		    int64_t result, uint64_t end);

/* Remove all operations of @queue and record them as failed with @err. */
void shim_async_abandon(enum reel_async by, uint64_t queue, int err);
/* Operations in flight in @queue. */
uint32_t shim_async_depth(enum reel_async by, uint64_t queue);
/* The position in the completion ring of @queue, kept for its caller: 0 at
 * first and after fork. NULL: there are too many queues. */
uint32_t *shim_async_ring_pos(enum reel_async by, uint64_t queue);

/* The bytes of @iov, or NONE when it cannot be read. */
int64_t shim_async_iov(const void *iov, uint64_t n);

/*
 * The function @name that our @own interposes, perhaps visible only in the
 * scope of @caller (a return address); NULL: there is none. @quiet: do not
 * record its calls, because its file is not named @library, whose structures we
 * know, or because it calls syscall(), which is recorded itself. Calls dlsym():
 * use it once for each function.
 */
void *shim_find_from(const void *caller, const char *name, const void *own,
		     const char *library, bool *quiet);

/* Find the function @fn of @library; with @quiet its calls are not recorded in
 * its wrapper. Without it the wrapper fails with -ENOSYS. */
#define SHIM_FIND(fn, library)                                                 \
	static __typeof__(&fn) found;                                          \
	static bool quiet;                                                     \
                                                                               \
	if (unlikely(!found))                                                  \
		found = shim_find_from(__builtin_return_address(0), #fn, fn,   \
				       library, &quiet);                       \
	if (unlikely(!found))                                                  \
	return -ENOSYS

/*
 * System calls made through syscall(). Before: 0 when the call is not recorded,
 * else its start, which after takes.
 * @r and @err: the result of syscall(), and errno when that is -1.
 */
uint64_t shim_async_before(long nr, const long a[6]);
void shim_async_after(long nr, const long a[6], uint64_t start, uint64_t end,
		      long r, int err);

/* The parts of these two for libaio and io_uring. */
uint64_t shim_libaio_before(long nr, const long a[6]);
void shim_libaio_after(long nr, const long a[6], uint64_t start, uint64_t end,
		       long r, int err);
uint64_t shim_uring_before(long nr, const long a[6]);
void shim_uring_after(long nr, const long a[6], uint64_t start, uint64_t end,
		      long r, int err);

/* This thread has set up a ring: with IOREEL_COMPLETE=1 dispatch its system
 * calls from outside libc to us. */
void shim_dispatch_arm(void);
void shim_dispatch_ask(char **env); /* at process start: read the option */

/* Called by mmap/wrap.c: mmap() of a descriptor, which may be a ring, and
 * munmap(). */
extern int shim_rings_used;
void shim_uring_mapped(int fd, int64_t offset, void *addr, size_t len);
void shim_uring_unmapped(void *addr, size_t len);
void shim_uring_finish(void);
void shim_libaio_finish(uint64_t ctx);

/* At the end of the process: record the operations left in flight. May be
 * called more than once. */
void shim_async_finish(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Operations between their submission and the moment the program is told that
 * they are complete: POSIX aio, libaio, io_uring.
 *
 * An operation is entered before the real call, because another thread may be
 * told of its end before that call returns; what the call refused is taken out
 * again.
 */
#ifndef PRELOAD_ASYNC_OPERATIONS_H
#define PRELOAD_ASYNC_OPERATIONS_H

#include "preload/core/shim.h"

enum shim_async_what {
	SHIM_ASYNC_READ,
	SHIM_ASYNC_WRITE,
	SHIM_ASYNC_SYNC,
	SHIM_ASYNC_OPEN, /* offset: its flags */
	SHIM_ASYNC_CLOSE,
};

struct shim_async {
	uint64_t queue;	      /* context or ring; 0: the process's only one */
	uint64_t key;	      /* what the completion will name */
	uint64_t start;	      /* ticks */
	int64_t offset, size; /* or NONE */
	uint32_t desc;
	uint32_t depth; /* in flight in the queue, this one included */
	uint8_t by;	/* enum reel_async */
	uint8_t what;	/* enum shim_async_what */
};

/* Any operation ever entered? */
extern int shim_async_used;

/* Enter @op; its depth is filled. Counted as lost when there is no room. */
void shim_async_begin(struct shim_async *op);

/* Take the operation out. False: it is not known. */
bool shim_async_take(enum reel_async by, uint64_t queue, uint64_t key,
		     struct shim_async *op);
bool shim_async_known(enum reel_async by, uint64_t queue, uint64_t key);

/* The program was told: @result as the kernel gives it, or -errno. */
void shim_async_told(enum reel_async by, uint64_t queue, uint64_t key,
		     int64_t result, uint64_t end);

/* All that is left in @queue will never be told: @err. */
void shim_async_leave(enum reel_async by, uint64_t queue, int err);
uint32_t shim_async_depth(enum reel_async by, uint64_t queue);
/* A number of the queue's that is 0 at first and after fork, for whoever follows
 * its ring; NULL: there are too many queues. */
uint32_t *shim_async_place(enum reel_async by, uint64_t queue);

/* The bytes of @iov, or NONE where it cannot be read. */
int64_t shim_async_iov(const void *iov, uint64_t n);

/*
 * The function @name behind @own, that may lie in the scope of @caller (a
 * return address) alone; NULL: there is none. @quiet: its calls are not to be
 * recorded, as it is not of a file called @library, whose memory we know, or
 * as it makes them through syscall(), where they are seen anyway. Runs
 * dlsym(): once for each function.
 */
void *shim_find_from(const void *caller, const char *name, const void *own,
		     const char *library, bool *quiet);

/*
 * System calls made through syscall(). Before: 0 when the call is none of
 * ours, then it is made and nothing else; otherwise its start, for after.
 * @r and @err: what syscall() returned, and errno when it returned -1.
 */
uint64_t shim_async_before(long nr, const long a[6]);
void shim_async_after(long nr, const long a[6], uint64_t start, uint64_t end,
		      long r, int err);

/* Parts of those two, by their files. */
uint64_t shim_libaio_before(long nr, const long a[6]);
void shim_libaio_after(long nr, const long a[6], uint64_t start, uint64_t end,
		       long r, int err);
uint64_t shim_uring_before(long nr, const long a[6]);
void shim_uring_after(long nr, const long a[6], uint64_t start, uint64_t end,
		      long r, int err);

/* This thread has set a ring up: see its own system calls, if that was asked
 * for by IOREEL_COMPLETE=1. */
void shim_dispatch_arm(void);
void shim_dispatch_ask(char **env); /* was it? as a process starts */

/* mmap() of what may be a ring, and munmap(); wrap_map.c calls. */
extern int shim_rings_used;
void shim_uring_mapped(int fd, int64_t offset, void *addr, size_t len);
void shim_uring_unmapped(void *addr, size_t len);
void shim_uring_finish(void);
void shim_libaio_finish(uint64_t ctx);

/* A note "@key=@n" of the process. */
void shim_note(const char *key, uint64_t n);

/* The process ends: what was never told. May be called more than once. */
void shim_async_finish(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Inside the shim: state, and the hot path that every wrapper inlines.
 *
 * Read STYLE.md 5 before any change here. The one thing to know: between the
 * two clock reads nothing happens but the real call, and after it a record is
 * appended to this thread's window by plain stores; everything that may block,
 * fail or be slow is in shim_slow() (window.c).
 *
 * Fork safety rests on memory, not on handlers: struct shim_thread lies on
 * MADV_WIPEONFORK pages, so a forked child finds limit == NULL and goes the
 * slow way, which starts a log of its own. The descriptor table is ordinary
 * memory: a child inherits it as it inherits the descriptors.
 */
#ifndef PRELOAD_SHIM_H
#define PRELOAD_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "schemas/trace_format.h"

#define EXPORT __attribute__((visibility("default")))
#define HOT static inline __attribute__((always_inline))
#define COLD __attribute__((noinline, cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define NONE INT64_MIN /* a field that the call does not have */
#define NOFD (-2)      /* a call without a descriptor */

/* A record without paths never needs more than this. */
#define SHIM_RECORD_MAX 160

/* Descriptor table entries; ids of descriptors start at SHIM_DESC_FIRST. */
#define SHIM_FD_UNKNOWN 0 /* never seen: look at /proc/self/fd */
#define SHIM_FD_CODE 1    /* code, system or excluded file: counted only */
#define SHIM_FD_IGNORE 2  /* terminal, eventfd ...: not even counted */
#define SHIM_DESC_FIRST 16
#define SHIM_FDS (1 << 20)

/* One thread, on wiped-on-fork pages. */
struct shim_thread {
	uint8_t *p;     /* next byte to write, NULL: no window */
	uint8_t *limit; /* a record without paths may start below it */
	uint8_t *end;   /* end of the usable window */
	struct reel_block_head *block;
	uint64_t last_end; /* ticks */
	int64_t next_offset;
	uint64_t last_size;
	uint32_t last_desc;
	uint32_t events;   /* in this block */
	void *volatile busy; /* frame that is writing a record, NULL: none */
	uint32_t owner;    /* tid, 0: the slot is free */
	uint32_t serial;   /* of the thread in the process */
	uint32_t seq;
	uint32_t lost;
	uint32_t usable;   /* bytes of the slot that the file system gave */
	uint32_t path_len; /* of path */
	char path[REEL_PATH_SHARED]; /* the previous path of the block */
};

/* The process. Ordinary memory: what a forked child finds is its parent's. */
struct shim_state {
	int on;            /* record at all */
	int tsc;           /* clock: TSC, else CLOCK_MONOTONIC */
	int all;           /* code files too */
	int globs;         /* include or exclude patterns are set */
	uint32_t next_desc;
	uint32_t next_serial;
	uint32_t fd_high;  /* highest number entered in the table */
	uint32_t pid;      /* that opened the log */
	uint64_t uid;
	uint64_t fork_ticks; /* set around fork() in the parent */
	uint32_t fork_tid;
	/*
	 * Slots of this process are threads[slots_base .. slots_high). A child
	 * starts above its parent's: the thread that forked still points at
	 * its old, wiped state, which nobody else may be given.
	 */
	uint32_t slots_base, slots_high;
	struct shim_thread *threads; /* the wiped arena; [0] is the process's */
	struct reel_head *head; /* first page of the window, NULL: none */
	struct reel_counts *counts;
	const char *include, *exclude; /* newline-separated globs or NULL */
	char *dir;         /* the trace directory, absolute */
	size_t dir_len;
	char stem[64];     /* "3141.1" */
	char cwd[REEL_PATH_BYTES];
};

extern struct shim_state shim;
extern uint32_t shim_fds[SHIM_FDS];
extern _Thread_local struct shim_thread *shim_tls
	__attribute__((tls_model("initial-exec")));
extern _Thread_local char shim_vforked __attribute__((tls_model("initial-exec")));

/* What a wrapper says of its call. */
struct shim_event {
	uint32_t call;
	uint32_t desc;
	int64_t size, offset, arg, arg2, pos;
	uint32_t newdesc;
	int32_t newfd;
	const char *path, *path2, *text;
	int at, at2;           /* descriptors; AT_FDCWD when there is none */
	const void *st;        /* struct stat that a success filled */
	const void *iov;
	int iovs;
};
#define SHIM_EVENT_NONE                                                        \
	.size = NONE, .offset = NONE, .arg = NONE, .arg2 = NONE, .pos = NONE,  \
	.at = AT_FDCWD, .at2 = AT_FDCWD

/* --- slow half: window.c, process.c, files.c ----------------------------- */

/*
 * A thread state with room for @bytes more, or NULL: the event is lost and has
 * been counted. Called when the fast test failed, for whatever reason.
 */
COLD struct shim_thread *shim_slow(size_t bytes);

/* Count @n in the process's head and, without one, in job.counts. */
void shim_count(enum reel_counter which, uint64_t n);

/* Look at an unknown descriptor: its table entry afterwards (never 0). */
COLD uint32_t shim_learn(int fd);

/* A call on a path that is counted only? @at: the directory's descriptor. */
bool shim_is_code(const char *path, size_t len, bool reading);

/* Append a record with paths, arguments, marks; ticks of @end. */
void shim_record_full(const struct shim_event *ev, uint64_t start, uint64_t end,
		      int64_t result, int err);

/* A new descriptor id for @fd of this process, entered in the table. */
uint32_t shim_desc_new(int fd);
void shim_fd_set(int fd, uint32_t entry);
uint32_t shim_fd_take(int fd); /* the entry before; the entry becomes unknown */

void shim_cwd_changed(void); /* after chdir */
bool shim_vfork_child(void); /* true in a vfork child: leave tables alone */
void shim_finish(void);      /* flush, when the process ends */

/* --- fast half ------------------------------------------------------------ */

HOT uint64_t shim_clock(void)
{
#if defined(__x86_64__)
	if (likely(shim.tsc))
		return __builtin_ia32_rdtsc();
#endif
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The table's entry: SHIM_FD_*, or a descriptor id. */
HOT uint32_t shim_fd(int fd)
{
	if (unlikely((unsigned int)fd >= SHIM_FDS))
		return SHIM_FD_IGNORE;
	uint32_t e = __atomic_load_n(&shim_fds[fd], __ATOMIC_RELAXED);

	return likely(e != SHIM_FD_UNKNOWN) ? e : shim_learn(fd);
}

HOT bool shim_is_desc(uint32_t entry)
{
	return entry >= SHIM_DESC_FIRST;
}

HOT uint64_t shim_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

HOT uint8_t *shim_put(uint8_t *p, uint64_t v)
{
	while (unlikely(v >= 0x80)) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* The same for values that mostly take two bytes: durations, times. */
HOT uint8_t *shim_put2(uint8_t *p, uint64_t v)
{
	if (likely(v < 0x4000)) {
		if (v < 0x80) {
			*p = (uint8_t)v;
			return p + 1;
		}
		p[0] = (uint8_t)(v | 0x80);
		p[1] = (uint8_t)(v >> 7);
		return p + 2;
	}
	return shim_put(p, v);
}

/* Thread state with room for @bytes, fast when all is as it was. */
HOT struct shim_thread *shim_room(size_t bytes)
{
	struct shim_thread *t = shim_tls;

	if (likely(t && t->p + (bytes - SHIM_RECORD_MAX) < t->limit && !t->busy))
		return t;
	return shim_slow(bytes);
}

#define shim_barrier() __asm__ volatile("" ::: "memory")

/*
 * The record of a call on a descriptor with at most a size, an offset, and a
 * result: inlined, so that absent fields cost nothing.
 */
HOT void shim_record_io(uint32_t call, uint32_t desc, int64_t size,
			int64_t offset, uint64_t start, uint64_t end,
			int64_t result, int err)
{
	struct shim_thread *t = shim_room(SHIM_RECORD_MAX);
	uint8_t *p, *flags_at, flags = 0;
	int64_t expected = size == NONE ? 0 : size;

	if (unlikely(!t))
		return;
	t->busy = __builtin_frame_address(0);
	shim_barrier();
	p = t->p;
	*p++ = (uint8_t)call; /* ids of these calls are below REEL_CALL_WIDE */
	flags_at = p++;
	if (unlikely(end < t->last_end))
		end = t->last_end; /* another core's clock, some 10 ns behind */
	p = shim_put2(p, end - t->last_end);
	t->last_end = end;
	p = shim_put2(p, end > start ? end - start : 0);
	if (desc == t->last_desc) {
		flags |= REEL_F_DESC_SAME;
	} else {
		flags |= REEL_F_DESC_NEW;
		t->last_desc = desc;
		p = shim_put(p, desc);
	}
	if (offset != NONE) {
		flags |= REEL_F_OFFSET;
		p = shim_put(p, shim_zigzag((int64_t)((uint64_t)offset -
						      (uint64_t)t->next_offset)));
		t->next_offset = (int64_t)((uint64_t)offset +
					   (uint64_t)expected);
	}
	if (size != NONE) {
		if ((uint64_t)size == t->last_size) {
			flags |= REEL_F_SIZE_SAME;
		} else {
			flags |= REEL_F_SIZE_NEW;
			t->last_size = (uint64_t)size;
			p = shim_put(p, (uint64_t)size);
		}
	}
	if (unlikely(err)) {
		flags |= REEL_F_RES_ERROR;
		p = shim_put(p, (uint64_t)err);
	} else if (result != expected) {
		if (result == 0) {
			flags |= REEL_F_RES_ZERO;
		} else {
			flags |= REEL_F_RES_OTHER;
			p = shim_put(p, shim_zigzag(result));
		}
	}
	*flags_at = flags;
	t->p = p;
	t->events++;
	__atomic_store_n(&t->block->used,
			 (uint32_t)(p - (uint8_t *)(t->block + 1)),
			 __ATOMIC_RELEASE);
	shim_barrier();
	t->busy = NULL;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Inside the shim: state, and the hot path that every wrapper inlines.
 *
 * A guest: no output, no exit, no signal handler, no descriptor held, errno as
 * the real call left it; no malloc, lock, stdio or dlsym in a wrapper; nothing
 * held across the real call, which may never return; the caller's memory read
 * only after the real call accepted it; everything safe in a signal handler.
 * In trouble events are lost, counted. The one thing to know: between the
 * two clock reads nothing happens but the real call, and after it a record is
 * appended to this thread's window by plain stores; everything that may block,
 * fail or be slow is in shim_slow() (window.c).
 *
 * Fork safety rests on memory, not on handlers: struct shim_thread lies on
 * MADV_WIPEONFORK pages, so a forked child finds limit == NULL and goes the
 * slow way, which starts a log of its own. The descriptor table is ordinary
 * memory: a child inherits it as it inherits the descriptors.
 */
#ifndef PRELOAD_CORE_SHIM_H
#define PRELOAD_CORE_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "schemas/trace_format.h"

/* -fvisibility says it of definitions only: declared elsewhere, each would be
 * reached through the global offset table, whose entries take registers. */
#pragma GCC visibility push(hidden)

#define EXPORT __attribute__((visibility("default")))
#define FAST EXPORT __attribute__((hot, aligned(64)))
/*
 * A system call leaves little of ours in the caches of code, branches and
 * pages, and what is left depends on where in its page a function lies: by
 * that alone recording a stat costs 24 ns or 42. So the frequent wrappers and
 * records lie together, in the order of these names, which the linker sorts, and
 * what is changed elsewhere does not move them. The bytes before a group are those at which
 * "make bench" was quickest (Linux 6, AMD Zen); they cost nothing anywhere.
 */
#define PLACED(order) __attribute__((section(".text.sorted.ioreel." order)))
#define PLACES_BEGIN(order, bytes)                                             \
	__asm__(".pushsection .text.sorted.ioreel." order                      \
		",\"ax\",%progbits\n.balign 4096\n.skip " bytes                \
		"\n.popsection")
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
#define SHIM_FD_CODE 1	  /* code, system or excluded file: counted only */
#define SHIM_FD_IGNORE 2  /* terminal, eventfd ...: not even counted */
#define SHIM_FD_PARENTS 3 /* recorded by the parent, without an id here yet */
#define SHIM_FD_DIR 4	  /* as SHIM_FD_CODE, and its name is stored: dir.c */
#define SHIM_DESC_FIRST 16
#define SHIM_FDS (1 << 20)

/*
 * Small transfers of one stream that one record tells of (stream.h), as long
 * as that record is the thread's last.
 */
struct shim_run {
	const void *stream; /* whose, NULL: there is none */
	uint8_t *end;	    /* of the record */
	uint64_t before;    /* last_end at its beginning */
	uint64_t dur;	    /* ticks, estimated */
	uint32_t call, bytes, count;
	uint32_t timed; /* the count at which the clock is read next */
};

/*
 * One thread, on wiped-on-fork pages. What a plain record touches is one cache
 * line: after a system call the caches are the kernel's.
 */
struct shim_thread {
	uint8_t *p; /* next byte to write, NULL: no window */
	/*
	 * A record without paths may start below it. Negative while a record is
	 * being written (shim_busy()), so that the one test of the hot path
	 * meets a signal handler too.
	 */
	intptr_t limit;
	intptr_t room; /* what limit is between records */
	struct reel_block_head *block;
	uint64_t last_end; /* ticks */
	int64_t next_offset;
	uint64_t last_size;
	uint32_t last_desc;
	uint32_t events; /* in this block */

	uint32_t owner;	 /* tid, 0: the slot is free */
	uint32_t serial; /* of the thread in the process */
	uint32_t seq;
	uint32_t lost;
	uint32_t usable; /* bytes of the slot that the file system gave */
	uint64_t sectors, faults;	/* at the last look: storage.c */
	struct shim_counters *counters; /* counters.c; NULL: none */
	struct shim_run run;

	/* What a record with a path touches besides; name.h. */
	uint32_t desc_next __attribute__((aligned(64))); /* ids that this */
	uint32_t desc_end; /* thread may give out */
	uint32_t path_len; /* of path */
	uint32_t data_dir; /* 1 + the part of path that is a directory known as
			    * one of data; 0: none is */
	uint64_t plain_ends; /* of a name that is none of code: name.h */
	char path[REEL_PATH_SHARED + 16]; /* the previous path of the block */
} __attribute__((aligned(64)));

/* The process. Ordinary memory: what a forked child finds is its parent's. */
struct shim_state {
	int all;    /* code files too */
	int globs;  /* include or exclude patterns are set */
	int strict; /* no byte past a name's end may be looked at */
	uint32_t next_desc;
	uint32_t next_serial;
	uint32_t pid; /* that opened the log */
	uint64_t uid;
	uint64_t fork_ticks; /* of the fork that made this process, until its */
	uint32_t fork_tid;   /* head has them; the parent's thread; 0: none */
	/*
	 * Slots of this process are threads[slots_base .. slots_high). A child
	 * starts above its parent's: the thread that forked still points at
	 * its old, wiped state, which nobody else may be given.
	 */
	uint32_t slots_base, slots_high;
	uint64_t no_window_until;    /* ticks */
	struct shim_thread *threads; /* the wiped arena; [0] is the process's */
	struct reel_head *head;	     /* first page of the window, NULL: none */
	bool orphan; /* the window's name is gone: nobody will read the head */
	struct reel_counts *counts;
	const char *include, *exclude; /* newline-separated globs or NULL */
	char *dir;		       /* the trace directory, absolute */
	size_t dir_len;
	char stem[64]; /* "3141.1" */
	char cwd[REEL_PATH_BYTES];
};

extern struct shim_state shim;

/*
 * What every call looks at before it is made, in one cache line for the low
 * descriptors.
 */
struct shim_hot {
	int on;		  /* enum reel_clock; 0: record nothing */
	int clock;	  /* what on will be, and was */
	intptr_t tls;	  /* of shim_tls, from the thread pointer */
	uint32_t fd_high; /* highest number entered in the table */
	uint32_t temps;	  /* files that temp.h knows are open */
	uint32_t fd[SHIM_FDS];
} __attribute__((aligned(64)));
extern struct shim_hot shim_hot;
extern struct shim_thread shim_no_thread; /* what a new thread points at */

/* What a thread has of its own. */
#define SHIM_CLONED 2
struct shim_tls {
	struct shim_thread *thread;
	intptr_t claiming;   /* shim_busy(), 0: it is not */
	intptr_t vforked;    /* this thread's vfork child may be running, or,
			    * SHIM_CLONED, one that shares its memory for good */
	uint64_t fork_ticks; /* of the fork that this thread is making */
	uint32_t fork_tid;   /* its own number; the child finds the parent's */
};
extern _Thread_local struct shim_tls shim_tls
	__attribute__((tls_model("initial-exec")));

/* What a wrapper says of its call. */
struct shim_event {
	uint32_t call;
	uint32_t desc;
	int64_t size, offset, arg, arg2, pos;
	uint32_t newdesc;
	int32_t newfd;
	bool bad_fd; /* EBADF: newfd is no descriptor, newdesc is 0 */
	const char *path, *path2, *text;
	uint32_t path_len; /* of path, 0: not counted */
	uint32_t data_dir; /* of path: see struct shim_thread; or 0 */
	int at, at2;	   /* descriptors; AT_FDCWD when there is none */
	const void *st;	   /* struct stat, or statx, that a success filled */
	const void *out;   /* what the call fills, out_bytes of it */
	size_t out_bytes;
	const void *memory; /* of a read or write, REEL_PLACE_BYTES */
	const void *iov;
	int iovs;
};
#define SHIM_EVENT_NONE                                                        \
	.size = NONE, .offset = NONE, .arg = NONE, .arg2 = NONE, .pos = NONE,  \
	.at = AT_FDCWD, .at2 = AT_FDCWD

/* --- slow half: window.c, process.c, files.c ----------------------------- */

/*
 * A thread state, busy, with room for @bytes more, or NULL: the event is lost and has
 * been counted. Called when the fast test failed, for whatever reason. @start
 * of the event: the base of a new thread's times.
 */
COLD struct shim_thread *shim_slow(size_t bytes, uint64_t start);

/* Count @n in the process's head and, without one, in job.counts. */
void shim_count(enum reel_counter which, uint64_t n);

/* Look at a descriptor with entry @e: its entry afterwards, never unknown. */
COLD uint32_t shim_fd_slow(int fd, uint32_t e);

/* A call on a path, relative to the working directory, that is counted only? */
bool shim_is_code(const char *path, size_t len, bool reading);

/* Append a record with paths, arguments, marks; ticks of @end. */
void shim_record_full(const struct shim_event *ev, uint64_t start, uint64_t end,
		      int64_t result, int err);

/* A new descriptor id for @fd of this process, entered in the table. */
uint32_t shim_desc_new(int fd);
void shim_fd_set(int fd, uint32_t entry);
uint32_t shim_fd_take(int fd); /* the entry before; the entry becomes unknown */
/* Before they are closed together: ids for those that a parent recorded. */
void shim_fd_name(unsigned int first, unsigned int last);

void shim_cwd_changed(void); /* after chdir */
bool shim_vfork_child(void); /* true in a vfork child: leave tables alone */
void shim_cloned(void); /* a child is to have this thread's memory and state */
void shim_finish(void); /* flush, when the process ends */
void shim_start(char **env);  /* once: decide whether to record, and begin */
void shim_syscall_find(void); /* syscall() of libc */
/* Is this glibc? Another C library gives constructors no environment. */
bool shim_at_home(void);
/* The value of @name in @env; NULL: it is not set, or empty. */
const char *shim_env(char **env, const char *name);

/* --- fast half ------------------------------------------------------------ */

/* Recording, by the counter that shim_ticks() reads? */
HOT bool shim_hot_clock(void)
{
#if defined(__x86_64__)
	return shim_hot.on == REEL_CLOCK_TSC;
#else
	return false;
#endif
}

HOT uint64_t shim_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

HOT uint64_t shim_clock(void)
{
	if (likely(shim_hot.clock == REEL_CLOCK_TSC))
		return shim_ticks();
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#define shim_barrier() __asm__ volatile("" ::: "memory")

/* Where the stack is: no frame pointer is forced on the hot path. */
HOT intptr_t shim_frame(void)
{
	intptr_t sp;

#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %0" : "=r"(sp));
#else
	__asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
	return sp;
}

/* What the mark of a busy thread is: negative, and tells where the stack was. */
HOT intptr_t shim_busy(void)
{
	return ~shim_frame();
}

/* The table's entry as it is. */
HOT uint32_t shim_fd_entry(int fd)
{
	if (unlikely((unsigned int)fd >= SHIM_FDS))
		return SHIM_FD_UNKNOWN;
	return __atomic_load_n(&shim_hot.fd[fd], __ATOMIC_RELAXED);
}

/* The table's entry, looked for where it is not known: SHIM_FD_IGNORE, _CODE or
 * _DIR, or a descriptor id. */
HOT uint32_t shim_fd(int fd)
{
	uint32_t e = shim_fd_entry(fd);

	return likely(e >= SHIM_DESC_FIRST) ? e : shim_fd_slow(fd, e);
}

/* A parameter that its declaration promises is not NULL, and may be. */
HOT bool shim_null(const void *p)
{
	__asm__("" : "+r"(p));
	return !p;
}

HOT bool shim_is_desc(uint32_t entry)
{
	return entry >= SHIM_DESC_FIRST;
}

/* A file of code, of the system, or excluded: its calls are only counted. */
HOT bool shim_is_counted(uint32_t entry)
{
	return entry == SHIM_FD_CODE || entry == SHIM_FD_DIR;
}

HOT void shim_fd_enter(int fd, uint32_t entry)
{
	if ((uint32_t)fd > shim_hot.fd_high)
		shim_hot.fd_high = (uint32_t)fd;
	__atomic_store_n(&shim_hot.fd[fd], entry, __ATOMIC_RELEASE);
}

HOT void shim_fd_leave(int fd)
{
	__atomic_store_n(&shim_hot.fd[fd], SHIM_FD_UNKNOWN, __ATOMIC_RELAXED);
}

/*
 * The next of the thread's ids, in one instruction: a signal handler may take
 * one too. No lock: another thread has its own. From desc_end on it is none.
 */
HOT uint32_t shim_next_id(struct shim_thread *t)
{
#if defined(__x86_64__)
	uint32_t id = 1;

	__asm__ volatile("xaddl %0, %1" : "+r"(id), "+m"(t->desc_next));
	return id;
#else
	return __atomic_fetch_add(&t->desc_next, 1, __ATOMIC_RELAXED);
#endif
}

HOT uint64_t shim_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

HOT uint64_t shim_load(const char *p)
{
	uint64_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	return word;
}

/* How many of the first @n bytes are the same. Words, the last one over the
 * one before: after a system call each end of a loop is a wrong guess. */
HOT size_t shim_same_bytes(const char *a, const char *b, size_t n)
{
	uint64_t odd;
	size_t i = 0;

	if (n >= 8) {
		for (; i < n - 8; i += 8) {
			odd = shim_load(a + i) ^ shim_load(b + i);
			if (odd)
				return i + (size_t)__builtin_ctzll(odd) / 8;
		}
		odd = shim_load(a + n - 8) ^ shim_load(b + n - 8);
		return odd ? n - 8 + (size_t)__builtin_ctzll(odd) / 8 : n;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

HOT void shim_store(uint8_t *p, uint64_t word)
{
	__builtin_memcpy(p, &word, sizeof(word));
}

HOT void shim_store32(uint8_t *p, uint32_t word)
{
	__builtin_memcpy(p, &word, sizeof(word));
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

/*
 * Two times below 2^14 in two bytes each, which is how nearly all are written:
 * a longer form than need be of a small number is valid.
 */
#define SHIM_SHORT_TIME 0x4000
HOT uint64_t shim_times(uint64_t delta, uint64_t dur)
{
	uint32_t both = (uint32_t)delta | (uint32_t)dur << 16;

	return (both & 0x7f007f) | (both & 0x3f803f80) << 1 | 0x800080;
}

HOT uint8_t *shim_put_times(uint8_t *p, uint64_t delta, uint64_t dur)
{
	if (likely((delta | dur) < SHIM_SHORT_TIME)) {
		shim_store32(p, (uint32_t)shim_times(delta, dur));
		return p + 4;
	}
	return shim_put(shim_put(p, delta), dur);
}

/* The same of a record of @t. Another core's clock may be some 10 ns behind:
 * times never run back. */
HOT uint8_t *shim_put_span(struct shim_thread *t, uint8_t *p, uint64_t start,
			   uint64_t end)
{
	uint64_t last = t->last_end;

	if (end < last)
		end = last;
	t->last_end = end;
	return shim_put_times(p, end - last, end > start ? end - start : 0);
}

/* shim_tls.thread, without the global offset table's cache line. */
HOT struct shim_thread *shim_self(void)
{
#if defined(__x86_64__)
	struct shim_thread *t;

	__asm__("movq %%fs:(%1), %0" : "=r"(t) : "r"(shim_hot.tls));
	return t;
#else
	return shim_tls.thread;
#endif
}

/* shim_tls.vforked, likewise. */
HOT bool shim_vforked(void)
{
#if defined(__x86_64__)
	intptr_t is;

	__asm__ volatile("movq %%fs:%c2(%1), %0"
			 : "=r"(is)
			 : "r"(shim_hot.tls),
			   "i"(offsetof(struct shim_tls, vforked)));
	return is;
#else
	return shim_tls.vforked;
#endif
}

/*
 * This thread's state, busy, ready for a record of @bytes at most; NULL: lost.
 * The mark comes before all that a signal handler's record would change.
 */
HOT struct shim_thread *shim_begin(size_t bytes, uint64_t start)
{
	struct shim_thread *t = shim_self();
	intptr_t limit = t->limit;

	if (likely(limit > 0)) {
		t->limit = shim_busy();
		shim_barrier();
		if (likely((intptr_t)t->p +
				   (intptr_t)(bytes - SHIM_RECORD_MAX) <
			   limit))
			return t;
		t->limit = limit;
	}
	return shim_slow(bytes, start);
}

/* The same of @t, for a record of the usual kind only; false: not the usual
 * way, and not busy. */
HOT bool shim_begin_short(struct shim_thread *t)
{
	intptr_t limit = t->limit;

	if (unlikely(limit <= 0))
		return false;
	t->limit = shim_busy();
	shim_barrier();
	if (likely((intptr_t)t->p < limit))
		return true;
	t->limit = limit;
	return false;
}

/*
 * The record ends at @p. It is there once its first byte is not 0, which the
 * caller stores last: a count of bytes in the block's head would cost another
 * cache line, 8 ns.
 */
HOT void shim_end(struct shim_thread *t, uint8_t *p)
{
	t->p = p;
	t->events++;
	shim_barrier();
	t->limit = t->room;
}

/* The record of the times at t->p + SHIM_HEAD ends at @p: now its first bytes,
 * the very first one last. */
#define SHIM_HEAD 3
HOT void shim_end_short(struct shim_thread *t, uint8_t *p, uint32_t call,
			unsigned int flags, unsigned int more)
{
	uint8_t *head = t->p;

	head[2] = (uint8_t)more;
	head[1] = (uint8_t)(flags | REEL_F_MORE);
	shim_barrier();
	head[0] = (uint8_t)call;
	shim_end(t, p);
}

/* Whether it is there is known when the call is compiled; where the compiler
 * does not see it, a field may be there and NONE. */
#define HAS(field) (!(__builtin_constant_p(field) && (field) == NONE))

/* All that is not usual; record.c. @err may be SHIM_ERRNO: errno, where @result
 * is negative. */
#define SHIM_ERRNO (-1)
void shim_record_odd(uint32_t call, uint32_t desc, int64_t size, int64_t offset,
		     uint64_t start, uint64_t end, int64_t result, int err);

/*
 * The record of a call on a descriptor with at most a size, an offset, and a
 * result: inlined, so that absent fields, which are the constant NONE, cost
 * nothing. @call is no mark, and below REEL_CALL_WIDE. Where @err is an error,
 * @result must differ from the size asked (0 when there is none). The usual
 * record repeats descriptor and size of the one before, did what it was asked,
 * and took microseconds: two tests, one store of six bytes, and the offset.
 */
HOT void shim_record_io(uint32_t call, uint32_t desc, int64_t size,
			int64_t offset, uint64_t start, uint64_t end,
			int64_t result, int err)
{
	int64_t expected = HAS(size) ? size : 0;
	struct shim_thread *t = shim_self();
	intptr_t limit = t->limit;
	uint64_t delta, dur = end - start, z = 0, first, odd;
	uint8_t *p;

	if (unlikely(limit <= 0))
		goto unusual;
	t->limit = shim_busy();
	shim_barrier();
	p = t->p;
	delta = end - t->last_end;
	odd = (delta | dur) / SHIM_SHORT_TIME | (t->last_desc ^ desc) |
	      (uint64_t)(result ^ expected);
	if (HAS(size))
		odd |= t->last_size ^ (uint64_t)size;
	if (HAS(offset)) {
		z = shim_zigzag(
			(int64_t)((uint64_t)offset - (uint64_t)t->next_offset));
		odd |= z >= 0x80 && offset == NONE;
	}
	if (unlikely(odd || (intptr_t)p >= limit)) {
		t->limit = limit;
		goto unusual;
	}
	t->last_end = end;
	first = call | (REEL_F_DESC_SAME | (HAS(size) ? REEL_F_SIZE_SAME : 0) |
			(HAS(offset) ? REEL_F_OFFSET : 0))
			       << 8;
	first |= shim_times(delta, dur) << 16;
	if (HAS(offset))
		t->next_offset =
			(int64_t)((uint64_t)offset + (uint64_t)expected);
	if (likely(z < 0x80)) { /* all of it in one store */
		shim_store(p, z << 48 | first);
		p += HAS(offset) ? 7 : 6;
	} else {
		uint8_t *next = shim_put(p + 6, z);

		shim_store32(p + 2, (uint32_t)(first >> 16));
		shim_barrier();
		p[1] = (uint8_t)(first >> 8);
		shim_barrier();
		p[0] = (uint8_t)first;
		p = next;
	}
	t->p = p;
	t->events++;
	shim_barrier();
	t->limit = limit;
	return;
unusual:
	shim_record_odd(call, desc, size, offset, start, end, result, err);
}

/*
 * The same of a call that has no size, and of what is known when it is compiled
 * an offset, a whence or the like (@arg), a file's size (@pos): one that did
 * not fail. False: nothing was written, it is one for shim_record_full().
 */
HOT bool shim_record_more(uint32_t call, uint32_t desc, int64_t offset,
			  int64_t arg, int64_t pos, uint64_t start,
			  uint64_t end, int64_t result)
{
	struct shim_thread *t = shim_self();
	unsigned int flags = REEL_F_DESC_SAME, more = 0;
	uint8_t *p;

	if (unlikely(!shim_begin_short(t)))
		return false;
	p = shim_put_span(t, t->p + SHIM_HEAD, start, end);
	if (unlikely(t->last_desc != desc)) {
		flags = REEL_F_DESC_NEW;
		p = shim_put(p, desc);
		t->last_desc = desc;
	}
	if (HAS(offset) && offset != NONE) {
		flags |= REEL_F_OFFSET;
		p = shim_put(p,
			     shim_zigzag((int64_t)((uint64_t)offset -
						   (uint64_t)t->next_offset)));
		t->next_offset = offset;
	}
	if (result) {
		flags |= REEL_F_RES_OTHER;
		p = shim_put(p, shim_zigzag(result));
	}
	if (HAS(arg) && arg != NONE) {
		more |= REEL_M_ARG;
		p = shim_put(p, shim_zigzag(arg));
	}
	if (HAS(pos) && pos != NONE) {
		more |= REEL_M_POS;
		p = shim_put(p, (uint64_t)pos);
	}
	shim_end_short(t, p, call, flags, more);
	return true;
}

#pragma GCC visibility pop

#endif

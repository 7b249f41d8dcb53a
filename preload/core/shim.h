/* SPDX-License-Identifier: MIT */
/*
 * The hot path that every wrapper inlines, and the slow paths behind it.
 *
 * The shim is a guest: no output, no exit, no signal handler, no descriptor
 * held, errno as the real call left it; no malloc, lock, stdio or dlsym in a
 * wrapper; nothing held across the real call, which may never return; the
 * caller's memory read only after the real call accepted it; everything safe in
 * a signal handler. In trouble events are lost, and counted. The one thing to
 * know: nothing happens between the two clock reads but the real call, and
 * after it a record is appended to this thread's window by plain stores;
 * everything that may block, fail or be slow is in shim_slow() (window.c).
 */
#ifndef PRELOAD_CORE_SHIM_H
#define PRELOAD_CORE_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include "preload/core/compiler.h"
#include "preload/core/encode.h"
#include "preload/core/state.h"

#pragma GCC visibility push(hidden)

/* A call, as its wrapper describes it. */
struct shim_event {
	uint32_t call;
	uint32_t desc;
	int64_t size, offset, arg, arg2, pos;
	uint32_t newdesc;
	int32_t newfd;
	bool bad_fd; /* EBADF: newfd is not open, newdesc is 0 */
	const char *path, *path2, *text;
	uint32_t path_len; /* of path, 0: not counted yet */
	uint32_t data_dir; /* of path: see struct shim_thread; or 0 */
	int at, at2;	   /* descriptors; AT_FDCWD when there is none */
	const void *st;	   /* struct stat, or statx, that a success filled */
	const void *out;   /* out_bytes of memory that the call fills */
	size_t out_bytes;
	const void *memory; /* of a read or write, REEL_PLACE_BYTES */
	const void *iov;
	int iovs;
};
#define SHIM_EVENT_NONE                                                        \
	.size = NONE, .offset = NONE, .arg = NONE, .arg2 = NONE, .pos = NONE,  \
	.at = AT_FDCWD, .at2 = AT_FDCWD

/* --- slow paths: window.c, process.c, fdtable.c, record.c ----------------- */

/*
 * This thread's state, marked busy, with room for @bytes more. Called when the
 * test of the fast path failed, for any reason. @start, of the event, is the
 * base of the times of a new thread. NULL: the event is lost and counted.
 */
COLD struct shim_thread *shim_slow(size_t bytes, uint64_t start);

/* Add @n to a counter in the process's head or, without a head, in
 * job.counts. */
void shim_count(enum reel_counter which, uint64_t n);

/* Record the note "KEY=VALUE", or "KEY=N", cut at REEL_PATH_BYTES. @word: a first
 * word of the value, or NULL. A key of more than 200 bytes is ignored. */
void shim_note_words(const char *key, const char *word, const char *value);
void shim_note_text(const char *key, const char *value);
void shim_note(const char *key, uint64_t n);

/* Identify a descriptor with entry @e. Returns its entry then, never
 * SHIM_FD_UNKNOWN. */
COLD uint32_t shim_fd_slow(int fd, uint32_t e);

/* Are calls on @path, relative to the working directory, only counted?
 * @reading: the call does not write to the file. */
bool shim_is_code(const char *path, size_t len, bool reading);

/* Append a record with all its fields; @start and @end are ticks. */
void shim_record_full(const struct shim_event *ev, uint64_t start, uint64_t end,
		      int64_t result, int err);

/* A new descriptor id for @fd of this process, entered in the table. */
uint32_t shim_desc_new(int fd);
void shim_fd_set(int fd, uint32_t entry);
/* Take @fd out of the table. Returns its entry before. */
uint32_t shim_fd_take(int fd);
/* Before the range is closed at once: give ids to its descriptors that a parent
 * recorded. */
void shim_fd_name(unsigned int first, unsigned int last);

/* The working directory may have changed: read it. */
void shim_cwd_changed(void);
/* Is this a vfork child, which must leave the parent's tables alone? */
bool shim_vfork_child(void);
/* This thread is about to make a child that shares its memory for good. */
void shim_cloned(void);
/* Write all records; the process ends without exit(). */
void shim_finish(void);
/* The value of @name in @env; NULL: it is not set, or empty. */
const char *shim_env(char **env, const char *name);

/* --- fast path ------------------------------------------------------------ */

/* Is the process recording, and is its clock the counter of shim_ticks()? */
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

/* The stack pointer, without forcing a frame pointer on the hot path. */
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

/* The mark of a busy thread: negative, and it holds the stack pointer. */
HOT intptr_t shim_busy(void)
{
	return ~shim_frame();
}

/* The table's entry, without a look at the kernel. */
HOT uint32_t shim_fd_entry(int fd)
{
	if (unlikely((unsigned int)fd >= SHIM_FDS))
		return SHIM_FD_UNKNOWN;
	return __atomic_load_n(&shim_hot.fd[fd], __ATOMIC_RELAXED);
}

/* The table's entry, from the kernel if it is unknown: SHIM_FD_IGNORE, _CODE or
 * _DIR, or a descriptor id. */
HOT uint32_t shim_fd(int fd)
{
	uint32_t e = shim_fd_entry(fd);

	return likely(e >= SHIM_DESC_FIRST) ? e : shim_fd_slow(fd, e);
}

/* Is @p NULL, although the declaration of the parameter (nonnull) denies it? */
HOT bool shim_null(const void *p)
{
	__asm__("" : "+r"(p));
	return !p;
}

HOT bool shim_is_desc(uint32_t entry)
{
	return entry >= SHIM_DESC_FIRST;
}

/* Is it a file of code, of the system, or excluded? Its calls are counted
 * only. */
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
 * The next of the thread's ids, in one instruction because a signal handler may
 * take one too; without a lock because each thread has its own ids. A value
 * from desc_end on is not an id.
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

/* The times of a record of @t. Times never decrease: the clock of another core
 * may be some 10 ns behind. */
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

/* shim_tls.vforked, in the same way. */
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
 * This thread's state, marked busy, with room for a record of @bytes at most.
 * NULL: the event is lost. The mark is set before any field is read that a
 * signal handler's record changes.
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

/* Mark @t busy for a record without paths. False: the slow path must do it, and
 * @t is not busy. */
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
 * End the record at @p. A record is valid once its first byte is not 0, so the
 * caller stores that byte last: a count of bytes in the block's head would cost
 * another cache line, 8 ns.
 */
HOT void shim_end(struct shim_thread *t, uint8_t *p)
{
	t->p = p;
	t->events++;
	shim_barrier();
	t->limit = t->room;
}

/* End the record whose times begin at t->p + SHIM_HEAD and that ends at @p:
 * store its head, the first byte last. */
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

/* False if the compiler knows that the field is NONE. A field that only the
 * running program knows may be NONE too. */
#define HAS(field) (!(__builtin_constant_p(field) && (field) == NONE))

/* The unusual records of shim_record_io(); record.c. @err may be SHIM_ERRNO:
 * take errno if @result is negative. */
#define SHIM_ERRNO (-1)
void shim_record_odd(uint32_t call, uint32_t desc, int64_t size, int64_t offset,
		     uint64_t start, uint64_t end, int64_t result, int err);

/*
 * Record a call on a descriptor with at most a size, an offset, and a result.
 * Inlined, so that absent fields, which are the constant NONE, cost nothing.
 * @call is not a mark and is below REEL_CALL_WIDE. If @err is an error, @result
 * must differ from the requested size (0 if there is none). The usual record
 * has the descriptor and size of the one before, its call transferred the
 * requested size and took microseconds: two tests, one store of six bytes, and
 * the offset.
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
	if (likely(z < 0x80)) { /* the whole record in one store */
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
 * Record a successful call on a descriptor without a size, but with fields that
 * the compiler knows to be present: an offset, a whence or the like (@arg), a
 * file's size (@pos). False: nothing was written, and the caller must use
 * shim_record_full().
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

/* SPDX-License-Identifier: MIT */
/*
 * mmap and the other calls on mappings. A mapping is removed from the table
 * before the call that ends it: another thread may map the address at once.
 * Its pages are counted before the call and recorded after it.
 *
 * The function that makes the call is an argument: libc's, or the system call
 * when the program called syscall(). UCX does: it patches a jump over our
 * mmap() and its like, and then makes the calls by syscall().
 */
#include <stdarg.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/symbols.h"
#include "preload/mmap/mappings.h"
#include "preload/mmap/page_faults.h"

/* Mappings that a call is about to end. */
struct ending {
	struct shim_map piece[SHIM_MAP_PIECES];
	int64_t touched[SHIM_MAP_PIECES];
	int n;
};

static void ending_begin(struct ending *e, void *addr, size_t len)
{
	if (unlikely(shim_rings_used))
		shim_uring_unmapped(addr, len);
	shim_faults_read();
	e->n = shim_map_cut((uintptr_t)addr, len, e->piece);
	for (int i = 0; i < e->n; i++)
		e->touched[i] = shim_map_touched(&e->piece[i]);
}

static void ending_done(const struct ending *e, bool ended, uint64_t when)
{
	for (int i = 0; i < e->n; i++)
		if (ended)
			shim_map_record(&e->piece[i], e->touched[i], when);
		else
			shim_map_add(&e->piece[i]);
}

/* Record a call on the mapping @m. */
static void record_call(uint32_t call, const struct shim_map *m, int64_t arg,
			int64_t arg2, uint64_t start, uint64_t end,
			int64_t result, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};

	ev.desc = m->desc;
	ev.size = (int64_t)m->len;
	ev.offset = m->offset;
	ev.arg = arg;
	ev.arg2 = arg2;
	shim_record_full(&ev, start, end, result, err);
}

/* True: such an mmap() neither adds nor replaces a recorded mapping. */
HOT bool is_anonymous_mmap(int flags, int fd)
{
	return (fd < 0 || (flags & MAP_ANONYMOUS)) &&
	       !(flags & MAP_FIXED && shim_maps_live);
}

/* An mmap() that maps a file or may replace a recorded mapping. */
static void *map_file(shim_mmap_fn *fn, void *addr, size_t len, int prot,
		      int flags, int fd, off_t off)
{
	struct shim_map m = {.len = len, .offset = off};
	struct ending e = {.n = 0};
	uint64_t start, end;
	uint32_t entry = 0;
	int err;
	void *r;

	if (fd >= 0 && !(flags & MAP_ANONYMOUS))
		entry = shim_fd(fd);
	if (flags & MAP_FIXED)
		ending_begin(&e, addr, len);
	TIMED(r = fn(addr, len, prot, flags, fd, off));
	err = r == MAP_FAILED ? errno : 0;
	ending_done(&e, !err, start);
	if (!shim_is_desc(entry)) {
		if (shim_rings_used && !err && fd >= 0)
			shim_uring_mapped(fd, off, r, len);
		return r;
	}
	m.desc = entry;
	record_call(CALL_MMAP, &m, prot, flags, start, end,
		    (int64_t)(intptr_t)r, err);
	if (!err) {
		m.addr = (uintptr_t)r;
		shim_map_describe(&m, prot, flags, fd);
		shim_map_add(&m);
		shim_faults_open();
	}
	return r;
}

#define MMAP(fn)                                                               \
	EXPORT void *fn(void *addr, size_t len, int prot, int flags, int fd,   \
			off_t off)                                             \
	{                                                                      \
		NEED(fn);                                                      \
		if (likely(!shim_hot.on || is_anonymous_mmap(flags, fd)))      \
			return real.fn(addr, len, prot, flags, fd, off);       \
		return map_file(real.fn, addr, len, prot, flags, fd, off);     \
	}
MMAP(mmap)
MMAP(mmap64)

void *shim_mmap(shim_mmap_fn *fn, void *addr, size_t len, int prot, int flags,
		int fd, off_t off)
{
	return is_anonymous_mmap(flags, fd)
		       ? fn(addr, len, prot, flags, fd, off)
		       : map_file(fn, addr, len, prot, flags, fd, off);
}

int shim_munmap(shim_munmap_fn *fn, void *addr, size_t len)
{
	struct ending e;
	uint64_t start, end;
	int r, err;

	if (!shim_maps_live && !shim_rings_used)
		return fn(addr, len);
	ending_begin(&e, addr, len);
	if (!e.n)
		return fn(addr, len);
	TIMED(r = fn(addr, len));
	err = r < 0 ? errno : 0;
	ending_done(&e, !err, start);
	for (int i = 0; i < e.n; i++)
		record_call(CALL_MUNMAP, &e.piece[i], NONE, NONE, start, end, r,
			    err);
	return r;
}

EXPORT int munmap(void *addr, size_t len)
{
	NEED(munmap);
	if (likely(!shim_hot.on || (!shim_maps_live && !shim_rings_used)))
		return real.munmap(addr, len);
	return shim_munmap(real.munmap, addr, len);
}

/* Add the mappings after mremap(): moved, grown, or without their tail. */
static void add_remapped(const struct ending *e, void *r, size_t to_len)
{
	for (int i = 0; i < e->n; i++) {
		struct shim_map m = e->piece[i];
		size_t at = m.addr - e->piece[0].addr;

		if (at >= to_len)
			continue;
		m.addr = (uintptr_t)r + at;
		if (at + m.len > to_len || i == e->n - 1)
			m.len = to_len - at;
		shim_map_add(&m);
	}
}

void *shim_mremap(shim_mremap_fn *fn, void *addr, size_t len, size_t to_len,
		  int flags, void *to)
{
	struct ending e, tail = {.n = 0}, under = {.n = 0};
	uint64_t start, end;
	void *r;
	int err;

	if (!shim_maps_live)
		return fn(addr, len, to_len, flags, to);
	if (len > to_len)
		ending_begin(&tail, (char *)addr + to_len, len - to_len);
	if (flags & MREMAP_FIXED)
		ending_begin(&under, to, to_len);
	e.n = shim_map_cut((uintptr_t)addr, len < to_len ? len : to_len,
			   e.piece);
	TIMED(r = fn(addr, len, to_len, flags, to));
	err = r == MAP_FAILED ? errno : 0;
	ending_done(&tail, !err, start);
	ending_done(&under, !err, start);
	for (int i = 0; i < e.n; i++) {
		if (err || flags & MREMAP_DONTUNMAP)
			shim_map_add(&e.piece[i]);
		record_call(CALL_MREMAP, &e.piece[i], (int64_t)to_len, flags,
			    start, end, (int64_t)(intptr_t)r, err);
	}
	if (!err)
		add_remapped(&e, r, to_len);
	return r;
}

EXPORT void *mremap(void *addr, size_t len, size_t to_len, int flags, ...)
{
	va_list ap;
	void *to;

	va_start(ap, flags);
	to = va_arg(ap, void *);
	va_end(ap);
	NEED(mremap);
	if (likely(!shim_hot.on || !shim_maps_live))
		return real.mremap(addr, len, to_len, flags, to);
	return shim_mremap(real.mremap, addr, len, to_len, flags, to);
}

int shim_msync(shim_msync_fn *fn, void *addr, size_t len, int flags)
{
	uint64_t start, end;
	struct shim_map m;
	int r;

	if (!shim_map_find((uintptr_t)addr, len, &m))
		return fn(addr, len, flags);
	TIMED(r = fn(addr, len, flags));
	record_call(CALL_MSYNC, &m, flags, NONE, start, end, r,
		    r < 0 ? errno : 0);
	return r;
}

EXPORT int msync(void *addr, size_t len, int flags)
{
	NEED(msync);
	return shim_hot.on ? shim_msync(real.msync, addr, len, flags)
			   : real.msync(addr, len, flags);
}

/* Advice that removes pages from the page table. */
static bool drops_pages(int advice)
{
	return advice == MADV_DONTNEED || advice == MADV_REMOVE ||
	       advice == MADV_PAGEOUT;
}

int shim_madvise(shim_madvise_fn *fn, void *addr, size_t len, int advice)
{
	uint64_t start, end;
	struct shim_map m;
	int64_t touched = 0;
	int r, err;

	if (!shim_maps_live || !shim_map_find((uintptr_t)addr, len, &m))
		return fn(addr, len, advice);
	if (drops_pages(advice))
		touched = shim_map_touched(&m);
	TIMED(r = fn(addr, len, advice));
	err = r < 0 ? errno : 0;
	if (touched > 0 && !err)
		shim_map_record(&m, touched, start);
	record_call(CALL_MADVISE, &m, advice, NONE, start, end, r, err);
	return r;
}

EXPORT int madvise(void *addr, size_t len, int advice)
{
	NEED(madvise);
	if (likely(!shim_hot.on || !shim_maps_live))
		return real.madvise(addr, len, advice);
	return shim_madvise(real.madvise, addr, len, advice);
}

/* Other advice, and locks, on a range of a recorded mapping. */
#define ON_RANGE(fn, params, args, call, arg, err)                             \
	EXPORT int fn params                                                   \
	{                                                                      \
		uint64_t start, end;                                           \
		struct shim_map m;                                             \
		int r;                                                         \
                                                                               \
		NEED(fn);                                                      \
		if (likely(!shim_hot.on || !shim_maps_live) ||                 \
		    !shim_map_find((uintptr_t)addr, len, &m))                  \
			return real.fn args;                                   \
		TIMED(r = real.fn args);                                       \
		record_call(call, &m, arg, NONE, start, end, r, err);          \
		return r;                                                      \
	}
ON_RANGE(posix_madvise, (void *addr, size_t len, int advice),
	 (addr, len, advice), CALL_POSIX_MADVISE, advice, r)
ON_RANGE(mlock, (const void *addr, size_t len), (addr, len), CALL_MLOCK, NONE,
	 r < 0 ? errno : 0)
ON_RANGE(mlock2, (const void *addr, size_t len, unsigned int flags),
	 (addr, len, flags), CALL_MLOCK, flags, r < 0 ? errno : 0)
ON_RANGE(munlock, (const void *addr, size_t len), (addr, len), CALL_MUNLOCK,
	 NONE, r < 0 ? errno : 0)

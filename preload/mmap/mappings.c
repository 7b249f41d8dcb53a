/* SPDX-License-Identifier: MIT */
/*
 * The existing mappings of recorded files, and the pages touched in them.
 *
 * Allocators call mmap and munmap all the time: without a mapping of a
 * recorded file they cost one test, with some a walk over two short arrays.
 * The page table of the process shows the touched pages as long as the mapping
 * exists. The kernel maps up to 16 pages of the page cache at one fault, or a
 * huge page (512 pages) where the page cache has one, as after large writes: sparse
 * accesses are overestimated by up to that factor.
 */
#include "preload/mmap/mappings.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>

#include "schemas/syscall.h"

#include "preload/async/operations.h"
#include "preload/core/private_fds.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"
#include "preload/mmap/page_faults.h"

#define MAPS 4096
#define TMPFS 0x01021994
#define HUGETLBFS 0x958458f6

#define BUSY 1			       /* in from[]: being filled or taken */
static uintptr_t from[MAPS], to[MAPS]; /* from 0: free */
static struct shim_map info[MAPS];
static uint32_t high;
uint32_t shim_maps_live;
int shim_maps_ever;

void shim_map_add(const struct shim_map *m)
{
	for (uint32_t i = 0; i < MAPS; i++) {
		uintptr_t none = 0;

		if (from[i] || !__atomic_compare_exchange_n(
				       &from[i], &none, BUSY, false,
				       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		to[i] = m->addr + m->len;
		info[i] = *m;
		__atomic_store_n(&from[i], m->addr, __ATOMIC_RELEASE);
		if (i >= high)
			high = i + 1;
		__atomic_fetch_add(&shim_maps_live, 1, __ATOMIC_RELAXED);
		shim_maps_ever = 1;
		return;
	}
	shim_count(REEL_LOST_LIMIT, 1); /* its use is never recorded */
}

/* Index of the first mapping from @i on that overlaps, or MAPS. */
static uint32_t next_overlap(uint32_t i, uintptr_t addr, uintptr_t end)
{
	for (; i < high; i++) {
		uintptr_t at = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);

		if (at > BUSY && at < end && to[i] > addr)
			return i;
	}
	return MAPS;
}

/* The part of @m in [@addr, @end). */
static struct shim_map clip_map(const struct shim_map *m, uintptr_t addr,
				uintptr_t end)
{
	struct shim_map piece = *m;
	uintptr_t last = m->addr + m->len;

	if (piece.addr < addr)
		piece.addr = addr;
	if (last > end)
		last = end;
	piece.len = last - piece.addr;
	piece.offset += (int64_t)(piece.addr - m->addr);
	if (piece.len != m->len)
		piece.reported = 0;
	return piece;
}

/* The end of the last page of [@addr, @addr + @len). */
static uintptr_t page_end(uintptr_t addr, size_t len)
{
	uintptr_t end = addr + len + 4095;

	return end < addr ? UINTPTR_MAX : end & ~4095ul;
}

bool shim_map_find(uintptr_t addr, size_t len, struct shim_map *piece)
{
	uint32_t i;

	if (likely(!__atomic_load_n(&shim_maps_live, __ATOMIC_RELAXED)))
		return false;
	i = next_overlap(0, addr, page_end(addr, len));
	if (i == MAPS)
		return false;
	*piece = clip_map(&info[i], addr, page_end(addr, len));
	return true;
}

bool shim_map_fault(uintptr_t addr, struct shim_map *page)
{
	uint32_t i = next_overlap(0, addr, addr + 1);

	if (i == MAPS || info[i].how & SHIM_MAP_MEMORY)
		return false;
	*page = clip_map(&info[i], addr, addr + 4096);
	__atomic_fetch_add(&info[i].reported, page->len, __ATOMIC_RELAXED);
	return true;
}

int shim_map_cut(uintptr_t addr, size_t len,
		 struct shim_map pieces[static SHIM_MAP_PIECES])
{
	uintptr_t end = page_end(addr, len);
	int n = 0;

	if (likely(!__atomic_load_n(&shim_maps_live, __ATOMIC_RELAXED)))
		return 0;
	for (uint32_t i = 0; (i = next_overlap(i, addr, end)) != MAPS; i++) {
		uintptr_t at = from[i];
		struct shim_map whole, rest;

		if (at <= BUSY || !__atomic_compare_exchange_n(
					  &from[i], &at, BUSY, false,
					  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		whole = info[i];
		__atomic_store_n(&from[i], 0, __ATOMIC_RELEASE);
		__atomic_fetch_sub(&shim_maps_live, 1, __ATOMIC_RELAXED);
		if (whole.addr < addr) {
			rest = clip_map(&whole, whole.addr, addr);
			shim_map_add(&rest);
		}
		if (whole.addr + whole.len > end) {
			rest = clip_map(&whole, end, UINTPTR_MAX);
			shim_map_add(&rest);
		}
		if (n < SHIM_MAP_PIECES)
			pieces[n++] = clip_map(&whole, addr, end);
		else
			shim_count(REEL_LOST_LIMIT, 1);
	}
	return n;
}

/* --- counters of the process ---------------------------------------------- */

uint64_t shim_page_faults(void)
{
	struct rusage u;

	if (raw(SYS_getrusage, RUSAGE_SELF, &u) != 0)
		return 0;
	return (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt;
}

/* Bytes that the process dirtied on disk file systems: "write_bytes: N" of
 * /proc/self/io. False in a child, whose file counts the child alone. */
static bool read_dirtied(void *arg)
{
	char buf[256], *p;
	uint64_t n = 0;
	long fd, got;

	if (raw(SYS_getpid) != shim.pid)
		return false;
	fd = raw(SYS_openat, AT_FDCWD, "/proc/self/io", O_RDONLY | O_CLOEXEC,
		 0);
	if (fd < 0)
		return false;
	got = raw(SYS_read, fd, buf, sizeof(buf) - 1);
	raw(SYS_close, fd);
	if (got <= 0)
		return false;
	buf[got] = '\0';
	p = strstr(buf, "\nwrite_bytes: ");
	if (p)
		for (p += 14; *p >= '0' && *p <= '9'; p++)
			n = n * 10 + (uint64_t)(*p - '0');
	*(uint64_t *)arg = n;
	return true;
}

/* 0: unknown. */
static uint64_t dirtied_now(void)
{
	uint64_t n = 0;

	shim_run_private_fds(read_dirtied, &n);
	return n;
}

void shim_map_describe(struct shim_map *m, int prot, int flags, int fd)
{
	int type = flags & MAP_TYPE;
	struct statfs fs;
	char path[16];

	m->how = 0;
	m->reported = 0;
	m->dirtied = 0;
	m->faults = shim_page_faults();
	if (type != MAP_SHARED && type != MAP_SHARED_VALIDATE)
		return;
	if (raw(SYS_fstatfs, fd, &fs) == 0 &&
	    (fs.f_type == TMPFS || fs.f_type == HUGETLBFS)) {
		m->how |= SHIM_MAP_UNCOUNTED;
		shim_fd_path(fd, path, sizeof(path));
		if (!strncmp(path, "/memfd:", 7))
			m->how |= SHIM_MAP_MEMORY;
	}
	if (!(prot & PROT_WRITE))
		return;
	m->how |= SHIM_MAP_WRITES;
	if (!(m->how & SHIM_MAP_UNCOUNTED))
		m->dirtied = dirtied_now();
}

/* --- pages ---------------------------------------------------------------- */

/* The kernel's PAGEMAP_SCAN, since Linux 6.7: returns ranges, skips holes. */
struct scan_range {
	uint64_t start, end, categories;
};
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages,
		category_inverted, category_mask, category_anyof_mask,
		return_mask;
};
#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_PRESENT (1 << 3)
#define SCAN_SWAPPED (1 << 4)

/* Resident bytes of [@at, @end), clipped to @last; -1: unknown. */
static int64_t scan_ranges(long fd, uintptr_t at, uintptr_t end, uintptr_t last)
{
	struct scan_range range[64];
	int64_t sum = 0;

	while (at < end) {
		struct scan s = {
			.size = sizeof(s),
			.start = at,
			.end = end,
			.vec = (uintptr_t)range,
			.vec_len = 64,
			.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
			.return_mask = SCAN_PRESENT,
		};
		long n = raw(SYS_ioctl, fd, SCAN, &s);

		if (n < 0 || s.walk_end <= at)
			return -1;
		for (long i = 0; i < n; i++) {
			uint64_t stop = range[i].end;

			if (stop > last)
				stop = last;
			if (stop > range[i].start)
				sum += (int64_t)(stop - range[i].start);
		}
		at = s.walk_end;
	}
	return sum;
}

/*
 * The same from the page map entries of older kernels, 8 bytes for each page.
 * Above 4 GiB every k-th stretch is read and counted k times.
 */
#define STRETCH 512 /* entries */
#define STRETCHES 2048
static int64_t read_entries(long fd, uintptr_t at, uintptr_t end,
			    uintptr_t last)
{
	size_t stretch = STRETCH * 4096ul,
	       all = (end - at + stretch - 1) / stretch,
	       step = (all + STRETCHES - 1) / STRETCHES;
	uint64_t entry[STRETCH];
	int64_t sum = 0;

	for (; at < end; at += step * stretch) {
		size_t n = (end - at) / 4096;
		int64_t here = 0;

		if (n > STRETCH)
			n = STRETCH;
		if (raw(SYS_pread64, fd, entry, n * 8, at / 4096 * 8) !=
		    (long)(n * 8))
			return -1;
		for (size_t i = 0; i < n; i++)
			if (entry[i] >> 62) /* present or swapped */
				here += at + (i + 1) * 4096 <= last
						? 4096
						: (int64_t)(last - at -
							    i * 4096);
		sum += here * (int64_t)step;
	}
	return sum;
}

struct touched {
	uintptr_t addr, end, last;
	int64_t bytes; /* -1: unknown */
};

static bool read_touched(void *arg)
{
	struct touched *t = arg;
	long fd = raw(SYS_openat, AT_FDCWD, "/proc/self/pagemap",
		      O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	t->bytes = scan_ranges(fd, t->addr, t->end, t->last);
	if (t->bytes < 0)
		t->bytes = read_entries(fd, t->addr, t->end, t->last);
	raw(SYS_close, fd);
	return true;
}

int64_t shim_map_touched(const struct shim_map *m)
{
	struct touched t = {m->addr, page_end(m->addr, m->len),
			    m->addr + m->len, -1};

	if (m->how & SHIM_MAP_MEMORY)
		return -1;
	shim_run_private_fds(read_touched, &t);
	return t.bytes < (int64_t)m->len ? t.bytes : (int64_t)m->len;
}

/* @bytes: -1 when they are unknown. */
static void record_part(const struct shim_map *m, uint32_t call, int64_t bytes,
			uint64_t faults, uint64_t end)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call};

	ev.desc = m->desc;
	ev.offset = m->offset;
	ev.size = (int64_t)m->len;
	ev.arg = bytes < 0 ? -1 : (bytes + 4095) / 4096;
	ev.arg2 = (int64_t)faults;
	shim_record_full(&ev, end, end, bytes < 0 ? 0 : bytes, 0);
}

void shim_map_record(const struct shim_map *m, int64_t touched, uint64_t end)
{
	uint64_t faults = shim_page_faults() - m->faults;
	int64_t wrote = 0;

	if (m->how & SHIM_MAP_MEMORY)
		return;
	if (touched < 0) { /* no /proc: only the mapping itself is known */
		record_part(m, CALL_MAP_READ, -1, faults, end);
		return;
	}
	touched -= (int64_t)m->reported;
	touched = touched > 0 ? touched : 0;
	if (m->how & SHIM_MAP_WRITES) {
		uint64_t dirtied = m->how & SHIM_MAP_UNCOUNTED
					   ? UINT64_MAX
					   : dirtied_now() - m->dirtied;

		wrote = dirtied < (uint64_t)touched ? (int64_t)dirtied
						    : touched;
	}
	if (wrote)
		record_part(m, CALL_MAP_WRITE, wrote, faults, end);
	if (touched > wrote || !wrote)
		record_part(m, CALL_MAP_READ, touched - wrote, faults, end);
}

/* Record the mappings that exist at the end of the process. They stay in the
 * table, marked as reported: the exec that follows may fail. */
void shim_maps_finish(void)
{
	uint64_t now;
	bool quiet; /* a child that did nothing else has no log */

	if (!shim_hot.on || shim_vfork_child())
		return;
	shim_faults_finish();
	if (!shim_maps_live)
		return;
	quiet = shim.pid != (uint32_t)raw(SYS_getpid);
	now = shim_clock();
	for (uint32_t i = 0; i < high; i++) {
		uintptr_t at = from[i];
		struct shim_map m;
		int64_t touched;

		if (at <= BUSY || !__atomic_compare_exchange_n(
					  &from[i], &at, BUSY, false,
					  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		m = info[i];
		touched = shim_map_touched(&m);
		if (touched > 0)
			info[i].reported = (uint64_t)touched;
		__atomic_store_n(&from[i], at, __ATOMIC_RELEASE);
		if (touched || !quiet)
			shim_map_record(&m, touched, now);
	}
}

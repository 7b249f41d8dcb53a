/* SPDX-License-Identifier: MIT */
/*
 * Mappings of recorded files. Allocators call mmap and munmap all the time:
 * what is no mapping of a recorded file must cost next to nothing, so a small
 * table remembers the few that are.
 */
#include "preload/real.h"

#define MAPS 4096

static struct map {
	uintptr_t addr; /* 0: free */
	size_t len;
	uint32_t desc;
	int64_t offset;
} maps[MAPS];
static uint32_t maps_live, maps_high;

static void map_add(void *addr, size_t len, uint32_t desc, int64_t offset)
{
	for (uint32_t i = 0; i < MAPS; i++) {
		uintptr_t none = 0;

		if (maps[i].addr ||
		    !__atomic_compare_exchange_n(&maps[i].addr, &none, 1, false,
						 __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		maps[i].len = len;
		maps[i].desc = desc;
		maps[i].offset = offset;
		__atomic_store_n(&maps[i].addr, (uintptr_t)addr,
				 __ATOMIC_RELEASE);
		if (i >= maps_high)
			maps_high = i + 1;
		__atomic_fetch_add(&maps_live, 1, __ATOMIC_RELAXED);
		return;
	}
	shim_count(REEL_LOST_LIMIT, 1); /* its munmap will not be seen */
}

/* The mapping that holds @addr, or NULL. */
static struct map *map_find(void *addr)
{
	uintptr_t a = (uintptr_t)addr;

	if (likely(!__atomic_load_n(&maps_live, __ATOMIC_RELAXED)))
		return NULL;
	for (uint32_t i = 0; i < maps_high; i++) {
		uintptr_t at = __atomic_load_n(&maps[i].addr, __ATOMIC_ACQUIRE);

		if (at > 1 && a >= at && a - at < maps[i].len)
			return &maps[i];
	}
	return NULL;
}

#define MMAP(fn)                                                               \
	EXPORT void *fn(void *addr, size_t len, int prot, int flags, int fd,   \
			off_t off)                                             \
	{                                                                      \
		struct shim_event ev = { SHIM_EVENT_NONE, .call = CALL_MMAP }; \
		uint64_t start, end;                                           \
		void *r;                                                       \
                                                                               \
		NEED(fn);                                                      \
		if (likely(!shim_hot.on || fd < 0 || (flags & MAP_ANONYMOUS)))     \
			return real.fn(addr, len, prot, flags, fd, off);       \
		ev.desc = shim_fd(fd);                                         \
		if (!shim_is_desc(ev.desc))                                    \
			return real.fn(addr, len, prot, flags, fd, off);       \
		start = shim_clock();                                          \
		r = real.fn(addr, len, prot, flags, fd, off);                  \
		end = shim_clock();                                            \
		ev.size = (int64_t)len;                                        \
		ev.offset = off;                                               \
		ev.arg = prot;                                                 \
		ev.arg2 = flags;                                               \
		if (r != MAP_FAILED)                                           \
			map_add(r, len, ev.desc, off);                         \
		shim_record_full(&ev, start, end, (int64_t)(intptr_t)r,        \
				 r == MAP_FAILED ? errno : 0);                 \
		return r;                                                      \
	}
MMAP(mmap)
MMAP(mmap64)

EXPORT int munmap(void *addr, size_t len)
{
	struct shim_event ev = { SHIM_EVENT_NONE, .call = CALL_MUNMAP };
	uint64_t start, end;
	struct map *m;
	int r;

	NEED(munmap);
	m = shim_hot.on ? map_find(addr) : NULL;
	if (likely(!m))
		return real.munmap(addr, len);
	ev.desc = m->desc;
	ev.size = (int64_t)len;
	ev.offset = m->offset + (int64_t)((uintptr_t)addr - m->addr);
	if ((uintptr_t)addr == m->addr && len >= m->len) {
		/* Before the call: the address may be another's at once. */
		__atomic_store_n(&m->addr, 0, __ATOMIC_RELEASE);
		__atomic_fetch_sub(&maps_live, 1, __ATOMIC_RELAXED);
	}
	start = shim_clock();
	r = real.munmap(addr, len);
	end = shim_clock();
	shim_record_full(&ev, start, end, r, r < 0 ? errno : 0);
	return r;
}

EXPORT int msync(void *addr, size_t len, int flags)
{
	struct shim_event ev = { SHIM_EVENT_NONE, .call = CALL_MSYNC };
	uint64_t start, end;
	struct map *m;
	int r;

	NEED(msync);
	m = shim_hot.on ? map_find(addr) : NULL;
	if (!m)
		return real.msync(addr, len, flags);
	ev.desc = m->desc;
	ev.size = (int64_t)len;
	ev.offset = m->offset + (int64_t)((uintptr_t)addr - m->addr);
	ev.arg = flags;
	start = shim_clock();
	r = real.msync(addr, len, flags);
	end = shim_clock();
	shim_record_full(&ev, start, end, r, r < 0 ? errno : 0);
	return r;
}

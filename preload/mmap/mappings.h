/* SPDX-License-Identifier: MIT */
/* Mappings of recorded files, and which of their pages the process touched. */
#ifndef PRELOAD_MMAP_MAPPINGS_H
#define PRELOAD_MMAP_MAPPINGS_H

#include "preload/core/shim.h"

/* A mapping, or a piece that a call cut out of one. */
struct shim_map {
	uintptr_t addr;
	size_t len;
	uint32_t desc;
	uint32_t how; /* SHIM_MAP_* */
	int64_t offset;
	uint64_t faults;   /* of the process at mmap() */
	uint64_t dirtied;  /* bytes that the process had dirtied at mmap() */
	uint64_t reported; /* bytes recorded while the mapping exists */
};
#define SHIM_MAP_WRITES 1    /* shared and writable */
#define SHIM_MAP_UNCOUNTED 2 /* the kernel does not count its dirty pages */
#define SHIM_MAP_MEMORY 4    /* a memfd: its pages are not recorded */

#define SHIM_MAP_PIECES 16 /* most mappings recorded of one call */

/* Number of mappings now, and whether there ever was one. */
extern uint32_t shim_maps_live;
extern int shim_maps_ever;

void shim_map_add(const struct shim_map *m);

/* Fill @m->how and the counters of a mapping: mmap(..., @prot, @flags, @fd). */
void shim_map_describe(struct shim_map *m, int prot, int flags, int fd);

/* The part of the first mapping that overlaps [@addr, @addr + @len). */
bool shim_map_find(uintptr_t addr, size_t len, struct shim_map *piece);

/* Count the page at @addr as reported, and store it in @page. False: it is in
 * no mapping of a file. */
bool shim_map_fault(uintptr_t addr, struct shim_map *page);

/*
 * Remove the range [@addr, @addr + @len) from the table, before the call that
 * unmaps it; the rest of each mapping stays. After a failed call shim_map_add()
 * restores the pieces. Returns the number of @pieces.
 */
int shim_map_cut(uintptr_t addr, size_t len,
		 struct shim_map pieces[static SHIM_MAP_PIECES]);

/* Bytes of the pages of @m that the process has touched, or -1. */
int64_t shim_map_touched(const struct shim_map *m);

/* Page faults of the process so far, all of them. */
uint64_t shim_page_faults(void);

/* Record the use of @m; @touched: shim_map_touched() before it ended. */
void shim_map_record(const struct shim_map *m, int64_t touched, uint64_t end);

/* At process exit: record mappings that still exist. May be called more than
 * once. */
void shim_maps_finish(void);

/* --- the calls, made by @fn, in a process that records: wrap.c ------------ */

typedef void *shim_mmap_fn(void *addr, size_t len, int prot, int flags, int fd,
			   off_t off);
typedef int shim_munmap_fn(void *addr, size_t len);
typedef void *shim_mremap_fn(void *addr, size_t len, size_t to_len, int flags,
			     ...);
typedef int shim_msync_fn(void *addr, size_t len, int flags);
typedef int shim_madvise_fn(void *addr, size_t len, int advice);

void *shim_mmap(shim_mmap_fn *fn, void *addr, size_t len, int prot, int flags,
		int fd, off_t off);
int shim_munmap(shim_munmap_fn *fn, void *addr, size_t len);
void *shim_mremap(shim_mremap_fn *fn, void *addr, size_t len, size_t to_len,
		  int flags, void *to);
int shim_msync(shim_msync_fn *fn, void *addr, size_t len, int flags);
int shim_madvise(shim_madvise_fn *fn, void *addr, size_t len, int advice);

#endif

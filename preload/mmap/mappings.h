/* SPDX-License-Identifier: MIT */
/* Mappings of recorded files, and which of their pages the process touched. */
#ifndef PRELOAD_MMAP_MAPPINGS_H
#define PRELOAD_MMAP_MAPPINGS_H

#include "preload/core/shim.h"

/* A mapping, or what a call cut out of one. */
struct shim_map {
	uintptr_t addr;
	size_t len;
	uint32_t desc;
	uint32_t how; /* SHIM_MAP_* */
	int64_t offset;
	uint64_t faults;  /* of the process when it was mapped */
	uint64_t dirtied; /* bytes that the process had made dirty then */
	uint64_t told;	  /* bytes told while it still lives */
};
#define SHIM_MAP_WRITES 1    /* shared and writable */
#define SHIM_MAP_UNCOUNTED 2 /* the kernel does not count what is made dirty */
#define SHIM_MAP_MEMORY 4    /* no file: its pages are not told */

#define SHIM_MAP_PIECES 16 /* mappings that one call can end and be told of */

/* Mappings known now, and whether there ever were any. */
extern uint32_t shim_maps_live;
extern int shim_maps_ever;

void shim_map_add(const struct shim_map *m);

/* What a mapping of @fd is like, made by mmap(..., @prot, @flags, @fd). */
void shim_map_describe(struct shim_map *m, int prot, int flags, int fd);

/* The first mapping that overlaps [@addr, @addr + @len): the part within. */
bool shim_map_find(uintptr_t addr, size_t len, struct shim_map *piece);

/* The page at @addr was told of: its piece of the mapping, if it is in one. */
bool shim_map_fault(uintptr_t addr, struct shim_map *page);

/*
 * Take out what lies in [@addr, @addr + @len) before it goes; the rest of the
 * mappings stays. The number of @pieces. A call that failed gives them back by
 * shim_map_add().
 */
int shim_map_cut(uintptr_t addr, size_t len,
		 struct shim_map pieces[static SHIM_MAP_PIECES]);

/* Bytes of the pages of @m that the process has touched, or -1. */
int64_t shim_map_touched(const struct shim_map *m);

/* Record what a mapping was used for; @touched from before it went. */
void shim_map_tell(const struct shim_map *m, int64_t touched, uint64_t end);

/* The process ends: record mappings that are still there. May be called more
 * than once. */
void shim_maps_finish(void);

/* --- the calls, made by @fn, in a process that records: wrap_map.c --------- */

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

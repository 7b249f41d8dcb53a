/* SPDX-License-Identifier: MIT */
/* Names of files in counting mode: files share names, which are fewer. */
#ifndef PRELOAD_CORE_COUNTED_NAME_H
#define PRELOAD_CORE_COUNTED_NAME_H

#include "preload/core/shim.h"

#define SHIM_BASE_BYTES 256

/* The name that a file shares: the first @dir bytes of its path, and @base. */
struct shim_folded {
	size_t dir, base_len;
	char base[SHIM_BASE_BYTES];
	uint64_t hash;	/* of the shared name */
	uint64_t whole; /* of the path */
};

/*
 * Fill @f with the shared name of @path, the path of @ev. The more names are
 * used, the shorter it is. Directories keep their names, because other names
 * are relative to them.
 */
void shim_name_fold(struct shim_folded *f, const struct shim_event *ev,
		    const char *path);
/* The descriptor id of a name's hash. 0: the name is new, and @desc becomes its
 * id unless it is 0. */
uint32_t shim_name_desc(uint64_t hash, uint32_t desc);
/* Count an opened file in the estimate of distinct files, by the hash of its
 * whole path. */
void shim_name_seen(uint64_t whole);
/* Does @ev open a directory? */
bool shim_opens_directory(const struct shim_event *ev);
/* Forget all names: this is a forked child. */
void shim_names_forget(void);

#endif

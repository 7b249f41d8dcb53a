/* SPDX-License-Identifier: MIT */
/* The names that counters keep: fewer than there are files. */
#ifndef PRELOAD_CORE_COUNTED_NAME_H
#define PRELOAD_CORE_COUNTED_NAME_H

#include "preload/core/shim.h"

#define SHIM_BASE_BYTES 256

/* A file's name as counters have it: @dir bytes of the path, and @base. */
struct shim_folded {
	size_t dir, base_len;
	char base[SHIM_BASE_BYTES];
	uint64_t hash, whole; /* of the shared name, of the path */
};

/* FNV-1a, from @h on. */
static inline uint64_t shim_hash_bytes(uint64_t h, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3ull;
	return h;
}

/* The name of @path, of which @ev is, as counters have it by now. */
void shim_name_fold(struct shim_folded *f, const struct shim_event *ev,
		    const char *path);
/* The id of a name's hash, or 0: it is not known, and @desc, if any, becomes it. */
uint32_t shim_name_desc(uint64_t hash, uint32_t desc);
/* Count a file that was opened, about: by the hash of its whole path. */
void shim_name_seen(uint64_t whole);
bool shim_opens_directory(const struct shim_event *ev);
/* In a forked child. */
void shim_names_forget(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Which paths are code or system files; shell patterns. Pure functions. */
#ifndef PRELOAD_MATCH_H
#define PRELOAD_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Is @path (NUL-terminated, @len bytes) a file of the interpreter or of the
 * system, by its place and its ending? @reading: not opened for writing. A
 * data ending (.npy, .h5, .png ...) wins over a code directory.
 */
bool match_code(const char *path, size_t len, bool reading);

/*
 * The first @dir bytes of @path are its directory, with the last "/". Can what
 * is in it be told from data by match_code_name() alone?
 */
bool match_data_dir(const char *path, size_t len, size_t dir);

/* May the @name of @n > 0 bytes be one of code? Most are told at a glance. */
static inline bool match_odd_name(const char *name, size_t n)
{
	static const uint64_t ends[4] = {
		0x03ff000000000000, /* 0-9 */
		1ull << ('b' - 64) | 1ull << ('c' - 64) | 1ull << ('i' - 64) |
			1ull << ('o' - 64) | 1ull << ('y' - 64),
	};
	unsigned char first = (unsigned char)name[0];
	unsigned char last = (unsigned char)name[n - 1];

	return ends[last / 64] >> last % 64 & 1 ||
	       ((first == 's' || first == 'd') && name[1] == 'i') ||
	       (first == '_' && name[1] == '_') ||
	       (first == 'p' && name[1] == 'y');
}

/* match_code() of a @path in a directory for which match_data_dir() is true. */
bool match_code_name(const char *path, size_t len, size_t dir);

/*
 * Does one of the newline-separated @globs match? "*" matches "/" too, "?" a
 * byte; a pattern without "/" is tried on the last part of @path.
 */
bool match_globs(const char *globs, const char *path, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/* Decides which paths are code or system files; matches shell patterns. Pure
 * functions. */
#ifndef PRELOAD_CORE_PATH_FILTER_H
#define PRELOAD_CORE_PATH_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum match {
	MATCH_CODE, /* a file of the interpreter or of the system */
	MATCH_DATA,
	/* Data, and match_code_name() alone decides on others in its directory. */
	MATCH_DATA_DIR,
};

/*
 * Classify @path (NUL-terminated, @len bytes, its first @dir bytes the directory
 * with the last "/") by its directory and its ending. @reading: not opened for
 * writing. A data ending (.npy, .h5, .png ...) wins over a code directory.
 */
enum match match_path(const char *path, size_t len, size_t dir, bool reading);

/*
 * @path shares its first @same bytes with a path whose first *@dir bytes were a
 * directory of MATCH_DATA_DIR. True: so is the directory of @path, and *@dir is
 * its length. False: unknown.
 */
bool match_next_dir(const char *path, size_t same, size_t *dir);

/* The last 4 bytes of a name as a number. */
#define MATCH_END(a, b, c, d)                                                  \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 |            \
	 (uint32_t)(d) << 24)

/* May the @name of @n bytes be one of code, by its first and last bytes? */
static inline __attribute__((always_inline)) bool
match_odd_name(const char *name, size_t n)
{
	uint32_t end = 0, end3;
	uint16_t begin;
	size_t i = n;

	if (n < 4)
		return true; /* the caller looks at each byte */
	__builtin_memcpy(&end, name + n - 4, 4);
	__builtin_memcpy(&begin, name, 2);
	if ((end >> 24) - '0' < 10u) { /* libz.so.1.2 */
		while (i > 3 && (name[i - 1] == '.' ||
				 (name[i - 1] >= '0' && name[i - 1] <= '9')))
			i--;
		if (name[i - 1] == 'o')
			return true;
	}
	end3 = end >> 8;
	return end3 == MATCH_END('.', 'p', 'y', 0) ||
	       end3 == MATCH_END('.', 's', 'o', 0) ||
	       end == MATCH_END('.', 'p', 'y', 'c') ||
	       end == MATCH_END('.', 'p', 'y', 'i') ||
	       end == MATCH_END('.', 'p', 'y', 'o') ||
	       end == MATCH_END('y', 'l', 'i', 'b') ||
	       begin == MATCH_END('s', 'i', 0, 0) ||
	       begin == MATCH_END('d', 'i', 0, 0) ||
	       begin == MATCH_END('_', '_', 0, 0) ||
	       begin == MATCH_END('p', 'y', 0, 0) ||
	       begin == MATCH_END('o', 'm', 0, 0);
}

/* Is @path code, in a directory of MATCH_DATA_DIR? */
bool match_code_name(const char *path, size_t len, size_t dir);

/*
 * Does one of the newline-separated @globs match? "*" matches "/" too, "?" a
 * byte; a pattern without "/" is tried on the last part of @path.
 */
bool match_globs(const char *globs, const char *path, size_t len);

#endif

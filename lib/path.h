/* SPDX-License-Identifier: MIT */
/* Paths of a trace as text, without access to a file system. */
#ifndef LIB_PATH_H
#define LIB_PATH_H

#include <stddef.h>

#include "schemas/trace_format.h"

/*
 * Resolve @path to @out: relative to @base unless absolute, without ".", "..",
 * "//", and without @root in front. @base NULL: unknown, @path stays relative.
 * Returns the length; 0 when @path is empty or too long.
 */
#define REEL_PATH_ROOM (2 * REEL_PATH_BYTES + 2)
size_t reel_path_resolve(char out[static REEL_PATH_ROOM], const char *base,
			 size_t base_len, const char *path, size_t len,
			 const char *root, size_t root_len);

#endif

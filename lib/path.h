/* SPDX-License-Identifier: MIT */
/* Paths of a trace as text, without a look at any file system. */
#ifndef LIB_PATH_H
#define LIB_PATH_H

#include <stddef.h>

#include "schemas/trace_format.h"

/*
 * @path, relative to @base unless absolute, without ".", "..", "//" and
 * without @root in front, into @out. @base NULL: not known, @path stays
 * relative. Returns its length; 0 when it is empty or does not fit.
 */
#define REEL_PATH_ROOM (2 * REEL_PATH_BYTES + 2)
size_t reel_path_resolve(char out[static REEL_PATH_ROOM], const char *base,
			 size_t base_len, const char *path, size_t len,
			 const char *root, size_t root_len);

#endif

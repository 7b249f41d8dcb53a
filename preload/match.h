/* SPDX-License-Identifier: MIT */
/* Which paths are code or system files; shell patterns. Pure functions. */
#ifndef PRELOAD_MATCH_H
#define PRELOAD_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is @path (NUL-terminated, @len bytes) a file of the interpreter or of the
 * system, by its place and its ending? @reading: not opened for writing. A
 * data ending (.npy, .h5, .png ...) wins over a code directory.
 */
bool match_code(const char *path, size_t len, bool reading);

/*
 * Does one of the newline-separated @globs match? "*" matches "/" too, "?" a
 * byte; a pattern without "/" is tried on the last part of @path.
 */
bool match_globs(const char *globs, const char *path, size_t len);

#endif

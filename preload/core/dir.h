/* SPDX-License-Identifier: MIT */
/*
 * Names of directories by descriptor. The reader knows recorded directories.
 * The shim needs the name of a directory that is not recorded, and of all while
 * patterns or counters use whole paths.
 */
#ifndef PRELOAD_CORE_DIR_H
#define PRELOAD_CORE_DIR_H

#include "preload/core/counters.h"
#include "preload/core/shim.h"

/*
 * The absolute form of @path below directory @at, or below the working
 * directory, without ".", ".." and "//". It is @path itself, or in @out. NULL:
 * the directory has no name, or there is no room. Asks the kernel once for each
 * descriptor whose open was not seen.
 */
COLD const char *shim_dir_path(int at, const char *path,
			       char out[REEL_PATH_BYTES]);

/* Make *@path below *@at absolute, in @room, if the directory has a name. */
COLD void shim_dir_put(int *at, const char **path, char room[REEL_PATH_BYTES]);

/* @fd with the table entry @entry was opened as @path with @flags, or is a
 * directory of that name (O_DIRECTORY). */
COLD void shim_dir_opened(int fd, uint32_t entry, const char *path,
			  int64_t flags);
/* @to is a copy of @fd, which has the entry @entry. */
COLD void shim_dir_dupped(int fd, uint32_t entry, int to);
/* A rename made @path below @at: if it is a directory, stored names are
 * outdated. */
COLD void shim_dir_renamed(int at, const char *path);

/* Do patterns or counters need whole paths? */
HOT bool shim_dir_whole(void)
{
	return shim.globs || shim_counting;
}

/* Must @path, which may be read, be made absolute, as the reader does not know
 * its directory? */
HOT bool shim_dir_below(int at, const char *path)
{
	return at != AT_FDCWD && path && *path && *path != '/' &&
	       (shim_dir_whole() || !shim_is_desc(shim_fd(at)));
}

#endif

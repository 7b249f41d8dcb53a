/* SPDX-License-Identifier: MIT */
/*
 * Names of directories by descriptor. The reader knows the directories that are
 * recorded; the shim needs the name of one itself where that is not recorded, or
 * where patterns or counters go by whole paths.
 */
#ifndef PRELOAD_CORE_DIR_H
#define PRELOAD_CORE_DIR_H

#include "preload/core/counters.h"
#include "preload/core/shim.h"

/*
 * @path below directory @at, or below the working directory: absolute, without
 * ".", ".." and "//". It is @path, or in @out; NULL: the directory has no name,
 * or there is no room. The kernel is asked once for each descriptor that no open told of.
 */
COLD const char *shim_dir_path(int at, const char *path,
			       char out[REEL_PATH_BYTES]);

/* Make @path below @at absolute, in @room, if the directory has a name. */
COLD void shim_dir_put(int *at, const char **path, char room[REEL_PATH_BYTES]);

/* @fd, whose entry is @entry, was opened as @path by @flags, or is a directory of
 * that name (O_DIRECTORY). */
COLD void shim_dir_opened(int fd, uint32_t entry, const char *path,
			  int64_t flags);
/* @to is a copy of @fd, of entry @entry. */
COLD void shim_dir_dupped(int fd, uint32_t entry, int to);
/* Something is @path below @at now: if it is a directory, names have changed. */
COLD void shim_dir_renamed(int at, const char *path);

/* Do whole paths matter, whatever is recorded? */
HOT bool shim_dir_whole(void)
{
	return shim.globs || shim_counting;
}

/* Must @path, which may be read, be made absolute to mean what it does? */
HOT bool shim_dir_below(int at, const char *path)
{
	return at != AT_FDCWD && path && *path && *path != '/' &&
	       (shim_dir_whole() || !shim_is_desc(shim_fd(at)));
}

#endif

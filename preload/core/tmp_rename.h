/* SPDX-License-Identifier: MIT */
/*
 * Renames of temporary files by system calls that the shim cannot see. Rust's
 * libraries create a file with O_EXCL under a temporary name and rename it by a
 * raw system call. So when such a file is closed, the kernel is asked for its
 * name, and an unrecorded rename is recorded. Only renames in the same
 * directory by the process that created the file.
 */
#ifndef PRELOAD_CORE_TMP_RENAME_H
#define PRELOAD_CORE_TMP_RENAME_H

#include "preload/core/shim.h"

/* @fd, with the id @desc, was created as @path. */
COLD void shim_tmp_made(int fd, uint32_t desc, const char *path);

/* A recorded call renamed a file with the last name of @path: forget it. */
COLD void shim_tmp_renamed(const char *path);

/* @fd is about to be closed: record a rename if its name changed. Leaves errno
 * alone. */
COLD void shim_tmp_closing(int fd, uint32_t desc);

#endif

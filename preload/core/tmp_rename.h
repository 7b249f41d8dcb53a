/* SPDX-License-Identifier: MIT */
/*
 * Files that were made under a name of their own (O_EXCL), which are often
 * temporary. Rust's libraries give them their last name by a system call that
 * no library sees: so the kernel is asked for it where such a file is closed,
 * and a rename that nobody recorded is told. Those of one directory alone, by
 * the process that made the file.
 */
#ifndef PRELOAD_CORE_TMP_RENAME_H
#define PRELOAD_CORE_TMP_RENAME_H

#include "preload/core/shim.h"

/* @fd, the descriptor @desc, was made as @path. */
COLD void shim_tmp_made(int fd, uint32_t desc, const char *path);

/* A file of the name of @path was renamed by a call that is recorded. */
COLD void shim_tmp_renamed(const char *path);

/* @fd is about to be closed. errno stays. */
COLD void shim_tmp_closing(int fd, uint32_t desc);

#endif

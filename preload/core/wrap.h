/* SPDX-License-Identifier: MIT */
/* Between the wrappers that are written by hand. */
#ifndef PRELOAD_CORE_WRAP_H
#define PRELOAD_CORE_WRAP_H

#include "preload/core/shim.h"
#include "preload/core/types.h"

/* Has an open with these flags a mode? */
#define SHIM_WITH_MODE(flags)                                                  \
	((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)

/* --- files.c ---------------------------------------------------------------
 */

/* Enter the descriptor that an open made (or not), and record the open. */
void shim_opened(struct shim_event *ev, uint64_t start, uint64_t end, int fd);

/* The names that ioreel_names_as() has said. */
COLD void shim_name_as(struct shim_event *ev);

/* Record a call on paths, unless they are code. */
void shim_record_path(struct shim_event *ev, uint64_t start, uint64_t end,
		      int64_t result, int err);

/*
 * May @path of a call that failed with @err be read, and is it short enough to
 * tell? A call may fail before it looks at its path, or because of it.
 */
COLD bool shim_readable_path(const char *path, int err);

/*
 * The path at @path, which lies where the call is about to write: its copy in
 * @kept, or NULL when it cannot be read or does not fit.
 */
#define SHIM_KEPT 256
COLD const char *shim_keep_path(const char *path, char kept[SHIM_KEPT]);
HOT bool shim_overwritten(const struct shim_event *ev)
{
	return ev->out &&
	       (uintptr_t)ev->path - (uintptr_t)ev->out < ev->out_bytes;
}

/* A call on @fd, which is not recorded: @entry says why. */
COLD void shim_unrecorded(int fd, uint32_t entry, uint32_t call,
			  int64_t result);

/* Bytes of an iovec that the kernel has accepted. */
int64_t shim_iov_bytes(const struct iovec *iov, int n);

/* Where the link /proc/self/fd/@fd leads. False, and "", if that is unsaid. */
bool shim_fd_path(int fd, char *out, size_t room);

/* The id of @fd, or 0: not recorded. */
HOT uint32_t shim_known(int fd)
{
	uint32_t entry = shim_fd(fd);

	return shim_is_desc(entry) ? entry : 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Functions of fdtable.c for the wrappers that are written by hand. */
#ifndef PRELOAD_CORE_WRAP_H
#define PRELOAD_CORE_WRAP_H

#include "preload/core/shim.h"
#include "preload/core/types.h"

/* Has an open with these flags a mode? */
#define SHIM_WITH_MODE(flags)                                                  \
	((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)

/* An open ended with @fd, a descriptor or a failure: enter it in the table, and
 * record the open. */
void shim_opened(struct shim_event *ev, uint64_t start, uint64_t end, int fd);

/* Replace the paths of @ev by the names given to ioreel_names_as(). */
COLD void shim_name_as(struct shim_event *ev);

/* Record a call on paths, or count it if they are code. */
void shim_record_path(struct shim_event *ev, uint64_t start, uint64_t end,
		      int64_t result, int err);

/*
 * May @path be read, of a call that failed with @err (0: succeeded), and does
 * it fit into a record? A call may fail before the kernel reads the path, or
 * because of the path.
 */
COLD bool shim_readable_path(const char *path, int err);

/*
 * Copy @path, which the call is about to overwrite, to @kept and return the
 * copy. NULL: it cannot be read or does not fit.
 */
#define SHIM_KEPT 256
COLD const char *shim_keep_path(const char *path, char kept[SHIM_KEPT]);

/* Is the path of @ev in the memory that the call will fill? */
HOT bool shim_overwritten(const struct shim_event *ev)
{
	return ev->out &&
	       (uintptr_t)ev->path - (uintptr_t)ev->out < ev->out_bytes;
}

/* Count a call on @fd, which is not recorded because of its table entry @entry.
 * EBADF is recorded. */
COLD void shim_unrecorded(int fd, uint32_t entry, uint32_t call,
			  int64_t result);

/* The bytes of an iovec that the kernel has accepted. */
int64_t shim_iov_bytes(const struct iovec *iov, int n);

/* Read the link /proc/self/fd/@fd into @out. False, and "": it cannot be
 * read. */
bool shim_fd_path(int fd, char *out, size_t room);

/* The descriptor id of @fd; 0: it is not recorded. */
HOT uint32_t shim_known(int fd)
{
	uint32_t entry = shim_fd(fd);

	return shim_is_desc(entry) ? entry : 0;
}

#endif

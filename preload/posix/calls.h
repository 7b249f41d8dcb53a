/* SPDX-License-Identifier: MIT */
/*
 * Records that the wrappers of single calls share with syscall(), which makes
 * the same calls by their numbers.
 */
#ifndef PRELOAD_POSIX_CALLS_H
#define PRELOAD_POSIX_CALLS_H

#include "preload/core/wrap.h"

/*
 * dup() and its relatives: @to, or a failure, is a copy of @fd, whose table
 * entry is @entry. open_close.c
 */
void shim_record_dup(struct shim_event *ev, int fd, uint32_t entry,
		     uint64_t start, uint64_t end, int to);

/* fcntl() with the command ev->arg and the argument @arg. open_close.c */
void shim_record_fcntl(struct shim_event *ev, int fd, uint32_t entry, long arg,
		       uint64_t start, uint64_t end, int result);

/* One close record for each recorded descriptor of the range. open_close.c */
void shim_record_close_range(unsigned int first, unsigned int last,
			     uint64_t start);

/* The working directory changed to that of @fd or (NOFD) to a path, or the call
 * failed. open_close.c */
void shim_record_chdir(struct shim_event *ev, int fd, uint64_t start,
		       uint64_t end, int result);

/* memfd.c */
void shim_record_memfd(const char *name, unsigned int flags, uint64_t start,
		       uint64_t end, int fd);

/* A copy from the entry @from to the entry @to. */
struct shim_copy {
	uint32_t call;
	uint32_t from, to;
	int to_fd;
	int64_t flags; /* NONE: the call has none */
	size_t len;
	const off64_t *from_off, *to_off; /* NULL or the caller's */
};

/* copy.c */
void shim_record_copy(const struct shim_copy *c, uint64_t start, uint64_t end,
		      int64_t result);

/* Look up libc's syscall(): until then ours makes every call itself. Called as
 * soon as possible, by the entry and by a constructor. */
void shim_syscall_find(void);

#endif

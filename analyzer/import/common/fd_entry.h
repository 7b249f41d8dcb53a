/* SPDX-License-Identifier: MIT */
/* An entry of a process's table of descriptors. */
#ifndef ANALYZER_IMPORT_FD_ENTRY_H
#define ANALYZER_IMPORT_FD_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/import/common/job.h"

struct fd_entry {
	uint32_t desc;	    /* 0: not open, or nothing is known of it */
	uint32_t path_hash; /* 0: not known */
	uint32_t renames;   /* of the job when it was opened */
	bool cloexec;
	bool silent;  /* its calls are no I/O */
	bool message; /* a pipe or socket */
	bool guessed; /* known by its path only: its open was not seen */
};

uint32_t fd_path_hash(const char *path, size_t len);
/* By the text that /proc/PID/fd gives, or that strace -yy prints. */
enum reel_kind fd_kind(const struct import_fd *fd);
bool fd_kind_is_message(enum reel_kind kind);
/*
 * Does the text of @fd belong to another descriptor than @e, whose close was not seen?
 * A file that was opened may have a new name, but does not become a socket.
 */
bool fd_entry_is_reused(const struct fd_entry *e, const struct import_fd *fd);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The last changes of descriptors' numbers: which descriptor had a number when a call
 * began.
 *
 * The kernel looks a number up as the call begins, and a call is known at its end.
 * Meanwhile another thread may have got the number: close() frees it before it returns.
 */
#ifndef ANALYZER_IMPORT_FD_CHANGES_H
#define ANALYZER_IMPORT_FD_CHANGES_H

#include <stdint.h>

#include "analyzer/import/common/fd_entry.h"

#define FD_CHANGES 256u

struct fd_change {
	struct fd_entry was;
	int64_t fd, ns;
	int process;
};

/* Zeroed is empty. */
struct fd_changes {
	struct fd_change ring[FD_CHANGES];
	uint64_t n;
	int64_t last_ns; /* the latest of all */
};

/* Number @fd of @process has been another descriptor than @was since @ns. */
void fd_changes_add(struct fd_changes *c, int process, int64_t fd,
		    const struct fd_entry *was, int64_t ns);
/* The descriptor that had the number at @ns, borrowed until the next change; NULL: the
 * one that has it now, or the change is forgotten. */
const struct fd_entry *fd_changes_find(const struct fd_changes *c, int process,
				       int64_t fd, int64_t ns);

#endif

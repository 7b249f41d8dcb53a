/* SPDX-License-Identifier: MIT */
/*
 * Which calls a log can show. The options -e and -P of strace leave calls out, and the
 * log does not name the options: a call that is absent proves nothing, unless the log
 * has calls that only a log of all calls, or of all calls on descriptors, has.
 */
#ifndef ANALYZER_IMPORT_STRACE_SCOPE_H
#define ANALYZER_IMPORT_STRACE_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/import/common/job.h"
#include "analyzer/import/strace/strace_line.h"

/* Reads and writes. */
struct strace_transfers {
	int64_t calls, ns;
};

/* Zeroed: no line was seen. */
struct strace_scope {
	bool whole;	/* calls that have nothing to do with files */
	bool anonymous; /* mmap() of memory: no path of -P is its file */
	bool any_fd;	/* calls that only a filter of all descriptors has */
	bool closes;
	bool seeks; /* calls that set an offset */
	/* Descriptors without a text of -y; of these, descriptors that no call
	 * made. */
	struct strace_transfers untold, nameless;
};

void strace_scope_see(struct strace_scope *s, const struct strace_line *line);
/* Count @call, an event that was added, if it is a read or write of a descriptor
 * whose file the log may not show. */
void strace_scope_transfer(struct strace_scope *s,
			   const struct import_call *call, int64_t dur_ns);
/* Write what the log cannot show as notes: v_log_scope. 0, or -1 with @err. */
int strace_scope_note(const struct strace_scope *s, struct reel_writer *w,
		      struct reel_error *err);

#endif

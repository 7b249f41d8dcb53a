/* SPDX-License-Identifier: MIT */
/* The files of one strace, as one sequence of lines in the order of time. */
#ifndef ANALYZER_IMPORT_STRACE_SOURCE_H
#define ANALYZER_IMPORT_STRACE_SOURCE_H

#include <stdint.h>

#include "lib/progress.h"
#include "lib/merge_heap.h"

#include "analyzer/import/strace/strace_line.h"

struct import_input;
struct reel_error;
struct strace_source;

/* Zeroed: closed. */
struct strace_sources {
	const struct import_input *in;
	struct strace_source *source;
	int n, next; /* sources, and those that were started */
	struct reel_merge_heap heap;
	struct strace_source *current; /* of the line that _next() returned */
	enum strace_clock clock;
	int64_t origin_ns; /* time of the first line */
	int64_t tick_ns,
		dur_tick_ns; /* the greatest of a time, of a duration */
	uint64_t lines, calls, not_understood;
	uint64_t bad_line; /* number of the first that was not understood */
	const char *bad_path;
	struct reel_progress progress;
};

/*
 * Look at the first lines of all files. Files without a line of strace are left
 * out. 0, or -1 with @err: REEL_E_FORMAT when no file has one, when several files
 * have no times, or when files have times of different kinds.
 */
int strace_sources_open(struct strace_sources *ss,
			const struct import_input *in, struct reel_error *err);
/* Returns 0, or -1 with @err. Borrows @line. */
typedef int strace_see_fn(void *arg, struct strace_line *line,
			  struct reel_error *err);
/*
 * Before the first _next(): call @see with each line of the files that have several
 * threads, file by file. Lines that are not STRACE_RESUMED are STRACE_IGNORED and have
 * no more than the pid. 0, or -1 with @err.
 */
int strace_sources_scan(struct strace_sources *ss, strace_see_fn *see,
			void *arg, struct reel_error *err);
/*
 * The next line, borrowed until the next call; line->ns is of one clock, and
 * line->pid, where the line has none, is that of the file's name. 1, 0 at the
 * end, -1 with @err.
 */
int strace_sources_next(struct strace_sources *ss, struct strace_line **line,
			struct reel_error *err);
/* A bound of the error of the times of all lines that were read; REEL_NO_OFFSET
 * without times. */
int64_t strace_sources_error_ns(const struct strace_sources *ss);
/* The line of the last _next() was not understood after all. */
void strace_sources_reject(struct strace_sources *ss);
void strace_sources_close(struct strace_sources *ss);

#endif

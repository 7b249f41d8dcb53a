/* SPDX-License-Identifier: MIT */
/* The system calls of strace that are I/O, and their arguments. */
#ifndef ANALYZER_IMPORT_STRACE_CALL_H
#define ANALYZER_IMPORT_STRACE_CALL_H

#include <stdbool.h>

#include "schemas/trace_format.h" /* REEL_PATH_BYTES */

#include "analyzer/import/common/job.h"
#include "analyzer/import/strace/strace_line.h"

/* The importer's action on a call. */
enum strace_effect {
	STRACE_NOT_IO,
	STRACE_IO,	/* an event */
	STRACE_PIPE,	/* two descriptors in the first argument */
	STRACE_PAIR,	/* in the last argument: socketpair() */
	STRACE_SOCKET,	/* a descriptor as the result */
	STRACE_QUIET,	/* the same, and calls on it are no I/O: epoll */
	STRACE_CLOEXEC, /* ioctl(FIOCLEX) */
	STRACE_FORK,
	STRACE_UNSHARE, /* perhaps the table of descriptors */
	STRACE_EXEC,
	STRACE_COPY,  /* two events: sendfile() and its like */
	STRACE_ASYNC, /* the result: operations that are submitted */
};

struct strace_call_info {
	const char *name;
	enum strace_effect effect;
	uint16_t call;	  /* enum reel_call */
	const char *args; /* a letter for each argument: strace_call.c */
};

/* NULL: not I/O. */
const struct strace_call_info *strace_call_find(struct strace_text name);

/* Room for the strings of one call; they are borrowed from it. */
struct strace_paths {
	char path[REEL_PATH_BYTES + 1], path2[REEL_PATH_BYTES + 1];
	char fd[REEL_PATH_BYTES + 1], at[REEL_PATH_BYTES + 1];
	char at2[REEL_PATH_BYTES + 1], made[REEL_PATH_BYTES + 1];
};

/*
 * Fill @out from the arguments and the result of @line. False: they are not
 * those of such a call.
 */
bool strace_call_fill(struct import_call *out, struct strace_paths *paths,
		      const struct strace_call_info *info,
		      const struct strace_line *line);
/* A descriptor with its path, which goes to @room. False: @arg is none. */
bool strace_call_fd(struct import_fd *out,
		    char room[static REEL_PATH_BYTES + 1],
		    struct strace_text arg);
/* The writing half of a STRACE_COPY whose reading half is @out already. */
bool strace_call_copy_out(struct import_call *out, struct strace_paths *paths,
			  const struct strace_call_info *info,
			  const struct strace_line *line);

#endif

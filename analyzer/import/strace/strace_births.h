/* SPDX-License-Identifier: MIT */
/*
 * Which thread made which: a child's first line often stands before the line on
 * which its parent's fork returns, and several forks can be under way. A look ahead
 * at the returns tells the parent.
 */
#ifndef ANALYZER_IMPORT_STRACE_BIRTHS_H
#define ANALYZER_IMPORT_STRACE_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/intmap.h"

struct reel_error;
struct strace_sources;

/* Zeroed: empty. */
struct strace_births {
	struct strace_birth *birth; /* in the order of the file */
	uint32_t births, room;
	struct reel_intmap of_child, of_parent; /* to the queues */
	struct strace_birth_queue *child, *parent;
	uint32_t child_room, parent_room;
	struct reel_intmap seen; /* pids of lines */
	int64_t last_pid;
};

/*
 * Read the returns of interrupted forks in @ss. A child of another pid namespace than
 * strace's returns with a number that no line has: such a birth is left out. 0, or -1
 * with @err.
 */
int strace_births_read(struct strace_births *b, struct strace_sources *ss,
		       struct reel_error *err);
/* Does a line that was read have the pid @tid? */
bool strace_births_has_lines(const struct strace_births *b, int64_t tid);
/* The thread whose interrupted fork returns @child next; -1: none does. */
int64_t strace_births_parent(const struct strace_births *b, int64_t child);
/* The child that the next interrupted fork of @parent returns; -1: none does. */
int64_t strace_births_child(const struct strace_births *b, int64_t parent);
/* An interrupted fork of @parent has returned @child. */
void strace_births_returned(struct strace_births *b, int64_t parent,
			    int64_t child);
void strace_births_fini(struct strace_births *b);

#endif

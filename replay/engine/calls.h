/* SPDX-License-Identifier: MIT */
/*
 * The calls that a replay issues again: a function for each row of
 * schemas/calls.def, apart from calls of MPI, and those that start processes or
 * only submit operations. The function of a row NAME is issue_NAME(), in the
 * file of its kind, call_KIND.c; without it the program does not link. Then what
 * is done around calls: messages, newlines, changes by other programs.
 */
#ifndef REPLAY_ENGINE_CALLS_H
#define REPLAY_ENGINE_CALLS_H

#include "replay/engine/player.h"

#define CALL(id, NAME, ...) player_call issue_##NAME;
#define BY_HAND(id, NAME, ...) player_call issue_##NAME;
#define PART(id, NAME, ...) player_call issue_##NAME;
#include "schemas/calls.def"

/* Define the function of the row NAME. */
#define CALL_OF(NAME)                                                          \
	int64_t issue_##NAME(struct player *p, const struct call_spec *s)

/* The same for a call that is one expression. */
#define CALL_IS(NAME, ...)                                                     \
	CALL_OF(NAME)                                                          \
	{                                                                      \
		return __VA_ARGS__;                                            \
	}

/* The same with a variable, for example memory that the call fills. */
#define CALL_WITH(NAME, variable, ...)                                         \
	CALL_OF(NAME)                                                          \
	{                                                                      \
		variable;                                                      \
                                                                               \
		return __VA_ARGS__;                                            \
	}

/*
 * Issue a call that locks. By fcntl(), too: F_SETLK and its like. See
 * call_lock.c on what a lock of the job becomes.
 */
int64_t call_lock(struct player *p, const struct call_spec *s);

/* For a stream into a pipe or socket: can the call write out the buffer? */
bool call_stdio_sends(const struct player *p, const struct call_spec *s);

/* Do all bytes that @s writes stay in the stream's buffer? */
bool call_stdio_keeps(const struct call_spec *s);

/* Do what exit() does, without a record, to the streams that @q wrote to. */
void call_stdio_exit(struct player_process *q);

/* --- reads and writes of pipes and sockets, none of which can block ------- */

/* Issue @call, a read or write of a pipe or socket. */
int64_t message_call(struct player *p, const struct call_spec *s,
		     player_call *call);

/*
 * The same for a write, or a copy, into @fd, to which @object is assigned; a
 * copy may read from another pipe at the same time.
 */
int64_t message_write(struct player *p, const struct call_spec *s,
		      uint32_t object, int fd, player_call *call);

/* Put the bytes that @s reads into the pipe or socket @fd. */
void message_feed(struct player *p, const struct call_spec *s, int fd);

/* --- newlines in written data, where the job read lines later ------------- */

/*
 * Around a call of PLAN_F_LINES: put the newlines into p->out, and replace them
 * again, because other calls write from the same memory.
 */
void line_writes_add(struct player *p, const struct call_spec *s);
void line_writes_remove(struct player *p, const struct call_spec *s);

/* The byte at @at of the data that the record writes. */
uint8_t line_writes_byte(const struct player *p, const struct call_spec *s,
			 int64_t at);

/* --- changes of other programs, just before the call that observed them --- */

/* Prefix of entries that stand in for those that the job never used. */
#define STAND_IN ".stand-in."

/* Make the changes of PLAN_F_EXTERNAL, before the call @s. */
void external_changes_apply(struct player *p, const struct call_spec *s);

/* PLAN_F_NAMED: give @fd, a new O_TMPFILE, the name that it got later. */
void external_changes_name_file(struct player *p, const struct call_spec *s,
				int fd);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The calls that a replay issues again: a function for each row of
 * schemas/calls.def, apart from calls of MPI, and those that start processes or
 * only submit operations. The function of a row NAME is issue_NAME(), in the
 * file of its kind, call_KIND.c; without it the program does not link.
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

#endif

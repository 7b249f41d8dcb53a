/* SPDX-License-Identifier: MIT */
/* Calls on the streams of stdio. */
#ifndef REPLAY_ENGINE_CALL_STDIO_H
#define REPLAY_ENGINE_CALL_STDIO_H

#include "replay/engine/player.h"

/* The function that issues @op, or NULL when it is none of these calls. */
player_call *call_stdio_find(uint16_t op);

/* For a stream into a pipe or socket: can the call write out the buffer? */
bool call_stdio_sends(const struct player *p, const struct call_spec *s);

/* Do all bytes that @s writes stay in the stream's buffer? */
bool call_stdio_keeps(const struct call_spec *s);

/* Do what exit() does, without a record, to the streams that @q wrote to. */
void call_stdio_exit(struct player_process *q);

#endif

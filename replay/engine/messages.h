/* SPDX-License-Identifier: MIT */
/* Reads and writes of pipes and sockets, issued so that none can block. */
#ifndef REPLAY_ENGINE_MESSAGES_H
#define REPLAY_ENGINE_MESSAGES_H

#include "replay/engine/player.h"

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

#endif

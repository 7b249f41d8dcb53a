/* SPDX-License-Identifier: MIT */
/* Locks on files: fcntl(), flock() and lockf(). */
#ifndef REPLAY_ENGINE_CALL_LOCK_H
#define REPLAY_ENGINE_CALL_LOCK_H

#include "replay/engine/player.h"

/* Issue @s, a call that locks or asks for a lock, so that it never waits. */
int64_t call_lock(struct player *p, const struct call_spec *s);

#endif

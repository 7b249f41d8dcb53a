/* SPDX-License-Identifier: MIT */
/* Calls on descriptors: open, close, read, write, seek, sync. */
#ifndef REPLAY_ENGINE_CALL_FD_H
#define REPLAY_ENGINE_CALL_FD_H

#include "replay/engine/player.h"

/* The function that issues @op, or NULL when it is none of these calls. */
player_call *call_fd_find(uint16_t op);

#endif

/* SPDX-License-Identifier: MIT */
/* Calls that copy between two descriptors inside the kernel. */
#ifndef REPLAY_ENGINE_CALL_COPY_H
#define REPLAY_ENGINE_CALL_COPY_H

#include "replay/engine/player.h"

/* The function that issues @op, or NULL when it is none of these calls. */
player_call *call_copy_find(uint16_t op);

#endif

/* SPDX-License-Identifier: MIT */
/* Calls on mappings of files. */
#ifndef REPLAY_ENGINE_CALL_MMAP_H
#define REPLAY_ENGINE_CALL_MMAP_H

#include "replay/engine/player.h"

/* The function that issues @op, or NULL when it is none of these calls. */
player_call *call_mmap_find(uint16_t op);

#endif

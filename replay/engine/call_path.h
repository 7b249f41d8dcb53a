/* SPDX-License-Identifier: MIT */
/* Calls on names: status, directories, links, renames, removals. */
#ifndef REPLAY_ENGINE_CALL_PATH_H
#define REPLAY_ENGINE_CALL_PATH_H

#include "replay/engine/player.h"

/* The function that issues @op, or NULL when it is none of these calls. */
player_call *call_path_find(uint16_t op);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Changes that other programs made to the job's files, repeated just before the
 * first call that observed them.
 */
#ifndef REPLAY_ENGINE_EXTERNAL_CHANGES_H
#define REPLAY_ENGINE_EXTERNAL_CHANGES_H

#include "replay/engine/player.h"

/* Prefix of entries that stand in for those that the job never used. */
#define STAND_IN ".stand-in."

/* Make the changes of PLAN_F_EXTERNAL, before the call @s. */
void external_changes_apply(struct player *p, const struct call_spec *s);

/* PLAN_F_NAMED: give @fd, a new O_TMPFILE, the name that it got later. */
void external_changes_name_file(struct player *p, const struct call_spec *s,
				int fd);

#endif

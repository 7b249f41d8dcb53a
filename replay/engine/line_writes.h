/* SPDX-License-Identifier: MIT */
/* Newlines in written data, at the places where the job read lines later. */
#ifndef REPLAY_ENGINE_LINE_WRITES_H
#define REPLAY_ENGINE_LINE_WRITES_H

#include "replay/engine/player.h"

/*
 * Around a call of PLAN_F_LINES: put the newlines into p->out, and replace them
 * again, because other calls write from the same memory.
 */
void line_writes_add(struct player *p, const struct call_spec *s);
void line_writes_remove(struct player *p, const struct call_spec *s);

/* The byte at @at of the data that the record writes. */
uint8_t line_writes_byte(const struct player *p, const struct call_spec *s,
			 int64_t at);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Newlines in what is written, for those that read it as lines.
 *
 * A thread that writes lines has memory of its own (PLAN_SHARED_BYTES): there
 * they stand while the call runs, and only then.
 */
#include "replay/engine/player.h"

#define NO_NEWLINE 'x'

/* The first line of the record that is not before @at. */
static uint32_t first_line(const struct player *p, const struct step *s,
			   int64_t at)
{
	return plan_line_from(p->engine->plan->line + s->m->line, s->m->lines,
			      at);
}

static void put(struct player *p, const struct step *s, uint8_t byte)
{
	const int64_t *line = p->engine->plan->line + s->m->line;
	uint32_t i = first_line(p, s, s->moved);

	if (!plan_needs_buffer(s->r))
		return; /* is written byte by byte */
	for (; i < s->m->lines && line[i] < s->moved + s->size; i++)
		if (line[i] >= s->moved)
			p->out[line[i] - s->moved] = byte;
}

void newlines_put(struct player *p, const struct step *s)
{
	put(p, s, '\n');
}

void newlines_take(struct player *p, const struct step *s)
{
	put(p, s, NO_NEWLINE);
}

uint8_t newlines_byte(const struct player *p, const struct step *s, int64_t at)
{
	const int64_t *line = p->engine->plan->line + s->m->line;
	uint32_t i = first_line(p, s, s->moved + at);

	return i < s->m->lines && line[i] == s->moved + at
		       ? '\n'
		       : p->out[at % PLAN_SHARED_BYTES];
}

/* SPDX-License-Identifier: MIT */
/*
 * Newlines in written data, for later reads of lines.
 *
 * A thread that writes lines has p->out of its own (PLAN_SHARED_BYTES). The
 * newlines are there only during the call.
 */
#include "replay/engine/calls.h"

#include "replay/engine/player.h"

#define NO_NEWLINE 'x'

/* The first line end of the record at or after @at. */
static uint32_t first_line(const struct player *p, const struct call_spec *s,
			   int64_t at)
{
	return plan_line_from(p->engine->plan->line + s->m->line, s->m->lines,
			      at);
}

static void put_byte_at_ends(struct player *p, const struct call_spec *s,
			     uint8_t byte)
{
	const int64_t *line = p->engine->plan->line + s->m->line;
	uint32_t i = first_line(p, s, s->moved);

	if (!plan_needs_buffer(s->r))
		return; /* written byte by byte: line_writes_byte() */
	for (; i < s->m->lines && line[i] < s->moved + s->size; i++)
		if (line[i] >= s->moved)
			p->out[line[i] - s->moved] = byte;
}

void line_writes_add(struct player *p, const struct call_spec *s)
{
	put_byte_at_ends(p, s, '\n');
}

void line_writes_remove(struct player *p, const struct call_spec *s)
{
	put_byte_at_ends(p, s, NO_NEWLINE);
}

uint8_t line_writes_byte(const struct player *p, const struct call_spec *s,
			 int64_t at)
{
	const int64_t *line = p->engine->plan->line + s->m->line;
	uint32_t i = first_line(p, s, s->moved + at);

	return i < s->m->lines && line[i] == s->moved + at
		       ? '\n'
		       : p->out[at % PLAN_SHARED_BYTES];
}

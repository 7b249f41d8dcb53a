/* SPDX-License-Identifier: MIT */
/* A growing list of marks; nothing here knows what they mean. */
#include "replay/model/annotations.h"

#include <stdlib.h>

#include "lib/error.h"

int annotations_add(struct annotations *m, const struct annotation *mark,
		    struct reel_error *err)
{
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 256;

		if (reel_grow(&m->mark, room, sizeof(*m->mark), err))
			return -1;
		m->room = room;
	}
	m->mark[m->n] = *mark;
	m->mark[m->n].order = (uint32_t)m->n;
	m->n++;
	return 0;
}

static int by_call(const void *a, const void *b)
{
	const struct annotation *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void annotations_sort(struct annotations *m)
{
	if (m->n)
		qsort(m->mark, m->n, sizeof(*m->mark), by_call);
}

void annotations_fini(struct annotations *m)
{
	free(m->mark);
	m->mark = NULL;
	m->n = m->room = 0;
}

/* SPDX-License-Identifier: MIT */
/* A growing list of annotations. Their meaning is in the header. */
#include "replay/model/annotations.h"

#include <stdlib.h>

#include "lib/array.h"

int annotations_add(struct annotations *a, const struct annotation *annotation,
		    struct reel_error *err)
{
	if (reel_array_reach(&a->list, &a->room, a->n, sizeof(*a->list), err))
		return -1;
	a->list[a->n] = *annotation;
	a->list[a->n].order = a->n;
	a->n++;
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

void annotations_sort(struct annotations *a)
{
	if (a->n)
		qsort(a->list, a->n, sizeof(*a->list), by_call);
}

void annotations_fini(struct annotations *a)
{
	free(a->list);
	a->list = NULL;
	a->n = a->room = 0;
}

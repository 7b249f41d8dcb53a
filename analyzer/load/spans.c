/* SPDX-License-Identifier: MIT */
/*
 * Spans into blocks, in the order of span_id. They are kept until the end: one
 * whose parent never ended has none, and that is not known before.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/load/internal.h"

struct load_span {
	struct reel_span_event ev;
	bool closed;
	char *name; /* a user's own; else NULL */
};

int load_span_add(struct load *l, const struct reel_span_event *sp, bool closed,
		  struct reel_error *err)
{
	struct load_span *s;

	if (l->spans == l->span_room) {
		uint32_t room = l->span_room ? 2 * l->span_room : 64;

		if (reel_grow(&l->span, room, sizeof(*l->span), err))
			return -1;
		l->span_room = room;
	}
	s = &l->span[l->spans];
	*s = (struct load_span){.ev = *sp, .closed = closed};
	s->ev.name = reel_span_name(sp->kind);
	if (strcmp(s->ev.name, sp->name)) {
		s->name = reel_strdup(sp->name, err);
		if (!s->name)
			return -1;
		s->ev.name = s->name;
	}
	l->spans++;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct load_span *x = a, *y = b;

	return x->ev.span_id < y->ev.span_id ? -1
					     : x->ev.span_id > y->ev.span_id;
}

/* Is there a span of this id? They are sorted. */
static bool exists(const struct load *l, uint32_t id)
{
	const struct load_span key = {.ev.span_id = id};

	return bsearch(&key, l->span, l->spans, sizeof(key), by_id);
}

static int add(const struct load *l, struct reel_rows *r, uint32_t i)
{
	const struct reel_span_event *ev = &l->span[i].ev;
	const char *before = i ? l->span[i - 1].ev.name : "";
	uint32_t parent = ev->parent;

	if (reel_rows_text_add(r, before, strlen(before), ev->name,
			       strlen(ev->name)))
		return -1;
	if (parent && reel_resolve_dangling(l->resolver) && !exists(l, parent))
		parent = 0;
	r->id[r->n] = ev->span_id;
	r->v[REEL_SPAN_THREAD][r->n] = ev->thread;
	r->v[REEL_SPAN_PARENT][r->n] = parent ? ev->span_id - parent : 0;
	r->v[REEL_SPAN_KIND][r->n] = ev->kind;
	r->v[REEL_SPAN_DETAIL][r->n] =
		ev->detail == -1 ? 0 : reel_zigzag((uint64_t)ev->detail) + 1;
	r->v[REEL_SPAN_START_NS][r->n] = (uint64_t)ev->start_ns;
	r->v[REEL_SPAN_DUR_NS][r->n] = (uint64_t)ev->dur_ns;
	r->v[REEL_SPAN_CLOSED][r->n] = l->span[i].closed;
	r->n++;
	return 0;
}

int load_spans(struct load *l, struct reel_error *err)
{
	struct reel_rows rows = {0};
	struct reel_insert out;
	int rc = reel_insert_open(&out, l->st,
				  "INSERT INTO span_block (spans, min_span_id, "
				  "max_span_id, data) VALUES (?, ?, ?, ?)",
				  err);

	if (!rc && reel_rows_begin(&rows, &reel_row_span, REEL_ROW_BLOCK))
		rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
	if (l->spans)
		qsort(l->span, l->spans, sizeof(*l->span), by_id);
	for (uint32_t i = 0; !rc && i < l->spans; i++) {
		if (add(l, &rows, i))
			rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
		else if (reel_rows_full(&rows))
			rc = reel_insert_block(&out, l->codec, &rows, err);
	}
	if (!rc)
		rc = reel_insert_block(&out, l->codec, &rows, err);
	reel_rows_fini(&rows);
	return reel_insert_close(&out, rc);
}

void load_spans_fini(struct load *l)
{
	for (uint32_t i = 0; i < l->spans; i++)
		free(l->span[i].name);
	free(l->span);
}

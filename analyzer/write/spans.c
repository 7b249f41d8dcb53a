/* SPDX-License-Identifier: MIT */
/*
 * Spans into blocks, in the order of span_id. They are kept until the end: only
 * then is it known which parents never came.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/write/internal.h"

#define NAMES_TRIED 8

/* A copy of @name; most are one of the last few. */
static const char *keep_name(struct reel_writer *w, const char *name,
			     struct reel_error *err)
{
	for (uint32_t i = 1; i <= w->span_names && i <= NAMES_TRIED; i++)
		if (!strcmp(w->span_name[w->span_names - i], name))
			return w->span_name[w->span_names - i];
	if (reel_array_reach(&w->span_name, &w->span_name_room, w->span_names,
			     sizeof(*w->span_name), err))
		return NULL;
	w->span_name[w->span_names] = reel_strdup(name, err);
	return w->span_name[w->span_names] ? w->span_name[w->span_names++]
					   : NULL;
}

int writer_span_keep(struct reel_writer *w, const struct reel_span_event *sp,
		     bool closed, struct reel_error *err)
{
	struct writer_span *s;

	if (reel_array_append(&w->span, &w->span_room, w->spans,
			      sizeof(*w->span), err))
		return -1;
	s = &w->span[w->spans];
	if (w->spans && sp->span_id < s[-1].ev.span_id)
		w->spans_unsorted = true;
	*s = (struct writer_span){.ev = *sp, .closed = closed};
	s->ev.name = reel_span_name(sp->kind);
	if (strcmp(s->ev.name, sp->name)) {
		s->ev.name = keep_name(w, sp->name, err);
		if (!s->ev.name)
			return -1;
	}
	w->spans++;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct writer_span *x = a, *y = b;

	return x->ev.span_id < y->ev.span_id ? -1
					     : x->ev.span_id > y->ev.span_id;
}

/* Is there a span @id? They are sorted, and most ids have no gap. */
static bool has_span(const struct reel_writer *w, uint32_t id)
{
	const struct writer_span key = {.ev.span_id = id};
	uint32_t guess = w->spans ? id - w->span[0].ev.span_id : 0;

	if (guess < w->spans && w->span[guess].ev.span_id == id)
		return true;
	return bsearch(&key, w->span, w->spans, sizeof(key), by_id);
}

static int add_span(const struct reel_writer *w, struct reel_rows *r,
		    uint32_t i)
{
	const struct reel_span_event *ev = &w->span[i].ev;
	const char *before = i ? w->span[i - 1].ev.name : "";
	uint32_t parent = ev->parent;

	if (reel_rows_text_add(r, before, strlen(before), ev->name,
			       strlen(ev->name)))
		return -1;
	if (parent && !has_span(w, parent))
		parent = 0;
	r->id[r->n] = ev->span_id;
	r->v[REEL_SPAN_THREAD][r->n] = ev->thread;
	r->v[REEL_SPAN_PARENT][r->n] = parent ? ev->span_id - parent : 0;
	r->v[REEL_SPAN_KIND][r->n] = ev->kind;
	r->v[REEL_SPAN_DETAIL][r->n] =
		ev->detail == -1 ? 0 : reel_zigzag((uint64_t)ev->detail) + 1;
	r->v[REEL_SPAN_START_NS][r->n] = (uint64_t)ev->start_ns;
	r->v[REEL_SPAN_DUR_NS][r->n] = (uint64_t)ev->dur_ns;
	r->v[REEL_SPAN_CLOSED][r->n] = w->span[i].closed;
	r->n++;
	return 0;
}

int writer_spans_flush(struct reel_writer *w, struct reel_error *err)
{
	struct reel_rows rows = {0};
	struct reel_insert out;
	int rc = reel_insert_open(&out, w->st,
				  "INSERT INTO span_block (spans, min_span_id, "
				  "max_span_id, data) VALUES (?, ?, ?, ?)",
				  err);

	if (!rc && reel_rows_begin(&rows, &reel_row_span, REEL_ROW_BLOCK))
		rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
	if (w->spans_unsorted)
		qsort(w->span, w->spans, sizeof(*w->span), by_id);
	for (uint32_t i = 0; !rc && i < w->spans; i++) {
		if (add_span(w, &rows, i))
			rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
		else if (reel_rows_full(&rows))
			rc = reel_insert_block(&out, w->codec[0], &rows, err);
	}
	if (!rc)
		rc = reel_insert_block(&out, w->codec[0], &rows, err);
	reel_rows_fini(&rows);
	return reel_insert_close(&out, rc);
}

void writer_spans_fini(struct reel_writer *w)
{
	for (uint32_t i = 0; i < w->span_names; i++)
		free(w->span_name[i]);
	free(w->span_name);
	free(w->span);
}

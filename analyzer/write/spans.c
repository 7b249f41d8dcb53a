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

int writer_span_keep(struct reel_writer *w, const struct reel_span_event *sp,
		     struct reel_error *err)
{
	uint32_t name = 0;

	if (strcmp(reel_span_name(sp->kind), sp->name)) {
		name = reel_texts_keep(&w->span_name, sp->name, err);
		if (name++ == REEL_NO_INDEX)
			return -1;
	}
	if (reel_array_append(&w->span, &w->span_room, w->spans,
			      sizeof(*w->span), err))
		return -1;
	if (w->spans && sp->span_id < w->span[w->spans - 1].span_id)
		w->spans_unsorted = true;
	w->span[w->spans++] = (struct writer_span){
		.start_ns = sp->start_ns,
		.dur_ns = sp->dur_ns,
		.detail = sp->detail,
		.span_id = sp->span_id,
		.parent = sp->parent,
		.thread = sp->thread,
		.name = name,
		.kind = (uint8_t)sp->kind,
		.closed = !sp->open,
	};
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct writer_span *x = a, *y = b;

	return x->span_id < y->span_id ? -1 : x->span_id > y->span_id;
}

/* Put each span to the place of its id, without a second array, as qsort() has one.
 * False: the ids have gaps, or come twice. */
static bool place_by_id(struct writer_span *span, uint32_t n)
{
	uint32_t first = UINT32_MAX, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		first = span[i].span_id < first ? span[i].span_id : first;
		last = span[i].span_id > last ? span[i].span_id : last;
	}
	if (last - first != n - 1)
		return false;
	for (uint32_t i = 0; i < n; i++)
		while (span[i].span_id - first != i) {
			struct writer_span *to = &span[span[i].span_id - first],
					   moved = *to;

			if (to->span_id == span[i].span_id)
				return false;
			*to = span[i];
			span[i] = moved;
		}
	return true;
}

/* Is there a span @id? They are sorted, and most ids have no gap. */
static bool has_span(const struct reel_writer *w, uint32_t id)
{
	const struct writer_span key = {.span_id = id};
	uint32_t guess = w->spans ? id - w->span[0].span_id : 0;

	if (guess < w->spans && w->span[guess].span_id == id)
		return true;
	return bsearch(&key, w->span, w->spans, sizeof(key), by_id);
}

static const char *name_of(const struct reel_writer *w,
			   const struct writer_span *s)
{
	return s->name ? w->span_name.text[s->name - 1]
		       : reel_span_name(s->kind);
}

static int add_span(const struct reel_writer *w, struct reel_rows *r,
		    uint32_t i)
{
	const struct writer_span *s = &w->span[i];
	const char *before = i ? name_of(w, s - 1) : "", *name = name_of(w, s);
	uint32_t parent = s->parent;

	if (reel_rows_text_add(r, before, strlen(before), name, strlen(name)))
		return -1;
	if (parent && !has_span(w, parent))
		parent = 0;
	r->id[r->n] = s->span_id;
	r->v[REEL_SPAN_THREAD][r->n] = s->thread;
	r->v[REEL_SPAN_PARENT][r->n] = parent ? s->span_id - parent : 0;
	r->v[REEL_SPAN_KIND][r->n] = s->kind;
	r->v[REEL_SPAN_DETAIL][r->n] =
		s->detail == -1 ? 0 : reel_zigzag((uint64_t)s->detail) + 1;
	r->v[REEL_SPAN_START_NS][r->n] = (uint64_t)s->start_ns;
	r->v[REEL_SPAN_DUR_NS][r->n] = (uint64_t)s->dur_ns;
	r->v[REEL_SPAN_CLOSED][r->n] = s->closed;
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
	if (w->spans_unsorted && !place_by_id(w->span, w->spans))
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
	/* The metrics finish next, with arrays as large. */
	free(w->span);
	w->span = NULL;
	w->spans = w->span_room = 0;
	return reel_insert_close(&out, rc);
}

void writer_spans_fini(struct reel_writer *w)
{
	reel_texts_fini(&w->span_name);
	free(w->span);
}

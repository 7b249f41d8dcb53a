/* SPDX-License-Identifier: MIT */
/*
 * The resolver's spans: marks paired per thread.
 *
 * Spans need not nest: two loaders may interleave their epochs. An end closes
 * the innermost open span of its kind, wherever it is in the stack.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/resolve/internal.h"

#define DEPTH_MAX 4096 /* further ones are dropped: their ends never come */

static uint32_t kind_of(const struct reel_record *rec)
{
	int64_t kind = rec->has_arg ? rec->arg : REEL_SPAN_USER;

	return kind > 0 && kind < REEL_SPANS ? (uint32_t)kind : REEL_SPAN_USER;
}

int spans_begin(struct reel_resolver *r, struct spans *s,
		const struct reel_record *rec, int64_t start_ns,
		struct reel_error *err)
{
	struct span *new;
	uint32_t parent;

	if (s->n >= DEPTH_MAX)
		return 0;
	if (s->n == s->room) {
		uint32_t room = s->room ? 2 * s->room : 8;

		if (reel_grow(&s->span, room, sizeof(*s->span), err))
			return -1;
		s->room = room;
	}
	new = &s->span[s->n];
	*new = (struct span){.id = r->last_span + 1,
			     .kind = kind_of(rec),
			     .detail = rec->has_arg2 ? rec->arg2 : -1,
			     .start_ns = start_ns};
	if (new->kind == REEL_SPAN_USER && rec->path) {
		new->name = reel_strdup(rec->path, err);
		if (!new->name)
			return -1;
	}
	/* A span has no parent that began after it. */
	parent = s->n;
	while (parent && s->span[parent - 1].start_ns > start_ns)
		parent--;
	if (parent && !rec->has_size)
		new->parent = s->span[parent - 1].id;
	r->last_span++;
	s->n++;
	return 0;
}

static int emit_span(struct reel_resolver *r, const struct span *s, int thread,
		     int64_t now_ns, bool open, struct reel_error *err)
{
	const struct thread *t = &r->thread[thread];
	struct reel_span_event ev = {
		.start_ns = s->start_ns,
		.dur_ns = now_ns > s->start_ns ? now_ns - s->start_ns : 0,
		.span_id = s->id,
		.parent = s->parent,
		.process = r->process[t->is.process].is.process_id,
		.thread = t->is.thread_id,
		.kind = s->kind,
		.count = 1,
		.open = open,
		.detail = s->detail,
		.name = s->name ? s->name : reel_span_name(s->kind),
	};

	return r->sink.span(r->sink.arg, &ev, err);
}

int spans_end(struct reel_resolver *r, struct spans *s, int thread,
	      const struct reel_record *rec, int64_t now_ns, bool cancel,
	      struct reel_error *err)
{
	uint32_t kind = kind_of(rec), i = s->n;
	struct span *p = NULL;
	int rc = 0;

	while (i--) {
		p = &s->span[i];
		if (p->kind == kind && (kind != REEL_SPAN_USER ||
					!strcmp(p->name ? p->name : "",
						rec->path ? rec->path : "")))
			break;
		p = NULL;
	}
	if (!p)
		return 0; /* it began before the recording, or was dropped */
	if (!cancel)
		rc = emit_span(r, p, thread, now_ns, false, err);
	free(p->name);
	memmove(p, p + 1, (s->n - i - 1) * sizeof(*p));
	s->n--;
	return rc;
}

int spans_end_all(struct reel_resolver *r, struct spans *s, int thread,
		  int64_t now_ns, struct reel_error *err)
{
	while (s->n) {
		struct span *p = &s->span[s->n - 1];

		if (emit_span(r, p, thread, now_ns, true, err))
			return -1;
		free(p->name);
		s->n--;
	}
	spans_fini(s);
	return 0;
}

void spans_fini(struct spans *s)
{
	while (s->n)
		free(s->span[--s->n].name);
	free(s->span);
	memset(s, 0, sizeof(*s));
}

/* SPDX-License-Identifier: MIT */
/*
 * Passes over a loader before the training of their process: for statistics of the
 * data, for a copy in memory, or an evaluation with gradients on. The hooks mark
 * them as epochs with steps, as they cannot know whether a training call follows,
 * and a job without such calls (JAX with a DataLoader) trains in its passes.
 *
 * Therefore the epochs, steps and fetches of a process are held until its first
 * backward pass or optimizer step. Epochs that ended before it are evaluations,
 * and have no steps. Numbers of later epochs and steps stay as the job counted them.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"

#include "analyzer/load/internal.h"

/* A process that fetches so often before it trains keeps its epochs. */
#define HELD_MOST 65536

struct load_held_span {
	struct reel_span_event span;
	bool evaluates; /* part of an evaluation */
	bool dropped;
};

/* Make the epoch @last and the spans within it, which are before it, an evaluation. */
static void make_evaluation(struct load_held_span *held, uint32_t last)
{
	struct reel_span_event *pass = &held[last].span;

	pass->kind = REEL_SPAN_EVAL;
	pass->name = reel_span_name(REEL_SPAN_EVAL);
	pass->detail = -1;
	held[last].evaluates = true;
	for (uint32_t i = last; i-- > 0;) {
		struct load_held_span *h = &held[i];

		if (h->span.thread != pass->thread)
			continue;
		if (h->span.start_ns < pass->start_ns)
			break;
		if (h->evaluates)
			continue;
		h->evaluates = true;
		h->dropped = h->span.kind == REEL_SPAN_STEP;
		h->span.parent = pass->span_id;
		if (h->span.detail != REEL_FETCH_STOP)
			h->span.detail = -1;
	}
}

/* Give the spans of @u to the writer; @trains: a training call follows. */
static int settle(struct load *l, struct load_untrained *u, bool trains,
		  struct reel_error *err)
{
	u->settled = true;
	for (uint32_t i = 0; trains && i < u->n; i++)
		if (u->held[i].span.kind == REEL_SPAN_EPOCH &&
		    !u->held[i].span.open)
			make_evaluation(u->held, i);
	for (uint32_t i = 0; i < u->n; i++)
		if (!u->held[i].dropped &&
		    reel_writer_span(l->writer, &u->held[i].span, err))
			return -1;
	free(u->held);
	u->held = NULL;
	u->n = 0;
	return 0;
}

static int hold(struct load_untrained *u, const struct reel_span_event *sp,
		struct reel_error *err)
{
	if (reel_array_append(&u->held, &u->room, u->n, sizeof(*u->held), err))
		return -1;
	u->held[u->n] = (struct load_held_span){.span = *sp};
	u->held[u->n++].span.name = reel_span_name(sp->kind);
	return 0;
}

int load_span(struct load *l, const struct reel_span_event *sp,
	      struct reel_error *err)
{
	struct load_untrained *u = &l->process[sp->process - 1].untrained;
	bool trains = sp->kind == REEL_SPAN_BACKWARD ||
		      sp->kind == REEL_SPAN_OPTIMIZER;
	bool loop = sp->kind == REEL_SPAN_EPOCH || sp->kind == REEL_SPAN_STEP ||
		    sp->kind == REEL_SPAN_FETCH;

	if (u->settled || (!trains && !loop) ||
	    strcmp(sp->name, reel_span_name(sp->kind)))
		return reel_writer_span(l->writer, sp, err);
	/* Sums of spans (--events none) do not show single passes. */
	if (loop && sp->count == 1 && u->n < HELD_MOST)
		return hold(u, sp, err);
	return settle(l, u, trains && sp->count == 1, err) ||
			       reel_writer_span(l->writer, sp, err)
		       ? -1
		       : 0;
}

int load_spans_finish(struct load *l, struct reel_error *err)
{
	for (int i = 0; i < l->processes; i++)
		if (settle(l, &l->process[i].untrained, false, err))
			return -1;
	return 0;
}

void load_spans_fini(struct load *l)
{
	for (int i = 0; l->process && i < l->processes; i++)
		free(l->process[i].untrained.held);
}

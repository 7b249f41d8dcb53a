/* SPDX-License-Identifier: MIT */
/*
 * Steps of a thread that trains and marks none, or none any more: its loop takes the
 * batches from no loader, or keeps those of a first pass. A step lasts from the end of
 * an optimizer step to the end of the next one in its thread; the first from its
 * backward pass, as nothing shows where its batch was requested.
 *
 * Optimizer steps without a backward pass between them, as of a model with an
 * optimizer for each part, are one step.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/write/internal.h"

#define STEPS_LEAST 2 /* a single one is no loop */

static struct writer_trainer *trainer_of(struct writer_trainers *all,
					 const struct reel_span_event *sp,
					 struct reel_error *err)
{
	uint32_t i = reel_intmap_get(&all->by_thread, sp->thread, err);
	struct writer_trainer *t;

	if (i == REEL_NO_INDEX || reel_array_reach(&all->trainer, &all->room, i,
						   sizeof(*all->trainer), err))
		return NULL;
	t = &all->trainer[i];
	if (i >= all->trainers) {
		all->trainers = i + 1;
		t->process = sp->process;
		t->thread = sp->thread;
		t->first_ns = sp->start_ns;
	}
	if (!t->steps && !t->backwards)
		t->first_ns = sp->start_ns;
	return t;
}

/* Forget what was seen of @thread: it is part of the marked step that ends, or of no loop. */
static void see_step(struct writer_trainers *all, uint32_t thread)
{
	uint32_t i = reel_intmap_find(&all->by_thread, thread);

	if (i == REEL_NO_INDEX)
		return;
	all->trainer[i].steps = 0;
	all->trainer[i].backwards = all->trainer[i].trained = false;
}

static int add_optimizer(struct writer_trainer *t, int64_t end_ns,
			 struct reel_error *err)
{
	if (t->steps && t->backwards && !t->trained) {
		t->end_ns[t->steps - 1] = end_ns;
		return 0;
	}
	if (reel_array_append(&t->end_ns, &t->room, t->steps,
			      sizeof(*t->end_ns), err))
		return -1;
	t->end_ns[t->steps++] = end_ns;
	t->trained = false;
	return 0;
}

int writer_steps_see(struct reel_writer *w, const struct reel_span_event *sp,
		     struct reel_error *err)
{
	struct writer_trainers *all = &w->trainers;
	struct writer_trainer *t;

	if (sp->span_id > all->last_span)
		all->last_span = sp->span_id;
	if (sp->kind == REEL_SPAN_STEP) {
		see_step(all, sp->thread);
		return 0;
	}
	if ((sp->kind != REEL_SPAN_OPTIMIZER &&
	     sp->kind != REEL_SPAN_BACKWARD) ||
	    sp->count != 1)
		return 0;
	t = trainer_of(all, sp, err);
	if (!t)
		return -1;
	if (sp->kind == REEL_SPAN_OPTIMIZER)
		return add_optimizer(t, sp->start_ns + sp->dur_ns, err);
	t->backwards = t->trained = true;
	return 0;
}

static int put_steps(struct reel_writer *w, const struct writer_trainer *t,
		     struct reel_error *err)
{
	struct reel_span_event sp = {
		.start_ns = t->first_ns,
		.process = t->process,
		.thread = t->thread,
		.kind = REEL_SPAN_STEP,
		.count = 1,
		.name = reel_span_name(REEL_SPAN_STEP),
	};

	for (uint32_t i = 0; i < t->steps; i++) {
		sp.dur_ns = t->end_ns[i] - sp.start_ns;
		sp.span_id = ++w->trainers.last_span;
		sp.detail = i;
		if (writer_span_add(w, &sp, err))
			return -1;
		sp.start_ns = t->end_ns[i];
	}
	return reel_writer_note(w, t->process, t->thread, "steps", "optimizer",
				err);
}

int writer_steps_put(struct reel_writer *w, struct reel_error *err)
{
	const struct writer_trainers *all = &w->trainers;

	for (uint32_t i = 0; i < all->trainers; i++) {
		const struct writer_trainer *t = &all->trainer[i];

		if (t->steps >= STEPS_LEAST && put_steps(w, t, err))
			return -1;
	}
	return 0;
}

void writer_steps_fini(struct reel_writer *w)
{
	struct writer_trainers *all = &w->trainers;

	for (uint32_t i = 0; i < all->trainers; i++)
		free(all->trainer[i].end_ns);
	free(all->trainer);
	reel_intmap_fini(&all->by_thread);
}

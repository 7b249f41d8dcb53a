/* SPDX-License-Identifier: MIT */
/*
 * Steps and evaluations from the fetches of a thread. A fetch that is followed by a
 * backward pass or an optimizer step before the next fetch begins a step, which
 * lasts to that next fetch. Of the fetches between two such steps the first found
 * the end of the data; those behind it are of an evaluation, as are all before the
 * first step.
 *
 * Where no training is seen, as in inference, each fetch but the last begins a step.
 */
#include "analyzer/import/profile/kineto_loop.h"

#include <stdlib.h>

#include "schemas/trace_format.h"

#include "lib/error.h"

#define EVALUATION_FETCHES 2 /* at least: of a batch and of the end */

int kineto_loop_fetch(struct kineto_loop *loop, uint32_t thread,
		      int64_t start_ns, int64_t end_ns, struct reel_error *err)
{
	if (loop->thread && loop->thread != thread)
		return 0;
	loop->thread = thread;
	return profile_intervals_append(&loop->fetches, start_ns, end_ns, err);
}

int kineto_loop_training(struct kineto_loop *loop, int64_t start_ns,
			 int64_t end_ns, struct reel_error *err)
{
	return profile_intervals_add(&loop->training, start_ns, end_ns, err);
}

int kineto_loop_settle(struct kineto_loop *loop, struct reel_error *err)
{
	const struct profile_intervals *f = &loop->fetches;
	const struct profile_intervals *t = &loop->training;
	size_t k = 0;

	profile_intervals_sort(&loop->fetches);
	profile_intervals_merge(&loop->training);
	if (!f->n || !t->n || t->at[t->n - 1].start_ns < f->at[0].start_ns)
		return 0;
	loop->trains = reel_alloc(f->n, sizeof(*loop->trains), err);
	if (!loop->trains)
		return -1;
	for (size_t i = 0; i < f->n; i++) {
		while (k < t->n && t->at[k].start_ns < f->at[i].start_ns)
			k++;
		loop->trains[i] =
			k < t->n && (i + 1 == f->n ||
				     t->at[k].start_ns < f->at[i + 1].start_ns);
	}
	return 0;
}

int kineto_loop_evaluations(struct kineto_loop *loop,
			    struct profile_intervals *steps,
			    struct reel_error *err)
{
	size_t from = 0;

	profile_intervals_sort(steps);
	for (size_t i = 0; i <= steps->n; i++) {
		if (i < steps->n &&
		    !profile_intervals_meet(&loop->training,
					    steps->at[i].start_ns,
					    steps->at[i].end_ns))
			continue;
		if (i - from > 1 && i - from < steps->n &&
		    profile_intervals_append(&loop->evaluations,
					     steps->at[from].start_ns,
					     steps->at[i - 1].end_ns, err))
			return -1;
		from = i + 1;
	}
	return 0;
}

const struct profile_interval *
kineto_loop_evaluation(const struct kineto_loop *loop, int64_t start_ns)
{
	const struct profile_intervals *e = &loop->evaluations;
	size_t i = profile_intervals_from(e, start_ns);

	return i < e->n && e->at[i].start_ns <= start_ns ? &e->at[i] : NULL;
}

/* Did fetch @i find the end of the data that was trained on? */
static bool is_stop(const struct kineto_loop *loop, size_t i)
{
	return loop->trains && i && loop->trains[i - 1] && !loop->trains[i];
}

int64_t kineto_loop_detail(const struct kineto_loop *loop, uint32_t thread,
			   int64_t start_ns)
{
	size_t from = 0, to = loop->fetches.n;

	if (thread != loop->thread)
		return -1;
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (loop->fetches.at[middle].start_ns < start_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from < loop->fetches.n && is_stop(loop, from) ? REEL_FETCH_STOP
							     : -1;
}

/* The end of the training that the last fetch led to: the profile may end long after. */
static int64_t last_training_ns(const struct kineto_loop *loop)
{
	return loop->training.at[loop->training.n - 1].end_ns;
}

/* The fetches from @i on that lead to no training. */
static size_t untrained_from(const struct kineto_loop *loop, size_t i)
{
	size_t n = 0;

	while (i + n < loop->fetches.n && !loop->trains[i + n])
		n++;
	return n;
}

/* The step that fetch @i begins. False: nothing shows its end. */
static bool step_of(const struct kineto_loop *loop, size_t i,
		    struct profile_interval *span)
{
	const struct profile_intervals *f = &loop->fetches;

	if (i + 1 == f->n && !loop->trains)
		return false;
	span->start_ns = f->at[i].start_ns;
	span->end_ns =
		i + 1 < f->n ? f->at[i + 1].start_ns : last_training_ns(loop);
	return true;
}

uint32_t kineto_loop_next(const struct kineto_loop *loop, size_t *at,
			  struct profile_interval *span)
{
	const struct profile_intervals *f = &loop->fetches;

	while (*at < f->n) {
		size_t i = *at, n;

		if (!loop->trains || loop->trains[i]) {
			*at = i + 1;
			return step_of(loop, i, span) ? REEL_SPAN_STEP : 0;
		}
		i += is_stop(loop, i);
		n = untrained_from(loop, i);
		*at = i + n;
		/* One batch that no fetch follows was taken to look at it. */
		if (n >= EVALUATION_FETCHES) {
			span->start_ns = f->at[i].start_ns;
			span->end_ns = f->at[i + n - 1].end_ns;
			return REEL_SPAN_EVAL;
		}
	}
	return 0;
}

void kineto_loop_fini(struct kineto_loop *loop)
{
	free(loop->fetches.at);
	free(loop->training.at);
	free(loop->trains);
	free(loop->evaluations.at);
	*loop = (struct kineto_loop){0};
}

/* SPDX-License-Identifier: MIT */
/* The runs of TensorFlow's functions, and those of them that train. */
#include "analyzer/import/profile/tensorflow_runs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/intmap.h"

#include "analyzer/import/common/trace_events.h"
#include "analyzer/import/profile/tensorflow.h"

static int add_run(struct tensorflow_runs *r, const struct trace_event *ev,
		   struct reel_error *err)
{
	if (reel_array_append(&r->at, &r->room, r->n, sizeof(*r->at), err))
		return -1;
	r->at[r->n++] = (struct tensorflow_run){
		.function = reel_hash_bytes(REEL_HASH_FIRST, ev->name.s,
					    ev->name.len),
		.start_ns = ev->ts_ns,
		.end_ns = ev->ts_ns + ev->dur_ns};
	return 0;
}

/* A run is "EagerLocalExecute: __inference_train_function_503"; an operator has its
 * whole name as an argument, "gradient_tape/dense/ReluGrad:ReluGrad". */
int tensorflow_runs_see(struct tensorflow_runs *r, const struct trace_event *ev,
			struct reel_error *err)
{
	const struct trace_text *op;

	if (strstr(ev->name.s, ": __inference_"))
		return add_run(r, ev, err);
	op = trace_event_arg(ev, "long_name");
	return op && tensorflow_trains(op->s)
		       ? profile_intervals_add(&r->gradients, ev->ts_ns,
					       ev->ts_ns + ev->dur_ns, err)
		       : 0;
}

static int by_function(const void *a, const void *b)
{
	const struct tensorflow_run *x = a, *y = b;

	return x->function < y->function ? -1 : x->function > y->function;
}

/* The start of a run would be in the step before where the function fetches. */
static int add_training(struct tensorflow_fetches *f,
			const struct tensorflow_run *run,
			struct reel_error *err)
{
	size_t i = tensorflow_fetches_from(f, run->start_ns);
	int64_t start_ns = run->start_ns;

	if (i < f->n && f->at[i].start_ns < run->end_ns)
		start_ns = f->at[i].start_ns;
	return profile_intervals_append(&f->training, start_ns, run->end_ns,
					err);
}

int tensorflow_runs_training(struct tensorflow_runs *r,
			     struct tensorflow_fetches *f,
			     struct reel_error *err)
{
	profile_intervals_merge(&r->gradients);
	if (r->n)
		qsort(r->at, r->n, sizeof(*r->at), by_function);
	for (uint32_t i = 0, end; i < r->n; i = end) {
		bool trains = false;

		for (end = i;
		     end < r->n && r->at[end].function == r->at[i].function;
		     end++)
			trains |= profile_intervals_meet(&r->gradients,
							 r->at[end].start_ns,
							 r->at[end].end_ns);
		for (uint32_t k = i; trains && k < end; k++)
			if (add_training(f, &r->at[k], err))
				return -1;
	}
	profile_intervals_merge(&f->training);
	return 0;
}

void tensorflow_runs_fini(struct tensorflow_runs *r)
{
	free(r->at);
	free(r->gradients.at);
	*r = (struct tensorflow_runs){0};
}

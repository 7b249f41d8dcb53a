/* SPDX-License-Identifier: MIT */
/* The waits of TensorFlow for batches, and the steps between them. */
#include "analyzer/import/profile/tensorflow.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/profile.h"

/* @stages follow those two of a reduction; the input of its scan is a loop's:
 * "::Prefetch::Scan::Batch". */
static enum tensorflow_wait reduction_of(const char *stages)
{
	const char *scan = strstr(stages, "::Scan::");

	if (!*stages)
		return TENSORFLOW_REDUCE;
	return scan && !strstr(scan + strlen("::Scan::"), "::")
		       ? TENSORFLOW_LOOP
		       : TENSORFLOW_NO_WAIT;
}

/* A function of Python, "$iterator_ops.py:824 __next__". */
static enum tensorflow_wait python_of(const char *name)
{
	const char *function = strrchr(name, ' ');

	if (!function || strcmp(function, " __next__"))
		return TENSORFLOW_NO_WAIT;
	if (profile_has_prefix(name, "$iterator_ops.py:"))
		return TENSORFLOW_PYTHON;
	return profile_has_prefix(name, "$dataloader.py:") ? TENSORFLOW_LOADER
							   : TENSORFLOW_NO_WAIT;
}

enum tensorflow_wait tensorflow_wait_of(const char *name)
{
	static const char reduction[] = "ReduceIterator::Root";
	static const char *const names[] = {
		/* events of the profiler */
		"IteratorGetNextOp::DoCompute",
		"IteratorGetNextAsOptionalOp::DoCompute",
		/* operators, and both */
		"MultiDeviceIteratorGetNextFromShard",
		"IteratorGetNext",
		"IteratorGetNextSync",
		"IteratorGetNextAsOptional",
		"QueueDequeueV2",
		"QueueDequeueManyV2",
		"QueueDequeueUpToV2",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return TENSORFLOW_FETCH;
	if (*name == '$')
		return python_of(name);
	if (!profile_has_prefix(name, reduction))
		return TENSORFLOW_NO_WAIT;
	return reduction_of(name + strlen(reduction));
}

/* "gradient_tape/dense/MatMul:MatMul". Operators of other types may be folded into
 * constants, which happens once, also where XLA compiles those of the steps. */
bool tensorflow_trains(const char *name)
{
	static const char *const types[] = {"MatMul", "Backprop", "Grad"};
	const char *type = strrchr(name, ':');

	if (!type || !strstr(name, "gradient_tape/"))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strstr(type, types[i]))
			return true;
	return false;
}

bool tensorflow_is_jax(const char *name)
{
	return profile_has_prefix(name, "PjitFunction");
}

const char *tensorflow_frameworks(bool jax, bool fetches)
{
	if (!jax)
		return "TensorFlow";
	return fetches ? "TensorFlow, JAX" : "JAX";
}

int tensorflow_fetches_add(struct tensorflow_fetches *f,
			   const struct tensorflow_fetch *fetch,
			   struct reel_error *err)
{
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;

		if (reel_grow(&f->at, room, sizeof(*fetch), err))
			return -1;
		f->room = room;
	}
	f->at[f->n++] = *fetch;
	f->sized |= fetch->sized;
	f->tf_data |= fetch->wait != TENSORFLOW_LOADER;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct tensorflow_fetch *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->dur_ns < y->dur_ns ? -1 : x->dur_ns > y->dur_ns;
}

static int put_span(struct import_gather *g, const struct tensorflow_fetch *at,
		    uint32_t kind, int64_t end_ns, int64_t detail,
		    struct reel_error *err)
{
	struct reel_span_event ev = {.start_ns = at->start_ns,
				     .dur_ns = end_ns - at->start_ns,
				     .thread = at->thread,
				     .kind = kind,
				     .detail = detail};

	return gather_span(g, &ev, NULL, err);
}

/* Keep the fetches of the first kind: reductions beside operators are of pipelines or
 * metrics, and that of a loop also waits for the body. */
static void keep_first_kind(struct tensorflow_fetches *f)
{
	enum tensorflow_wait first = TENSORFLOW_NO_WAIT;
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].wait < first)
			first = f->at[i].wait;
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].wait == first)
			f->at[n++] = f->at[i];
	f->n = n;
}

/* The first fetch of the step after that of @i. Replicas of a model fetch at the same
 * time, each in a thread of its own. */
static size_t next_step(const struct tensorflow_fetches *f, size_t i)
{
	const struct tensorflow_fetch *first = &f->at[i++];

	while (i < f->n && f->at[i].thread != first->thread &&
	       f->at[i].start_ns < first->start_ns + first->dur_ns)
		i++;
	return i;
}

/* The end of the evaluation whose first fetch is @i; @i: none. A single fetch may be
 * one whose training began behind the next. */
static size_t evaluation_end(const struct tensorflow_fetches *f, size_t i)
{
	size_t at = i, next;
	int steps = 0;

	for (; f->training.n && at < f->n; at = next, steps++) {
		next = next_step(f, at);
		if (profile_intervals_meet(&f->training, f->at[at].start_ns,
					   next < f->n ? f->at[next].start_ns
						       : INT64_MAX))
			break;
	}
	return steps > 1 ? at : i;
}

static int put_evaluation(const struct tensorflow_fetches *f, size_t i,
			  size_t end, struct import_gather *g, int64_t number,
			  struct reel_error *err)
{
	const struct tensorflow_fetch *last = &f->at[end - 1];

	return put_span(g, &f->at[i], REEL_SPAN_EVAL,
			end < f->n ? f->at[end].start_ns
				   : last->start_ns + last->dur_ns,
			number, err);
}

static int put_steps(const struct tensorflow_fetches *f,
		     struct import_gather *g, struct reel_error *err)
{
	int64_t number = 0, evaluations = 0;

	for (size_t i = 0, next; i < f->n; i = next) {
		next = evaluation_end(f, i);
		if (next > i) {
			if (put_evaluation(f, i, next, g, evaluations++, err))
				return -1;
			continue;
		}
		next = next_step(f, i);
		if (f->sized && !f->at[i].sized)
			continue;
		if (next < f->n &&
		    put_span(g, &f->at[i], REEL_SPAN_STEP, f->at[next].start_ns,
			     number++, err))
			return -1;
	}
	return 0;
}

void tensorflow_fetches_settle(struct tensorflow_fetches *f)
{
	keep_first_kind(f);
	profile_intervals_merge(&f->training);
	if (f->n)
		qsort(f->at, f->n, sizeof(*f->at), by_start);
}

size_t tensorflow_fetches_from(const struct tensorflow_fetches *f, int64_t ns)
{
	size_t from = 0, to = f->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (f->at[middle].start_ns < ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

bool tensorflow_finds_end(const struct tensorflow_fetches *f, int64_t start_ns,
			  int64_t end_ns)
{
	size_t i = tensorflow_fetches_from(f, start_ns), n = 0;

	/* a step may take its batch at its end, for the next one */
	if (!f->training.n ||
	    profile_intervals_meet(&f->training, start_ns, end_ns))
		return false;
	for (; f->sized && i < f->n && f->at[i].start_ns < end_ns; i++, n++)
		if (f->at[i].sized)
			return false;
	return n > 0;
}

int tensorflow_fetches_put(const struct tensorflow_fetches *f,
			   struct import_gather *g, bool steps,
			   struct reel_error *err)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct tensorflow_fetch *at = &f->at[i];

		if (f->sized && !at->sized)
			continue;
		if (put_span(g, at, REEL_SPAN_FETCH, at->start_ns + at->dur_ns,
			     -1, err))
			return -1;
	}
	return steps ? put_steps(f, g, err) : 0;
}

void tensorflow_fetches_fini(struct tensorflow_fetches *f)
{
	free(f->at);
	free(f->training.at);
	*f = (struct tensorflow_fetches){0};
}

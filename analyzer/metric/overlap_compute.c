/* SPDX-License-Identifier: MIT */
/*
 * The computation of a rank: its spans without the calls on files for which the
 * stepping thread waits.
 *
 * A single sweep reads these calls from the log and subtracts them from the
 * spans; the result is a stream, so that memory does not grow with the calls.
 */
#include <stddef.h>
#include <stdlib.h>

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "analyzer/metric/overlap.h"

#define KINDS_MOST 4 /* of spans that take time of a loop */

/* A sweep over the calls of the stepping threads; a call may cover many
 * steps. */
struct own_sweep {
	struct overlap_rank *rank;
	struct reel_union own;	   /* the calls, merged */
	int64_t done_ns;	   /* computation is complete up to here */
	struct reel_union between; /* gaps between steps in the loop */
	uint32_t step, fed, fed_step, base, base_step, gap; /* cursors */
};

void overlap_share_out(struct overlap_rank *r, uint32_t *at, int64_t from_ns,
		       int64_t to_ns, size_t member)
{
	uint32_t i;

	while (*at < r->steps &&
	       r->step[*at].start_ns + r->step[*at].dur_ns <= from_ns)
		++*at;
	for (i = *at; i < r->steps && r->step[i].start_ns < to_ns; i++) {
		struct overlap_step *s = &r->step[i];
		int64_t start_ns = s->start_ns, end_ns = start_ns + s->dur_ns;
		int64_t *sum = (int64_t *)((char *)s + member);

		start_ns = start_ns > from_ns ? start_ns : from_ns;
		end_ns = end_ns < to_ns ? end_ns : to_ns;
		if (end_ns > start_ns)
			*sum += end_ns - start_ns;
	}
}

/* Compute r->fed: known steps without fetches and phases. */
static int find_fed(struct overlap_rank *r, struct reel_error *err)
{
	struct reel_union known = {.limit = REEL_UNION_ALL};
	struct reel_union part = {.limit = REEL_UNION_ALL};
	int rc = 0;
	uint32_t i;

	for (i = 0; !rc && i < r->steps; i++) {
		const struct overlap_step *s = &r->step[i];

		if (s->fetch_known)
			rc = reel_union_add_time(&known, s->start_ns,
						 s->start_ns + s->dur_ns, err);
	}
	if (!rc)
		rc = reel_union_cut(&part, &known, &r->fetch, false, err);
	if (!rc)
		rc = reel_union_cut(&r->fed, &part, &r->phase, false, err);
	reel_union_fini(&known);
	reel_union_fini(&part);
	return rc;
}

/* Mark the steps whose computation is known. */
static void mark_steps(struct overlap_rank *r,
		       const struct reel_union *declared)
{
	uint32_t at = 0, i;

	for (i = 0; i < r->steps; i++) {
		struct overlap_step *s = &r->step[i];

		s->compute_known =
			s->fetch_known ||
			reel_union_within(declared, s->start_ns,
					  s->start_ns + s->dur_ns, &at);
		r->compute_known += s->compute_known;
	}
}

/* Add the kernels and copies of the rank's accelerators. */
static int add_device(struct reel_union *u, const struct overlap_rank *r,
		      const struct overlap_job *job, struct reel_error *err)
{
	uint32_t n,
		i = overlap_find_spans(job, r->process, REEL_SPAN_COMPUTE, &n);

	for (; n; n--, i++)
		if (job->span[i].device &&
		    reel_union_add_time(u, job->span[i].start_ns,
					job->span[i].end_ns, err))
			return -1;
	return 0;
}

/*
 * Compute r->base, before the subtraction: kernels from an accelerator's profile,
 * else declared spans, else the known steps without fetches and phases. Nothing is
 * subtracted from kernels: the device computes during the thread's I/O.
 */
static int find_base(struct overlap_rank *r, const struct overlap_job *job,
		     struct reel_error *err)
{
	struct reel_union declared = {.limit = REEL_UNION_ALL};
	struct reel_union nothing = {.limit = REEL_UNION_ALL};
	int rc = add_device(&r->base, r, job, err);

	r->device = !rc && r->base.n;
	if (!rc && !r->device)
		rc = overlap_add_spans(&declared, job, r->process,
				       REEL_SPAN_COMPUTE, err);
	mark_steps(r, r->device ? &r->base : &declared);
	if (!rc && r->device) {
		r->compute_source = "GPU kernels";
	} else if (!rc && declared.n) {
		r->compute_source = "compute spans";
		rc = reel_union_cut(&r->base, &declared, &r->fetch, false, err);
	} else if (!rc && r->fetch_known) {
		r->compute_source = "step minus fetch";
		rc = reel_union_cut(&r->base, &r->fed, &nothing, false, err);
	}
	reel_union_fini(&declared);
	return rc;
}

/* Add the spans of all @kinds in the order of their starts: they interleave, and each
 * would else go into the middle of those before it. */
static int add_in_order(struct reel_union *u, const struct overlap_job *job,
			uint32_t process, const uint32_t *kinds, size_t count,
			struct reel_error *err)
{
	const struct overlap_span *span = job->span;
	uint32_t at[KINDS_MOST], left[KINDS_MOST];
	size_t i, next;

	for (i = 0; i < count; i++)
		at[i] = overlap_find_spans(job, process, kinds[i], &left[i]);
	for (;;) {
		for (i = 0, next = count; i < count; i++)
			if (left[i] &&
			    (next == count ||
			     span[at[i]].start_ns < span[at[next]].start_ns))
				next = i;
		if (next == count)
			return 0;
		if (reel_union_add_time(u, span[at[next]].start_ns,
					span[at[next]].end_ns, err))
			return -1;
		at[next]++;
		left[next]--;
	}
}

/* The loop without its steps, fetches, checkpoints and evaluation: time that
 * the loop uses itself after an epoch, for example to save. */
static int find_between(struct reel_union *between,
			const struct overlap_rank *r,
			const struct overlap_job *job, struct reel_error *err)
{
	struct reel_union loop = {.limit = REEL_UNION_ALL};
	struct reel_union taken = {.limit = REEL_UNION_ALL};
	static const uint32_t kinds[KINDS_MOST] = {
		REEL_SPAN_STEP, REEL_SPAN_FETCH, REEL_SPAN_CHECKPOINT,
		REEL_SPAN_EVAL};
	int rc = reel_union_add_time(&loop, r->loop_start_ns,
				     r->loop_start_ns + r->loop_ns, err);

	if (!rc)
		rc = add_in_order(&taken, job, r->process, kinds, KINDS_MOST,
				  err);
	if (!rc)
		rc = reel_union_cut(between, &loop, &taken, false, err);
	reel_union_fini(&loop);
	reel_union_fini(&taken);
	return rc;
}

/* Add the computation of the spans from done_ns to @to_ns. */
static int add_compute(struct own_sweep *w, int64_t to_ns,
		       struct reel_error *err)
{
	struct overlap_rank *r = w->rank;
	struct reel_interval part = {0, 0, 0, 0};

	while (reel_union_part(&r->base, &w->base, &w->done_ns, to_ns, &part)) {
		r->compute_ns += part.end_ns - part.start_ns;
		overlap_share_out(r, &w->base_step, part.start_ns, part.end_ns,
				  offsetof(struct overlap_step, compute_ns));
		if (reel_interval_stream_add(&r->computed, &part, err))
			return -1;
	}
	return 0;
}

/* Process the next final piece of own I/O, in order. */
static int add_own_piece(struct own_sweep *w, const struct reel_interval *iv,
			 struct reel_error *err)
{
	struct overlap_rank *r = w->rank;
	int64_t from_ns = iv->start_ns;
	struct reel_interval part = {0, 0, 0, 0};

	while (reel_union_part(&r->fed, &w->fed, &from_ns, iv->end_ns, &part)) {
		r->own_io_ns += part.end_ns - part.start_ns;
		overlap_share_out(r, &w->fed_step, part.start_ns, part.end_ns,
				  offsetof(struct overlap_step, own_io_ns));
	}
	from_ns = iv->start_ns;
	while (reel_union_part(&w->between, &w->gap, &from_ns, iv->end_ns,
			       &part))
		r->between_io_ns += part.end_ns - part.start_ns;
	if (r->device)
		return 0;
	if (add_compute(w, iv->start_ns, err))
		return -1;
	if (iv->end_ns > w->done_ns)
		w->done_ns = iv->end_ns;
	return 0;
}

static int add_own_pieces(void *ctx, const struct reel_interval *iv, uint32_t n,
			  struct reel_error *err)
{
	for (uint32_t i = 0; i < n; i++)
		if (add_own_piece(ctx, &iv[i], err))
			return -1;
	return 0;
}

/* A call blocks the step of its own thread, and any time outside of steps. */
static int add_call(struct own_sweep *w, const struct reel_interval *iv,
		    uint32_t thread, struct reel_error *err)
{
	struct overlap_rank *r = w->rank;
	int64_t at_ns = iv->start_ns;
	uint32_t i;

	while (w->step < r->steps &&
	       r->step[w->step].start_ns + r->step[w->step].dur_ns <= at_ns)
		w->step++;
	for (i = w->step; i < r->steps && r->step[i].start_ns < iv->end_ns;
	     i++) {
		const struct overlap_step *s = &r->step[i];
		int64_t end_ns = s->start_ns + s->dur_ns;

		end_ns = end_ns < iv->end_ns ? end_ns : iv->end_ns;
		if (s->thread == thread)
			continue;
		if (reel_union_add_time(&w->own, at_ns, s->start_ns, err))
			return -1;
		at_ns = end_ns > at_ns ? end_ns : at_ns;
	}
	return reel_union_add_time(&w->own, at_ns, iv->end_ns, err);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The threads with steps, or without steps those with compute spans. */
static uint32_t *find_threads(const struct overlap_rank *r,
			      const struct overlap_job *job, uint32_t *count,
			      struct reel_error *err)
{
	uint32_t n, i, k = 0;
	uint32_t at =
		overlap_find_spans(job, r->process, REEL_SPAN_COMPUTE, &n);
	uint32_t most = r->steps ? r->steps : n;
	uint32_t *thread = reel_alloc(most, sizeof(*thread), err);

	if (!thread)
		return NULL;
	for (i = 0; i < most; i++)
		thread[i] =
			r->steps ? r->step[i].thread : job->span[at + i].thread;
	qsort(thread, most, sizeof(*thread), by_value);
	for (i = 0; i < most; i++)
		if (!k || thread[k - 1] != thread[i])
			thread[k++] = thread[i];
	*count = k;
	return thread;
}

static int add_threads(struct reel_interval_merge *m,
		       const struct overlap_rank *r,
		       const struct overlap_job *job, struct reel_error *err)
{
	const struct overlap_stream *s = job->process[r->process].stream;
	uint32_t n = 0, *thread = find_threads(r, job, &n, err);
	int rc = thread ? 0 : -1;

	for (; !rc && s; s = s->next)
		if (s->kind == OVERLAP_CALLS &&
		    bsearch(&s->thread, thread, n, sizeof(*thread), by_value))
			rc = reel_interval_merge_add(m, &s->s, s->thread, err);
	free(thread);
	return rc;
}

int overlap_compute_measure(struct overlap_rank *r, struct overlap_job *job,
			    struct reel_error *err)
{
	struct own_sweep w = {.rank = r};
	struct reel_interval_merge m = {0};
	const struct reel_interval *iv;
	uint32_t thread;
	int more, rc = -1;

	r->fed.limit = r->base.limit = REEL_UNION_ALL;
	w.own.limit = OVERLAP_HELD_MANY;
	w.own.emit = add_own_pieces;
	w.own.ctx = &w;
	reel_interval_stream_begin(&r->computed, job->log, job->streams++,
				   OVERLAP_HELD);
	w.between.limit = REEL_UNION_ALL;
	if (find_fed(r, err) || find_base(r, job, err) ||
	    find_between(&w.between, r, job, err) ||
	    add_threads(&m, r, job, err))
		goto out;
	while ((more = reel_interval_merge_next(&m, &iv, &thread, err)) > 0)
		if (add_call(&w, iv, thread, err))
			goto out;
	if (!more && !reel_union_flush(&w.own, err) &&
	    !add_compute(&w, INT64_MAX, err))
		rc = reel_interval_stream_end(&r->computed, err);
out:
	reel_interval_merge_fini(&m);
	reel_union_fini(&w.own);
	reel_union_fini(&w.between);
	return rc;
}

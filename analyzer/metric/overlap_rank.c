/* SPDX-License-Identifier: MIT */
/*
 * The time of a rank: its steps, their waits and computation, and the I/O of
 * its process tree that was hidden by the computation.
 *
 * All is exact: the I/O of the tree's threads is merged as a stream of
 * intervals and swept once against the steps and the computation.
 */
#include <stddef.h>
#include <stdlib.h>

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "analyzer/metric/overlap.h"

/* A process of the rank. */
struct member {
	struct reel_union busy;	 /* of a worker: preprocessing of batches */
	struct reel_interval io; /* current piece, still growing */
	uint32_t at;		 /* cursor in busy */
};

struct sweep {
	struct overlap_rank *rank;
	struct member *member;
	uint32_t members;
	struct reel_interval_merge calls; /* of all threads, by member */
	struct reel_interval_window computed;
	struct reel_interval io; /* current piece of the tree, still growing */
	uint32_t io_step, hidden_step, bytes_step; /* cursors */
};

uint32_t overlap_find_spans(const struct overlap_job *job, uint32_t process,
			    uint32_t kind, uint32_t *n)
{
	const struct overlap_span *span = job->span;
	uint64_t want = (uint64_t)process << 32 | kind;
	uint32_t low = 0, high = job->spans;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t key =
			(uint64_t)span[mid].process << 32 | span[mid].kind;

		if (key < want)
			low = mid + 1;
		else
			high = mid;
	}
	for (*n = 0; low + *n < job->spans &&
		     span[low + *n].process == process &&
		     span[low + *n].kind == kind;)
		++*n;
	return low;
}

int overlap_add_spans(struct reel_union *u, const struct overlap_job *job,
		      uint32_t process, uint32_t kind, struct reel_error *err)
{
	uint32_t n, i = overlap_find_spans(job, process, kind, &n);

	for (; n; n--, i++)
		if (reel_union_add_time(u, job->span[i].start_ns,
					job->span[i].end_ns, err))
			return -1;
	return 0;
}

/* --- steps within an evaluation -------------------------------------------- */

/*
 * A job that marks both has a loop over batches in its evaluation. They train nothing,
 * and the evaluation has their time. Steps that train stay, as does a job all of whose
 * steps are in evaluations: there the name says something else.
 */

/* Does an evaluation of its thread, among the @n from @from on, contain @step? */
static bool is_within(const struct overlap_span *from, uint32_t n,
		      const struct overlap_span *step)
{
	while (n && from[n - 1].start_ns > step->start_ns)
		n--;
	while (n--)
		if (from[n].thread == step->thread)
			return from[n].end_ns >= step->end_ns;
	return false;
}

/* Does one of the @n spans from @from on begin in @step? */
static bool begins_in(const struct overlap_span *from, uint32_t n,
		      const struct overlap_span *step)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (from[middle].start_ns < step->start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && from[low].start_ns < step->end_ns;
}

static bool trains(const struct overlap_job *job,
		   const struct overlap_span *step)
{
	static const uint32_t kinds[] = {REEL_SPAN_BACKWARD,
					 REEL_SPAN_OPTIMIZER};

	for (int i = 0; i < 2; i++) {
		uint32_t n, at = overlap_find_spans(job, step->process,
						    kinds[i], &n);

		if (begins_in(&job->span[at], n, step))
			return true;
	}
	return false;
}

bool overlap_leave_evaluated(const struct overlap_job *job,
			     struct overlap_span *span, uint32_t process)
{
	uint32_t steps, evals, left = 0;
	uint32_t at = overlap_find_spans(job, process, REEL_SPAN_STEP, &steps);
	uint32_t from =
		overlap_find_spans(job, process, REEL_SPAN_EVAL, &evals);

	if (!evals || !steps)
		return false;
	for (uint32_t i = at; i < at + steps; i++) {
		span[i].evaluated = is_within(&span[from], evals, &span[i]) &&
				    !trains(job, &span[i]);
		left += span[i].evaluated;
	}
	if (!left || left == steps)
		return false;
	for (uint32_t i = at; i < at + steps; i++)
		if (span[i].evaluated)
			span[i].kind = REEL_SPAN_USER;
	return true;
}

/*
 * Threads that step at a time, as of a profile of several trainers in one process: cut
 * at each other's begins, steps would be shorter than any was. The first thread's are
 * those of the rank, as in a recording. Nested steps of two threads are loops.
 */
bool overlap_leave_threads(const struct overlap_job *job,
			   struct overlap_span *span, uint32_t process)
{
	uint32_t n, at = overlap_find_spans(job, process, REEL_SPAN_STEP, &n);
	const struct overlap_span *last = NULL; /* it ends last so far */
	bool at_a_time = false;

	for (uint32_t i = at; !at_a_time && i < at + n; i++) {
		at_a_time = last && span[i].thread != last->thread &&
			    span[i].start_ns < last->end_ns &&
			    span[i].end_ns > last->end_ns;
		if (!last || span[i].end_ns > last->end_ns)
			last = &span[i];
	}
	for (uint32_t i = at; at_a_time && i < at + n; i++)
		if (span[i].thread != span[at].thread)
			span[i].kind = REEL_SPAN_USER;
	return at_a_time;
}

/* --- the rank --------------------------------------------------------------- */

/*
 * Add a phase: time in a step that is neither wait nor computation. A
 * checkpoint written by another thread is no phase, nor is a span that was open
 * before the steps began: for example an iterator for evaluation that a
 * training uses now and then.
 */
static int add_phase(struct overlap_rank *r, const struct overlap_job *job,
		     uint32_t kind, struct reel_error *err)
{
	const struct overlap_span *span = job->span;
	uint32_t steps, n;
	uint32_t step =
		overlap_find_spans(job, r->process, REEL_SPAN_STEP, &steps);
	uint32_t i = overlap_find_spans(job, r->process, kind, &n), at = 0;

	for (; n; n--, i++) {
		int64_t start_ns = span[i].start_ns;

		if (steps && (span[i].thread != span[step].thread ||
			      !reel_union_within(&r->step_time, start_ns,
						 start_ns + 1, &at)))
			continue;
		if (reel_union_add_time(&r->phase, start_ns, span[i].end_ns,
					err))
			return -1;
	}
	return 0;
}

/* The epoch in which a step began; epochs are in order. */
static const struct overlap_span *epoch_at(const struct overlap_span *epoch,
					   uint32_t n, int64_t ns)
{
	uint32_t i = n;

	while (i && epoch[i - 1].end_ns < ns)
		i--;
	return i ? &epoch[i - 1] : NULL;
}

/* The end of the last fetch, backward pass or optimizer step of @s; 0: it has none. */
static int64_t trained_until(const struct overlap_rank *r,
			     const struct overlap_job *job,
			     const struct overlap_step *s)
{
	static const uint32_t kinds[] = {REEL_SPAN_FETCH, REEL_SPAN_BACKWARD,
					 REEL_SPAN_OPTIMIZER};
	int64_t end_ns = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		uint32_t n,
			i = overlap_find_spans(job, r->process, kinds[k], &n);

		while (n && job->span[i + n - 1].start_ns >= s->start_ns) {
			const struct overlap_span *at = &job->span[i + --n];

			if (at->thread == s->thread && at->count == 1 &&
			    at->end_ns <= s->start_ns + s->dur_ns &&
			    at->end_ns > end_ns)
				end_ns = at->end_ns;
		}
	}
	return end_ns;
}

/*
 * The last step of a loop that takes its batches by hand, or was left, has no end of its
 * own: it ends with its process, or in the same nanosecond as its epoch. What follows its
 * training, and takes longer than any step before, is no part of it.
 */
static void cut_last_step(struct overlap_rank *r, const struct overlap_job *job)
{
	struct overlap_step *last = &r->step[r->steps - 1];
	int64_t longest_ns = 0, end_ns;

	if (r->steps < 3 || last->count != 1 || !last->open)
		return;
	for (uint32_t i = 1; i + 1 < r->steps; i++)
		if (r->step[i].dur_ns / r->step[i].count > longest_ns)
			longest_ns = r->step[i].dur_ns / r->step[i].count;
	end_ns = trained_until(r, job, last);
	if (end_ns && last->start_ns + last->dur_ns - end_ns > longest_ns)
		last->dur_ns = end_ns - last->start_ns;
}

static int find_steps(struct overlap_rank *r, const struct overlap_job *job,
		      struct reel_error *err)
{
	const struct overlap_span *span = job->span;
	uint32_t n, epochs, i;
	uint32_t at = overlap_find_spans(job, r->process, REEL_SPAN_STEP, &n);
	uint32_t epoch =
		overlap_find_spans(job, r->process, REEL_SPAN_EPOCH, &epochs);
	uint32_t seen = 0; /* epochs that began before the step */
	uint32_t at_fetch = 0, kept = 0;
	int64_t reach_ns = 0; /* the latest end so far */

	r->step = reel_alloc(n, sizeof(*r->step), err);
	if (!r->step)
		return -1;
	for (i = 0; i < n; i++) {
		const struct overlap_span *s = &span[at + i], *in;
		struct overlap_step *step = &r->step[kept];

		/* Skip a step declared by the program inside of a loader's
		 * step. */
		if (s->start_ns < reach_ns && s->end_ns <= reach_ns &&
		    r->fetch.n &&
		    !reel_union_within(&r->fetch, s->start_ns, s->end_ns,
				       &at_fetch))
			continue;
		/*
		 * Steps of nested loops overlap: their time belongs to the step
		 * that began last.
		 */
		if (s->start_ns < reach_ns)
			step[-1].dur_ns = s->start_ns - step[-1].start_ns;
		if (s->end_ns > reach_ns)
			reach_ns = s->end_ns;
		step->start_ns = s->start_ns;
		step->dur_ns = reach_ns - s->start_ns;
		step->span_id = s->span_id;
		step->thread = s->thread;
		step->number = s->detail;
		step->count = s->count;
		while (seen < epochs &&
		       span[epoch + seen].start_ns <= step->start_ns)
			seen++;
		in = epoch_at(span + epoch, seen, step->start_ns);
		step->epoch = in ? in->detail : -1;
		step->epoch_span = in ? in->span_id : 0;
		step->epoch_start_ns = in ? in->start_ns : 0;
		step->epoch_end_ns = in ? in->end_ns : 0;
		step->open = s->open || (in && s->end_ns == in->end_ns);
		kept++;
	}
	r->steps = kept;
	if (kept)
		cut_last_step(r, job);
	return 0;
}

/* Add the summed fetches of threads without steps: each fetch was somewhere in
 * the interval of its sum. */
static int add_summed(struct reel_union *u, const struct overlap_rank *r,
		      const struct overlap_span *fetch, uint32_t n,
		      struct reel_error *err)
{
	for (uint32_t i = 0; r->steps && i < n; i++)
		if (fetch[i].count > 1 &&
		    fetch[i].thread != r->step[0].thread &&
		    reel_union_add_time(u, fetch[i].start_ns, fetch[i].end_ns,
					err))
			return -1;
	return 0;
}

/*
 * Measure the waits of the steps. A step waited for a batch if a fetch overlaps
 * it, or began after the previous step in its epoch: a program may fetch
 * outside of its steps. The wait of other steps is unknown: a look at the data
 * set before the training, or an evaluation, says nothing about its steps. If
 * another thread summed its fetches, as in TensorFlow graphs, all steps of an
 * epoch with such a sum are known.
 */
static int measure_fetches(struct overlap_rank *r,
			   const struct overlap_job *job,
			   struct reel_error *err)
{
	struct reel_union summed = {.limit = REEL_UNION_ALL};
	struct reel_union evals = {.limit = REEL_UNION_ALL};
	uint32_t n, i, k, at = 0, at_eval = 0, epoch_span = 0;
	bool in_sum = false;
	const struct overlap_span *fetch =
		job->span +
		overlap_find_spans(job, r->process, REEL_SPAN_FETCH, &n);
	int64_t since_ns = 0;
	int rc = add_summed(&summed, r, fetch, n, err) ||
				 overlap_add_spans(&evals, job, r->process,
						   REEL_SPAN_EVAL, err)
			 ? -1
			 : 0;

	for (i = k = 0; !rc && i < r->steps; i++) {
		struct overlap_step *s = &r->step[i];
		int64_t end_ns = s->start_ns + s->dur_ns;

		if (s->epoch_span != epoch_span)
			in_sum = reel_union_within(&summed, s->epoch_start_ns,
						   s->epoch_end_ns, NULL);
		epoch_span = s->epoch_span;
		if (s->epoch_start_ns > since_ns)
			since_ns = s->epoch_start_ns;
		while (k < n &&
		       (fetch[k].start_ns < since_ns ||
			reel_union_within(&evals, fetch[k].start_ns,
					  fetch[k].start_ns + 1, &at_eval)))
			k++;
		s->fetch_ns =
			reel_union_within(&r->fetch, s->start_ns, end_ns, &at);
		s->fetch_known = s->fetch_ns ||
				 (k < n && fetch[k].start_ns < end_ns) ||
				 in_sum;
		r->fetch_known += s->fetch_known;
		since_ns = end_ns;
	}
	reel_union_fini(&summed);
	reel_union_fini(&evals);
	return rc;
}

/* The time of steps and fetches; -1 with @err. */
static int64_t stepped_ns(const struct overlap_rank *r, struct reel_error *err)
{
	struct reel_union u = {.limit = REEL_UNION_ALL};
	const struct reel_union *of[] = {&r->step_time, &r->fetch};
	int64_t ns = 0;

	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; !ns && i < of[k]->n; i++)
			ns = reel_union_add_time(&u, of[k]->iv[i].start_ns,
						 of[k]->iv[i].end_ns, err);
	ns = ns ? -1 : reel_union_ns(&u);
	reel_union_fini(&u);
	return ns;
}

/* The loop: from the first fetch or step to the end of the last step. Of several
 * profiles of a process nothing is known between them. */
static int measure_loop(struct overlap_rank *r, const struct overlap_job *job,
			struct reel_error *err)
{
	int64_t from_ns, to_ns;

	if (!r->steps)
		return 0;
	from_ns = r->step[0].start_ns;
	to_ns = r->step[r->steps - 1].start_ns + r->step[r->steps - 1].dur_ns;
	if (r->fetch.n && r->fetch.iv[0].start_ns < from_ns)
		from_ns = r->fetch.iv[0].start_ns;
	r->loop_start_ns = from_ns;
	r->loop_wait_ns = reel_union_within(&r->fetch, from_ns, to_ns, NULL);
	r->loop_ns = job->has_gaps ? stepped_ns(r, err) : to_ns - from_ns;
	return r->loop_ns < 0 ? -1 : 0;
}

/* Add a final piece of the tree's I/O to the steps and the hidden I/O. */
static int add_io(struct sweep *w, struct reel_error *err)
{
	struct overlap_rank *r = w->rank;
	struct reel_interval_window *c = &w->computed;
	int64_t start_ns = w->io.start_ns, end_ns = w->io.end_ns;
	uint32_t i;

	if (end_ns <= start_ns)
		return 0;
	r->io_ns += end_ns - start_ns;
	overlap_share_out(r, &w->io_step, start_ns, end_ns,
			  offsetof(struct overlap_step, io_ns));
	if (reel_interval_window_move(c, start_ns, end_ns, err))
		return -1;
	for (i = c->first; i < c->n && c->iv[i].start_ns < end_ns; i++) {
		int64_t from = c->iv[i].start_ns, to = c->iv[i].end_ns;

		from = from > start_ns ? from : start_ns;
		to = to < end_ns ? to : end_ns;
		r->hidden_ns += to - from;
		overlap_share_out(r, &w->hidden_step, from, to,
				  offsetof(struct overlap_step, hidden_ns));
	}
	return 0;
}

/* Add a final piece of a process's I/O. */
static void add_member_io(struct sweep *w, struct member *m)
{
	w->rank->worker_io_ns += reel_union_within(&m->busy, m->io.start_ns,
						   m->io.end_ns, &m->at);
}

/* Divide the bytes among the steps of the interval, in proportion. */
static void add_bytes(struct sweep *w, const struct reel_interval *iv)
{
	struct overlap_rank *r = w->rank;
	uint32_t i;

	while (w->bytes_step < r->steps &&
	       r->step[w->bytes_step].start_ns +
			       r->step[w->bytes_step].dur_ns <=
		       iv->start_ns)
		w->bytes_step++;
	for (i = w->bytes_step; i < r->steps; i++) {
		struct overlap_step *s = &r->step[i];
		int64_t start_ns = s->start_ns, end_ns = start_ns + s->dur_ns;

		if (start_ns > iv->start_ns && start_ns >= iv->end_ns)
			break;
		s->read_bytes +=
			reel_interval_bytes(iv->read_bytes, iv, end_ns);
		s->write_bytes +=
			reel_interval_bytes(iv->write_bytes, iv, end_ns);
		if (iv->end_ns == iv->start_ns)
			break;
		s->read_bytes -=
			reel_interval_bytes(iv->read_bytes, iv, start_ns);
		s->write_bytes -=
			reel_interval_bytes(iv->write_bytes, iv, start_ns);
	}
}

/* Extend the piece @io by @iv; false if they do not touch. */
static bool extend_piece(struct reel_interval *io,
			 const struct reel_interval *iv)
{
	if (iv->start_ns > io->end_ns)
		return false;
	if (iv->end_ns > io->end_ns)
		io->end_ns = iv->end_ns;
	return true;
}

static int sweep_interval(struct sweep *w, const struct reel_interval *iv,
			  struct member *m, struct reel_error *err)
{
	add_bytes(w, iv);
	if (!extend_piece(&m->io, iv)) {
		add_member_io(w, m);
		m->io = *iv;
	}
	if (!extend_piece(&w->io, iv)) {
		if (add_io(w, err))
			return -1;
		w->io = *iv;
	}
	return 0;
}

static int open_calls(struct sweep *w, const struct overlap_job *job,
		      struct reel_error *err)
{
	const struct overlap_process *process = job->process;
	uint32_t first = process[w->rank->process].first, i, n = 0;

	for (i = first; i; i = process[i].next)
		n++;
	w->member = reel_alloc(n, sizeof(*w->member), err);
	if (!w->member)
		return -1;
	for (i = first; i; i = process[i].next) {
		const struct overlap_stream *s = process[i].stream;
		struct member *m = &w->member[w->members];

		m->busy.limit = REEL_UNION_ALL;
		if (process[i].worker && !process[i].evaluates &&
		    overlap_add_spans(&m->busy, job, i, REEL_SPAN_PREPROCESS,
				      err))
			return -1;
		for (; s; s = s->next)
			if (s->kind != OVERLAP_FETCHED &&
			    reel_interval_merge_add(&w->calls, &s->s,
						    w->members, err))
				return -1;
		w->members++;
	}
	return reel_interval_merge_add(&w->computed.m, &w->rank->computed, 0,
				       err);
}

static int sweep_io(struct sweep *w, const struct overlap_job *job,
		    struct reel_error *err)
{
	int rc = open_calls(w, job, err), more = 1;
	const struct reel_interval *iv;
	uint32_t i;

	while (!rc &&
	       (more = reel_interval_merge_next(&w->calls, &iv, &i, err)) > 0)
		rc = sweep_interval(w, iv, &w->member[i], err);
	if (more < 0)
		rc = -1;
	if (!rc)
		rc = add_io(w, err);
	for (i = 0; i < w->members; i++) {
		add_member_io(w, &w->member[i]);
		reel_union_fini(&w->member[i].busy);
	}
	free(w->member);
	reel_interval_merge_fini(&w->calls);
	reel_interval_window_fini(&w->computed);
	return rc;
}

int overlap_rank_measure(struct overlap_rank *r, struct overlap_job *job,
			 struct reel_error *err)
{
	struct sweep w = {.rank = r};

	r->step_time.limit = r->fetch.limit = r->phase.limit =
		r->worker_time.limit = REEL_UNION_ALL;
	if (overlap_add_spans(&r->step_time, job, r->process, REEL_SPAN_STEP,
			      err) ||
	    overlap_add_spans(&r->fetch, job, r->process, REEL_SPAN_FETCH,
			      err) ||
	    add_phase(r, job, REEL_SPAN_CHECKPOINT, err) ||
	    add_phase(r, job, REEL_SPAN_EVAL, err))
		return -1;
	if (find_steps(r, job, err))
		return -1;
	if (measure_fetches(r, job, err))
		return -1;
	if (measure_loop(r, job, err))
		return -1;
	if (overlap_compute_measure(r, job, err))
		return -1;
	if (overlap_worker_measure(r, job, err))
		return -1;
	return sweep_io(&w, job, err);
}

void overlap_rank_fini(struct overlap_rank *r)
{
	free(r->step);
	reel_union_fini(&r->step_time);
	reel_union_fini(&r->fetch);
	reel_union_fini(&r->phase);
	reel_union_fini(&r->fed);
	reel_union_fini(&r->base);
	reel_union_fini(&r->worker_time);
	reel_interval_stream_fini(&r->computed);
}

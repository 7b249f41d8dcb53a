/* SPDX-License-Identifier: MIT */
/* The loader workers of a rank: table evaluation_worker, and those of rank_time. */
#include "analyzer/metric/overlap.h"

#include "schemas/trace_format.h"

/* A worker is busy while it makes a batch, alive from its first batch on. */
static int measure(struct overlap_rank *r, const struct overlap_process *p,
		   const struct overlap_job *job, struct reel_error *err)
{
	struct reel_union busy = {.limit = REEL_UNION_ALL};
	struct reel_interval alive = {0, 0, 0, 0};
	uint32_t n, at;
	int rc;

	at = overlap_find_spans(job, p->process, REEL_SPAN_PREPROCESS, &n);
	if (!n)
		return 0;
	rc = overlap_add_spans(&busy, job, p->process, REEL_SPAN_PREPROCESS,
			       err);
	if (!rc && busy.n) {
		const struct overlap_step *last =
			r->steps ? &r->step[r->steps - 1] : NULL;
		int64_t last_ns =
			last ? last->start_ns + last->dur_ns : INT64_MAX;

		alive.start_ns = busy.iv[0].start_ns;
		alive.end_ns = p->end_ns < last_ns ? p->end_ns : last_ns;
		if (alive.end_ns < busy.iv[busy.n - 1].end_ns)
			alive.end_ns = busy.iv[busy.n - 1].end_ns;
		for (uint32_t i = 0; i < n; i++)
			r->batches += job->span[at + i].count;
		r->worker_processes++;
		r->worker_busy_ns += reel_union_ns(&busy);
		r->worker_alive_ns += alive.end_ns - alive.start_ns;
		rc = reel_union_add(&r->worker_time, &alive, err);
	}
	reel_union_fini(&busy);
	return rc;
}

/* Does the worker @p make its first batch in @evals, or most of its batches? */
static bool evaluates(const struct overlap_process *p,
		      const struct overlap_job *job,
		      const struct reel_union *evals)
{
	uint32_t n, within = 0, at = 0;
	uint32_t first =
		overlap_find_spans(job, p->process, REEL_SPAN_PREPROCESS, &n);
	bool begins = false;

	for (uint32_t i = 0; i < n; i++) {
		int64_t ns = job->span[first + i].start_ns;
		bool in = reel_union_within(evals, ns, ns + 1, &at) > 0;

		within += in;
		if (!i)
			begins = in;
	}
	return begins || within > n / 2;
}

int overlap_worker_measure(struct overlap_rank *r, struct overlap_job *job,
			   struct reel_error *err)
{
	struct overlap_process *process = job->process;
	struct reel_union evals = {.limit = REEL_UNION_ALL};
	int rc = 0;

	if (r->steps)
		rc = overlap_add_spans(&evals, job, r->process, REEL_SPAN_EVAL,
				       err);
	for (uint32_t i = process[r->process].first; i && !rc;
	     i = process[i].next) {
		if (!process[i].worker)
			continue;
		process[i].evaluates =
			evals.n && evaluates(&process[i], job, &evals);
		if (!process[i].evaluates)
			rc = measure(r, &process[i], job, err);
	}
	reel_union_fini(&evals);
	return rc;
}

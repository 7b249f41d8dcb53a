/* SPDX-License-Identifier: MIT */
/* Epochs, steps and their computation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define SERIES_MOST 4096 /* steps whose order is kept */
#define FILES_LEAST 8
#define REPEATS_LEAST 6 /* by chance: so that their absence shows passes */

int fit_ask(struct fit *f, const char *sql, int64_t otherwise, int64_t *out)
{
	bool has;

	if (reel_store_int(f->st, sql, out, &has, f->err))
		return -1;
	if (!has)
		*out = otherwise;
	return 0;
}

int fit_column(struct fit *f, const char *sql, int64_t **value, uint32_t *n)
{
	struct reel_view v;
	uint32_t room = 0;
	int rc = 0;

	*value = NULL;
	*n = 0;
	if (!reel_view_open(&v, f->st, sql, f->err)) {
		reel_view_bind(&v, 1, f->first_rank);
		reel_view_bind(&v, 2, f->read_until_ns);
		while (!rc && reel_view_next(&v)) {
			rc = reel_array_reach(value, &room, *n, sizeof(**value),
					      f->err);
			if (!rc)
				(*value)[(*n)++] = reel_view_int(&v, "ns");
		}
	}
	return reel_view_close(&v) || rc ? -1 : 0;
}

int fit_by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t fit_median(int64_t *value, uint32_t n)
{
	if (!n)
		return 0;
	qsort(value, n, sizeof(*value), fit_by_value);
	return value[(n - 1) / 2];
}

/* Steps of a job that evaluates only: its batches. The last fetch of each evaluation
 * finds the end. */
static int find_inference(struct fit *f, int64_t *steps)
{
	int64_t fetches;

	if (fit_ask(f, "SELECT max(evaluations) FROM v_rank WHERE steps = 0", 0,
		    &f->epochs) ||
	    fit_ask(f,
		    "SELECT count(*) FROM v_fetch WHERE closed AND "
		    "process_id = (SELECT process_id FROM v_evaluation "
		    "ORDER BY rank LIMIT 1)",
		    0, &fetches))
		return -1;
	if (fit_ask(f, "SELECT min(rank) FROM v_evaluation", 0, &f->first_rank))
		return -1;
	f->inference = f->epochs > 0 && fetches > f->epochs;
	*steps = f->inference ? fetches - f->epochs : 0;
	return 0;
}

static int by_process(const void *a, const void *b)
{
	const struct fit_visit *x = *(const struct fit_visit *const *)a;
	const struct fit_visit *y = *(const struct fit_visit *const *)b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x > y) - (x < y); /* they are in the order of their starts */
}

/* Visits of a process that are not the first one of their file in their part: it has
 * @passes parts. @part of the parts before: changed; @seen: of each file, its last
 * part. @expected: what visits in any order have, added to. */
static uint32_t repeats_of(const struct fit *f, const struct fit_visit **visit,
			   uint32_t n, double passes, uint32_t *seen,
			   uint32_t *part, double *expected)
{
	double size = n / passes;
	double files = f->files, all = f->visits;
	uint32_t repeats = 0, first = ++*part;

	*expected += n - passes * files * (1 - pow(1 - size / all, passes));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t file = visit[i]->file;

		*part = first + (uint32_t)(i / size);
		repeats += seen[file] == *part;
		seen[file] = *part;
	}
	return repeats;
}

/* Does each process read no file again before it has read its part of all of them? */
static int are_passes(const struct fit *f, double passes, bool *out)
{
	const struct fit_visit **visit =
		reel_alloc(f->visits, sizeof(*visit), f->err);
	uint32_t *seen = reel_alloc(f->files, sizeof(*seen), f->err);
	uint32_t repeats = 0, part = 0, end;
	double expected = 0;

	if (!visit || !seen) {
		free(visit);
		free(seen);
		return -1;
	}
	memset(seen, 0, f->files * sizeof(*seen));
	for (uint32_t i = 0; i < f->visits; i++)
		visit[i] = &f->visit[i];
	qsort(visit, f->visits, sizeof(*visit), by_process);
	for (uint32_t i = 0; i < f->visits; i = end) {
		for (end = i + 1; end < f->visits; end++)
			if (visit[end]->process_id != visit[i]->process_id)
				break;
		repeats += repeats_of(f, visit + i, end - i, passes, seen,
				      &part, &expected);
	}
	*out = expected >= REPEATS_LEAST && repeats < 0.3 * expected;
	free(visit);
	free(seen);
	return 0;
}

/* One marked epoch may be several, with a sampler or pipeline that repeats: visits
 * read whole files, each of them before one again. Of several ranks each may read
 * all files in an epoch. */
static int find_passes(struct fit *f)
{
	double passes = f->files ? (double)f->visits / f->files : 0;

	if (!f->epochs || f->ranks > 1 || f->files < FILES_LEAST ||
	    passes < 1.75 * (double)f->epochs)
		return 0;
	if (fit_read_share(f) < 0.75)
		return 0;
	if (are_passes(f, passes, &f->repeats))
		return -1;
	if (f->repeats)
		f->epochs = (int64_t)ceil(passes - 0.25);
	return 0;
}

/* A file that stays open may be read several times. Python fills a buffer with the start
 * of a file, and NumPy reads the array anew behind that: all of a small file twice. */
static uint32_t passes_of(const struct fit *f, const struct fit_visit *v)
{
	const struct format *format = format_of(f->w->dataset.format);
	int64_t size = f->file[v->file].size;
	double passes = size > 0 ? (double)v->bytes / (double)size : 1;

	/* An open for the footer reads all of a small file of Parquet, and no data. */
	if (f->w->dataset.format == WORKLOAD_PARQUET && size > 0 &&
	    v->least_end >= size)
		return 0;
	if (format && !format->any_order && v->starts == 1 &&
	    v->bytes - size <= FIT_BUFFER_MOST && passes > 1)
		return 1;
	return passes < 0.25   ? 0
	       : passes < 1.75 ? 1
			       : (uint32_t)(passes + 0.25);
}

/* Visits of a large part of a file; else the bytes: opens that look at the start, or
 * at a sample, of a file are no epochs. */
static int64_t unmarked_epochs(const struct fit *f)
{
	double read = 0, size = 0, passes;
	uint32_t large = 0;

	for (uint32_t i = 0; i < f->files; i++)
		size += (double)f->file[i].size;
	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		read += (double)v->bytes;
		large += passes_of(f, v);
	}
	passes = large >= f->files ? (double)large / f->files
		 : size > 0	   ? read / size
				   : 1;
	return passes >= 1 ? llround(passes) : 1;
}

/* The epochs of a job that marks none. Steps that map the files again and again touch
 * any of their pages, and the kernel maps their neighbours: what they read is no pass,
 * unless each file is mapped once before one is again. */
static int find_unmarked_epochs(struct fit *f)
{
	bool passes = true;

	f->epochs = unmarked_epochs(f);
	if (f->mapped && f->epochs > 1 && fit_maps_in_steps(f) &&
	    are_passes(f, (double)f->epochs, &passes))
		return -1;
	if (!passes)
		f->epochs = 1;
	return fit_reason(f, "epochs", 0.3,
			  passes ? "no epoch was marked: the number of times "
				   "that each file was read"
				 : "no epoch was marked, and the steps map the "
				   "files again and again: all steps are one");
}

int fit_steps(struct fit *f)
{
	struct workload *w = f->w;
	int64_t steps;

	if (fit_ask(f, "SELECT count(*) FROM v_rank", 0, &f->ranks) ||
	    fit_ask(f, "SELECT min(rank) FROM v_rank WHERE steps > 0", 0,
		    &f->first_rank) ||
	    fit_ask(f,
		    "SELECT count(*) FROM v_step WHERE rank = "
		    "(SELECT min(rank) FROM v_rank WHERE steps > 0)",
		    0, &steps) ||
	    fit_ask(f,
		    "SELECT count(DISTINCT epoch_span) FROM step WHERE rank = "
		    "(SELECT min(rank) FROM v_rank WHERE steps > 0)",
		    0, &f->epochs) ||
	    (!steps && find_inference(f, &steps)))
		return -1;
	f->steps = steps;
	if (fit_own_loop(f) || fit_mapped(f) || find_passes(f))
		return -1;
	f->marked = f->epochs > 0;
	if (!f->marked && find_unmarked_epochs(f))
		return -1;
	f->steps_of_epoch = steps ? (steps + f->epochs - 1) / f->epochs : 0;
	w->ranks = f->ranks;
	w->epochs = f->epochs;
	if (!steps)
		return fit_reason(f, "ranks", f->ranks ? 0.9 : 0,
				  "processes of the job");
	if (!f->marked)
		return fit_reason(f, "ranks", 0.95, "processes that step");
	return fit_reason(
		       f, "epochs", f->repeats ? 0.8 : 0.95,
		       f->repeats ? "each of the files is read so often, one "
				    "after another, in fewer marked epochs"
		       : f->inference ? "evaluations that the framework marked"
				      : "epochs that the framework marked") ||
	       fit_reason(f, "ranks", 0.95, "processes that step");
}

/* --- computation ---------------------------------------------------------- */

/* Steps that keep a processor busy do so in the benchmark, too: its readers then have
 * as few processors as those of the job. An accelerator does not. */
static int fit_where(struct fit *f)
{
	int64_t kernels;

	if (fit_ask(f, "SELECT count(*) FROM v_span WHERE name = 'kernel'", 0,
		    &kernels))
		return -1;
	if (kernels || f->job_percent < 50)
		f->w->compute.on = WORKLOAD_SLEEP;
	else
		f->w->compute.on =
			f->share < 1 ? WORKLOAD_PROCESSOR : WORKLOAD_CPU;
	if (f->job_percent < 0)
		return fit_reason(f, "compute.on", 0.3,
				  "the processor time of the job is not known");
	return fit_reason(f, "compute.on", f->busy ? 0.5 : 0.7,
			  "the job used %.0f %% of a processor%s, %s",
			  f->job_percent,
			  f->limited ? " as far as its limit left it one"
			  : f->busy  ? " as far as others left it one"
				     : "",
			  kernels ? "and an accelerator" : "no accelerator");
}

/* The computation of the steps. Ranks that step together wait for the last one in what
 * looks like computation: it has none of that wait, so the least of a step counts. */
static const char *steps_of_all =
	"SELECT min(compute_ns) AS ns FROM v_step WHERE steady AND "
	"compute_ns IS NOT NULL GROUP BY ordinal HAVING count(*) = "
	"(SELECT count(*) FROM v_rank WHERE steps > 0) ORDER BY ordinal";
static const char *steps_of_one =
	"SELECT compute_ns AS ns FROM v_step WHERE rank = ?1 AND steady AND "
	"compute_ns IS NOT NULL ORDER BY start_ns";

/* The steady ones. */
static int own_steps(struct fit *f, int64_t **value, uint32_t *n)
{
	const struct fit_own_loop *o = &f->own_loop;

	*n = o->steps - 1;
	*value = reel_alloc((size_t)*n + 1, sizeof(**value), f->err);
	if (!*value)
		return -1;
	memcpy(*value, o->compute_ns + 1, *n * sizeof(**value));
	return 0;
}

int fit_compute(struct fit *f)
{
	struct workload_compute *c = &f->w->compute;
	bool together = f->ranks > 1;
	int64_t *value;
	uint32_t n;
	int rc;

	if (f->own_loop.steps ? own_steps(f, &value, &n)
	    : f->inference
		    ? fit_evaluation_steps(f, &value, &n)
		    : fit_column(f, together ? steps_of_all : steps_of_one,
				 &value, &n))
		goto fail;
	if (fit_where(f))
		goto fail;
	/* Sleeping needs no processor. */
	if (f->w->compute.on == WORKLOAD_PROCESSOR)
		fit_work(f, value, n);
	if (!n) {
		free(value);
		return fit_reason(f, "compute.step_ns", 0,
				  "no step says how long it computed");
	}
	c->series_ns_n = n < SERIES_MOST ? n : SERIES_MOST;
	c->series_ns = reel_alloc(c->series_ns_n, sizeof(*value), f->err);
	if (!c->series_ns)
		goto fail;
	memcpy(c->series_ns, value, c->series_ns_n * sizeof(*value));
	rc = quantiles_of(&c->step_ns, value, n, FIT_QUANTILES, f->err);
	free(value);
	if (!rc && f->own_loop.steps)
		return fit_reason(
			f, "compute.step_ns", 0.4,
			"%u steps from one optimizer step to the next, each "
			"from its last read before the backward pass%s",
			n, fit_busy_words(f));
	return rc ||
	       fit_reason(f, "compute.step_ns",
			  f->busy   ? 0.4
			  : n >= 20 ? 0.9
				    : 0.6,
			  "%u steps, each without its wait for the batch%s%s",
			  n,
			  together && !f->inference
				  ? ", of the rank that computed least: the "
				    "others waited for it"
				  : "",
			  fit_busy_words(f));
fail:
	free(value);
	return -1;
}

/* --- what a loop does between steps --------------------------------------- */

int fit_steps_between(struct fit *f, const int64_t *step, uint32_t n,
		      int64_t *out)
{
	uint32_t gaps = n > 1 ? n - 1 : 0;
	int64_t *gap = reel_alloc((size_t)gaps + 1, sizeof(*gap), f->err);

	if (!gap)
		return -1;
	for (uint32_t i = 0; i < gaps; i++)
		gap[i] = step[i + 1] - step[i];
	*out = n == 1 ? step[0] : fit_median(gap, gaps);
	free(gap);
	return 0;
}

bool fit_at_ends(const struct fit *f, const int64_t *step, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int64_t rest = step[i] % f->steps_of_epoch;

		if (rest > 1 && rest < f->steps_of_epoch - 1)
			return false;
	}
	return n > 0;
}

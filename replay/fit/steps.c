/* SPDX-License-Identifier: MIT */
/* Epochs, steps and their computation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define SERIES_MOST 4096 /* steps whose order is kept */

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
		reel_view_bind(&v, f->first_rank);
		while (!rc && reel_view_next(&v)) {
			rc = reel_array_reach(value, &room, *n, sizeof(**value),
					      f->err);
			if (!rc)
				(*value)[(*n)++] = reel_view_int(&v, "ns");
		}
	}
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* Steps of a job that evaluates only: its batches. The last fetch of each evaluation
 * finds the end. */
static int find_inference(struct fit *f, int64_t *steps)
{
	int64_t fetches;

	if (fit_ask(f, "SELECT max(evaluations) FROM v_rank WHERE steps = 0", 0,
		    &f->epochs) ||
	    fit_ask(f,
		    "SELECT count(*) FROM v_span f WHERE f.name = 'fetch' AND "
		    "f.closed AND f.process_id = (SELECT process_id FROM "
		    "v_evaluation ORDER BY rank LIMIT 1)",
		    0, &fetches))
		return -1;
	if (fit_ask(f, "SELECT min(rank) FROM v_evaluation", 0, &f->first_rank))
		return -1;
	f->inference = f->epochs > 0 && fetches > f->epochs;
	*steps = f->inference ? fetches - f->epochs : 0;
	return 0;
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
		    "SELECT count(*) FROM v_epoch WHERE steps > 0 AND rank = "
		    "(SELECT min(rank) FROM v_rank WHERE steps > 0)",
		    0, &f->epochs) ||
	    (!steps && find_inference(f, &steps)))
		return -1;
	f->steps = steps;
	if (!f->epochs && f->visits)
		f->epochs = f->visits / f->files;
	if (f->epochs < 1)
		f->epochs = 1;
	f->steps_of_epoch = steps ? (steps + f->epochs - 1) / f->epochs : 0;
	w->ranks = f->ranks;
	w->epochs = f->epochs;
	if (!steps)
		return fit_reason(f, "epochs", 0.3,
				  "no steps were marked: the number of times "
				  "that each file was read") ||
		       fit_reason(f, "ranks", f->ranks ? 0.9 : 0,
				  "processes of the job");
	return fit_reason(f, "epochs", 0.95,
			  f->inference ? "evaluations that the framework marked"
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
			  f->busy ? " as far as others left it one" : "",
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

int fit_compute(struct fit *f)
{
	struct workload_compute *c = &f->w->compute;
	bool together = f->ranks > 1;
	int64_t *value;
	uint32_t n;
	int rc;

	if ((f->inference
		     ? fit_evaluation_steps(f, &value, &n)
		     : fit_column(f, together ? steps_of_all : steps_of_one,
				  &value, &n)) ||
	    fit_where(f))
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

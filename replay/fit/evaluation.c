/* SPDX-License-Identifier: MIT */
/*
 * The evaluation: visits by its workers, or while the job evaluates, are no visits of
 * the training, and files that have no others are not of its data set.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define SIZES_ALIKE 0.02 /* of means: samples of one distribution differ, too */

#define EVALUATIONS                                                            \
	"FROM v_span s WHERE s.name = 'eval' AND s.closed AND s.process_id = " \
	"(SELECT process_id FROM v_span WHERE name = 'step' LIMIT 1) ORDER "   \
	"BY s.start_ns"

bool fit_evaluates(const struct fit *f, int64_t ns)
{
	const struct fit_evaluations *e = &f->evaluation;

	for (uint32_t i = 0; i < e->n; i++)
		if (ns >= e->start_ns[i] && ns < e->end_ns[i])
			return true;
	return false;
}

/* --- parting -------------------------------------------------------------- */

/* Loader workers, in the order of their ids, and those of evaluations. */
struct workers {
	int64_t *process_id, *start_ns, *evaluates;
	uint32_t n, evaluating;
};

static int find_workers(struct fit *f, struct workers *w)
{
	uint32_t starts;

	return fit_column(f,
			  "SELECT process_id AS ns FROM process WHERE role = "
			  "'worker' ORDER BY process_id",
			  &w->process_id, &w->n) ||
			       fit_column(f,
					  "SELECT start_ns AS ns FROM process "
					  "WHERE role = 'worker' ORDER BY "
					  "process_id",
					  &w->start_ns, &starts) ||
			       fit_column(f,
					  "SELECT worker AS ns FROM "
					  "evaluation_worker ORDER BY worker",
					  &w->evaluates, &w->evaluating)
		       ? -1
		       : 0;
}

static void free_workers(struct workers *w)
{
	free(w->process_id);
	free(w->start_ns);
	free(w->evaluates);
}

/* The place of @process in the @n ids of @ids, in their order; or NULL. */
static const int64_t *find_id(const int64_t *ids, uint32_t n, int64_t process)
{
	return n ? bsearch(&process, ids, n, sizeof(*ids), fit_by_value) : NULL;
}

/* Workers read ahead, those of a loader for evaluation before and beyond it: a worker
 * that began in an evaluation, or makes most of its batches there, is its own, another
 * one is the training's. */
static bool is_of_evaluation(const struct fit *f, const struct workers *w,
			     const struct fit_visit *v)
{
	const int64_t *id = find_id(w->process_id, w->n, v->process_id);

	if (find_id(w->evaluates, w->evaluating, v->process_id))
		return true;
	return fit_evaluates(f, id ? w->start_ns[id - w->process_id]
				   : v->start_ns);
}

/* Move the visits of evaluations behind the others, and count those of each file. */
static int part_visits(struct fit *f, const struct workers *w, uint32_t *all,
		       uint32_t *evaluated)
{
	struct fit_visit *spare =
		reel_alloc((size_t)f->visits + 1, sizeof(*spare), f->err);
	uint32_t kept = 0, moved = 0;

	if (!spare)
		return -1;
	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		all[v->file]++;
		if (is_of_evaluation(f, w, v)) {
			evaluated[v->file]++;
			spare[moved++] = *v;
		} else {
			f->visit[kept++] = *v;
		}
	}
	memcpy(f->visit + kept, spare, moved * sizeof(*spare));
	free(spare);
	f->visits = kept;
	f->evaluation_visits = moved;
	return 0;
}

/* Move the files of which all visits are @evaluated behind the others. */
static int part_files(struct fit *f, const uint32_t *all,
		      const uint32_t *evaluated, uint32_t *place)
{
	struct fit_file *spare =
		reel_alloc((size_t)f->files + 1, sizeof(*spare), f->err);
	uint32_t kept = 0, moved = 0;

	if (!spare)
		return -1;
	for (uint32_t i = 0; i < f->files; i++) {
		if (all[i] && all[i] == evaluated[i]) {
			spare[moved++] = f->file[i];
		} else {
			f->shared += evaluated[i] > 0;
			f->shared_visits += evaluated[i];
			place[i] = kept;
			f->file[kept++] = f->file[i];
		}
	}
	memcpy(f->file + kept, spare, moved * sizeof(*spare));
	free(spare);
	f->files = kept;
	f->evaluated = moved;
	for (uint32_t i = 0; i < f->visits; i++)
		f->visit[i].file = place[f->visit[i].file];
	return 0;
}

static int part(struct fit *f)
{
	uint32_t *all =
		reel_alloc(3 * (size_t)f->files + 1, sizeof(*all), f->err);
	struct workers w = {0};
	int rc = !all || find_workers(f, &w) ||
				 part_visits(f, &w, all, all + f->files)
			 ? -1
			 : 0;

	if (!rc && f->visits)
		rc = part_files(f, all, all + f->files, all + 2 * f->files);
	free_workers(&w);
	free(all);
	return rc;
}

int fit_part_evaluations(struct fit *f)
{
	struct fit_evaluations *e = &f->evaluation;
	uint32_t ends;

	if (fit_column(f, "SELECT s.start_ns AS ns " EVALUATIONS, &e->start_ns,
		       &e->n) ||
	    fit_column(f, "SELECT s.start_ns + s.dur_ns AS ns " EVALUATIONS,
		       &e->end_ns, &ends))
		return -1;
	return e->n && f->visits ? part(f) : 0;
}

/* --- keys ----------------------------------------------------------------- */

/* The sizes @value of @n samples of evaluations, where they are not those of the
 * training. */
static int put_sizes(struct fit *f, int64_t *value, uint32_t n)
{
	struct quantiles *to = &f->w->evaluation.sample_bytes;
	double mean = 0, trained = quantiles_mean(&f->w->dataset.sample_bytes);

	for (uint32_t i = 0; i < n; i++)
		mean += (double)value[i] / n;
	/* A sample may be a part of its file. */
	if (f->partial || f->sample_a_visit || !n || trained <= 0 ||
	    fabs(mean / trained - 1) < SIZES_ALIKE)
		return 0;
	if (f->w->dataset.columns_n)
		return fit_reason(f, "evaluation.sample_bytes", 0,
				  "samples of evaluations are %.2f times as "
				  "large; the benchmark's are as large, as "
				  "they have the same columns",
				  mean / trained);
	if (quantiles_of(to, value, n, FIT_QUANTILES, f->err))
		return -1;
	return fit_reason(f, "evaluation.sample_bytes", 0.9,
			  "the files that evaluations alone read; %.2f times "
			  "as large as those of the training",
			  mean / trained);
}

/* Those of files of one sample each. */
static int put_sizes_of_files(struct fit *f, const struct format *format)
{
	int64_t *value = reel_alloc(f->evaluated, sizeof(*value), f->err);
	int rc;

	if (!value)
		return -1;
	for (uint32_t i = 0; i < f->evaluated; i++) {
		int64_t size = f->file[f->files + i].size;

		value[i] =
			f->arrays ? fit_arrays_bytes(format,
						     f->file[f->files + i].path)
			: format && format->payload
				? (int64_t)format->payload((uint64_t)size, 1)
				: size;
	}
	rc = put_sizes(f, value, f->evaluated);
	free(value);
	return rc;
}

/* Samples of the files that evaluations alone read; as many as in a file of the
 * training where they cannot be counted. */
static int fit_evaluation_samples(struct fit *f)
{
	struct workload_evaluation *to = &f->w->evaluation;
	const struct format *format = format_of(f->w->dataset.format);
	int64_t *size = NULL;
	uint32_t n = 0, room = 0;
	int rc = 0;

	to->samples_per_file = f->w->dataset.samples_per_file;
	if (fit_one_sample(f->w->dataset.format) || f->arrays || !format ||
	    !format->inspect)
		return to->samples_per_file == 1 ? put_sizes_of_files(f, format)
						 : 0;
	for (uint32_t i = 0; !rc && i < f->evaluated; i++)
		rc = format->inspect(f->file[f->files + i].path, &size, &n,
				     &room, f->err);
	if (!rc && n) {
		to->samples_per_file = n < f->evaluated ? 1 : n / f->evaluated;
		rc = put_sizes(f, size, n);
	}
	free(size);
	return rc;
}

static int fit_evaluation_batch(struct fit *f)
{
	struct workload_evaluation *to = &f->w->evaluation;
	int64_t samples = to->files * to->samples_per_file, fetches, batches;
	uint32_t *counts = NULL, n = 0;
	int rc = fit_files_of_batches(f, f->visits, f->evaluation_visits,
				      &counts, &n);

	if (!rc && n && to->samples_per_file == 1)
		to->batch = counts[n / 2];
	free(counts);
	if (rc)
		return -1;
	if (n && to->samples_per_file == 1)
		return fit_reason(f, "evaluation.batch", 0.95,
				  "files that a worker read for each of %u "
				  "batches",
				  n);
	if (fit_ask(f,
		    "SELECT count(*) FROM v_fetch f JOIN v_span e ON "
		    "e.process_id = f.process_id AND e.name = 'eval' AND "
		    "f.start_ns >= e.start_ns AND f.start_ns < e.start_ns + "
		    "e.dur_ns",
		    0, &fetches))
		return -1;
	fetches /= f->evaluation.n;
	if (fetches < 2)
		return fit_reason(f, "evaluation.batch", 0,
				  "no batch of an evaluation was marked");
	/* The last fetch finds the end; Keras fetches twice to see it. */
	to->batch = f->w->pipeline.batch;
	batches = (samples + to->batch - 1) / to->batch;
	if (batches < fetches - 2 || batches >= fetches)
		to->batch = (samples + fetches - 2) / (fetches - 1);
	return fit_reason(f, "evaluation.batch", 0.6,
			  "%lld samples in %lld fetches of an evaluation, of "
			  "which the last one finds the end",
			  (long long)samples, (long long)fetches);
}

int fit_evaluation_steps(struct fit *f, int64_t **value, uint32_t *n)
{
	return fit_column(
		f,
		"SELECT ns FROM (SELECT lead(f.start_ns) OVER (PARTITION BY "
		"e.span_id ORDER BY f.start_ns) - f.start_ns - f.dur_ns AS ns "
		"FROM v_fetch f JOIN v_span e ON e.process_id = f.process_id "
		"AND e.name = 'eval' AND f.start_ns >= e.start_ns AND "
		"f.start_ns < e.start_ns + e.dur_ns WHERE f.closed) "
		"WHERE ns >= 0",
		value, n);
}

static int fit_evaluation_step(struct fit *f)
{
	int64_t *value;
	uint32_t n;
	int rc = fit_evaluation_steps(f, &value, &n);

	if (!rc && f->w->compute.on == WORKLOAD_PROCESSOR)
		fit_work(f, value, n);
	if (!rc && n)
		rc = quantiles_of(&f->w->evaluation.step_ns, value, n,
				  FIT_QUANTILES, f->err);
	free(value);
	return rc ? -1
		  : fit_reason(f, "evaluation.step_ns", n ? 0.8 : 0,
			       n ? "%u times between the batches of "
				   "evaluations"
				 : "no batch of an evaluation was marked",
			       n);
}

/* The work on a sample of an evaluation: of its batches in workers, or in fetches. */
#define OF_EVALUATIONS                                                         \
	"WITH eval AS MATERIALIZED (SELECT process_id AS rank, start_ns, "     \
	"start_ns + dur_ns AS end_ns FROM v_span WHERE name = 'eval'), "
#define WITHOUT_CALLS                                                          \
	"s.dur_ns - coalesce((SELECT sum(e.dur_ns) FROM v_event e WHERE "      \
	"e.thread_id = s.thread_id AND e.start_ns >= s.start_ns AND "          \
	"e.start_ns < s.start_ns + s.dur_ns), 0) AS ns "
#define IN_EVALUATIONS                                                         \
	"EXISTS (SELECT 1 FROM eval v WHERE v.rank = s.rank AND "              \
	"s.start_ns >= v.start_ns AND s.start_ns < v.end_ns)"
static const char batches_of_evaluations[] = OF_EVALUATIONS
	"made AS (SELECT iif(m.process_id IN (SELECT process_id "
	"FROM rank_time), m.process_id, p.parent_id) AS rank, m.* "
	"FROM v_span m JOIN process p USING (process_id) WHERE "
	"m.name = 'preprocess' AND m.closed) "
	"SELECT " WITHOUT_CALLS "FROM made s WHERE s.process_id IN "
	"(SELECT worker FROM evaluation_worker) OR " IN_EVALUATIONS
	" LIMIT 500";
static const char fetches_of_evaluations[] = OF_EVALUATIONS
	"fetch AS (SELECT process_id AS rank, * FROM v_fetch WHERE closed) "
	"SELECT " WITHOUT_CALLS "FROM fetch s WHERE " IN_EVALUATIONS
	" LIMIT 500";

static int fit_evaluation_work(struct fit *f)
{
	struct workload_evaluation *to = &f->w->evaluation;
	bool workers = true;
	int64_t *value;
	uint32_t n;
	int rc = fit_column(f, batches_of_evaluations, &value, &n);

	if (!rc && !n && !f->w->pipeline.readers) {
		workers = false;
		free(value);
		rc = fit_column(f, fetches_of_evaluations, &value, &n);
	}
	for (uint32_t i = 0; !rc && i < n; i++)
		value[i] = value[i] > 0 ? value[i] / to->batch : 0;
	if (!rc && n) {
		fit_work(f, value, n);
		rc = quantiles_of(&to->sample_ns, value, n, FIT_QUANTILES,
				  f->err);
	}
	free(value);
	if (rc)
		return -1;
	return fit_reason(f, "evaluation.sample_ns", n ? 0.7 : 0,
			  n ? "time of %u %s of evaluations without their calls"
			    : "no batch of an evaluation was marked",
			  n, workers ? "batches" : "fetches");
}

/* Steps of the first rank before each evaluation, of those after a step: *@n in
 * @before, which has room. 0 or -1. */
static int steps_before(struct fit *f, int64_t *before, uint32_t *n)
{
	const struct fit_evaluations *e = &f->evaluation;
	int64_t *step;
	uint32_t steps, at = 0;

	*n = 0;
	if (fit_column(f,
		       "SELECT start_ns AS ns FROM v_step WHERE rank = "
		       "(SELECT min(rank) FROM v_step) ORDER BY start_ns",
		       &step, &steps)) {
		free(step);
		return -1;
	}
	for (uint32_t i = 0; i < e->n; i++) {
		while (at < steps && step[at] < e->start_ns[i])
			at++;
		if (at)
			before[(*n)++] = at;
	}
	free(step);
	return 0;
}

/* Steps between evaluations that are not at ends of epochs; 0: they are, or no step
 * shows it. */
static int steps_between(struct fit *f, int64_t *out)
{
	int64_t *before =
		reel_alloc((size_t)f->evaluation.n, sizeof(*before), f->err);
	uint32_t n;
	int rc = !before || steps_before(f, before, &n) ? -1 : 0;

	*out = 0;
	if (!rc && n && f->steps_of_epoch > 0 && !fit_at_ends(f, before, n))
		rc = fit_steps_between(f, before, n, out);
	free(before);
	return rc;
}

/* When the job evaluates. */
static int fit_moments(struct fit *f)
{
	struct workload_evaluation *to = &f->w->evaluation;
	int64_t n = f->evaluation.n, between;

	if (steps_between(f, &between))
		return -1;
	if (between > 0) {
		to->every_steps = between;
		return fit_reason(f, "evaluation.every_steps", 0.9,
				  "%lld evaluations, %lld steps from one to "
				  "the next as a rule",
				  (long long)n, (long long)between);
	}
	to->every_epochs = f->epochs > n ? f->epochs / n : 1;
	return fit_reason(f, "evaluation.every_epochs",
			  f->epochs % n ? 0.4 : 0.95,
			  "%lld evaluations in %lld epochs", (long long)n,
			  (long long)f->epochs);
}

/* Files of the training that an evaluation reads: each may read others of them, and
 * one several times. */
static int64_t count_shared(const struct fit *f)
{
	int64_t each =
		(f->shared_visits + f->evaluation.n - 1) / f->evaluation.n;

	return each < f->shared ? each : f->shared;
}

static int say_evaluated(struct fit *f, int64_t shared)
{
	if (!shared)
		return fit_reason(f, "evaluation.files", 0.95,
				  "%u files were read in evaluations alone",
				  f->evaluated);
	if (!f->evaluated)
		return fit_reason(f, "evaluation.files", 0.5,
				  "%lld files of the training were read in an "
				  "evaluation; the benchmark has others for it",
				  (long long)shared);
	return fit_reason(f, "evaluation.files", 0.7,
			  "%u files were read in evaluations alone, and %lld "
			  "of the training in one; the benchmark has others "
			  "for it",
			  f->evaluated, (long long)shared);
}

int fit_evaluation(struct fit *f)
{
	struct workload_evaluation *to = &f->w->evaluation;
	int64_t n = f->evaluation.n, shared;

	if (f->inference)
		return fit_reason(f, "evaluation", 0.9,
				  "the job trains nothing: its evaluations are "
				  "the epochs of the benchmark");
	if (!n)
		return fit_reason(f, "evaluation", f->steps ? 0.9 : 0,
				  f->steps ? "no evaluation was marked"
					   : "no steps were marked");
	if (!f->visits || !f->evaluation_visits)
		return fit_reason(f, "evaluation", 0,
				  "%lld evaluations; no file of the format of "
				  "the training was opened or first read in "
				  "one",
				  (long long)n);
	shared = count_shared(f);
	to->files = f->evaluated + shared;
	return say_evaluated(f, shared) || fit_moments(f) ||
	       fit_evaluation_samples(f) || fit_evaluation_batch(f) ||
	       fit_evaluation_step(f) || fit_evaluation_work(f);
}

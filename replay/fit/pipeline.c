/* SPDX-License-Identifier: MIT */
/* Readers, order, batch and preprocessing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* --- visits of files ------------------------------------------------------ */

static int add_visit(struct fit *f, struct reel_view *v, uint32_t file,
		     uint32_t *room)
{
	struct fit_visit *to;

	if (reel_array_reach(&f->visit, room, f->visits, sizeof(*f->visit),
			     f->err))
		return -1;
	to = &f->visit[f->visits++];
	to->process_id = reel_view_exact(v, "process_id");
	to->thread_id = reel_view_exact(v, "thread_id");
	to->start_ns = reel_view_exact(v, "start_ns");
	to->bytes = reel_view_int(v, "bytes");
	to->file = file;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, ((const struct fit_file *)b)->path);
}

int fit_visits(struct fit *f)
{
	struct reel_view v;
	uint32_t room = 0;
	int rc = 0;

	if (!reel_view_open(&v, f->st,
			    "SELECT process_id, thread_id, min(start_ns) AS "
			    "start_ns, sum(bytes) AS bytes, path FROM v_event "
			    "WHERE class = 'data' AND call_group = 'read' AND "
			    "bytes > 0 GROUP BY process_id, open_id, path "
			    "ORDER BY 3",
			    f->err))
		while (!rc && reel_view_next(&v)) {
			const char *path = reel_view_text(&v, "path");
			const struct fit_file *file =
				bsearch(&path, f->file, f->files,
					sizeof(*f->file), by_path);

			if (file)
				rc = add_visit(f, &v,
					       (uint32_t)(file - f->file),
					       &room);
		}
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* --- order ---------------------------------------------------------------- */

/* Kendall's tau of the files in the order of @n visits: 1 ascending, 0 random. */
static double tau_of(const struct fit_visit *visit, uint32_t n)
{
	int64_t up = 0, all = 0;

	if (n > 2000)
		n = 2000;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			if (visit[i].file == visit[j].file)
				continue;
			up += visit[i].file < visit[j].file ? 1 : -1;
			all++;
		}
	return all ? (double)up / (double)all : 1;
}

/* Share of places at which two epochs read the same file. */
static double same_places(const struct fit_visit *a, const struct fit_visit *b,
			  uint32_t n)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < n; i++)
		same += a[i].file == b[i].file;
	return n ? (double)same / n : 0;
}

static int fit_order(struct fit *f)
{
	struct workload_pipeline *p = &f->w->pipeline;
	uint32_t each = f->visits / (uint32_t)f->epochs;
	double tau, same;

	if (f->files < 4 || each < 4)
		return fit_reason(f, "pipeline.order", 0.2,
				  "too few files to see an order");
	tau = tau_of(f->visit, each);
	p->order = tau > 0.8 ? WORKLOAD_SEQUENTIAL : WORKLOAD_SHUFFLE;
	if (fit_reason(f, "pipeline.order", tau > 0.8 || tau < 0.4 ? 0.9 : 0.5,
		       "Kendall's tau of the order of the files is %.2f", tau))
		return -1;
	if (f->epochs < 2)
		return fit_reason(f, "pipeline.reshuffle", 0,
				  "one epoch was recorded");
	same = same_places(f->visit, f->visit + each, each);
	p->reshuffle = same < 0.5;
	return fit_reason(f, "pipeline.reshuffle", 0.9,
			  "two epochs have the same file at %.0f %% of the "
			  "places",
			  100 * same);
}

/* --- batch ---------------------------------------------------------------- */

static int by_count(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Files that each batch of a worker reads: between the begin and the end of its
 * span. Gives the counts, sorted; *@n of them. */
static int files_of_batches(struct fit *f, uint32_t **counts, uint32_t *n)
{
	struct reel_view v;
	uint32_t room = 0;
	int rc = 0;

	*counts = NULL;
	*n = 0;
	if (!reel_view_open(&v, f->st,
			    "SELECT process_id, start_ns, dur_ns FROM v_span "
			    "WHERE name = 'preprocess' AND closed",
			    f->err))
		while (!rc && reel_view_next(&v)) {
			int64_t process = reel_view_exact(&v, "process_id");
			int64_t start = reel_view_exact(&v, "start_ns");
			int64_t end = start + reel_view_exact(&v, "dur_ns");
			uint32_t found = 0;

			/* Visits are few beside what reading them costs. */
			for (uint32_t i = 0; i < f->visits; i++)
				found += f->visit[i].process_id == process &&
					 f->visit[i].start_ns >= start &&
					 f->visit[i].start_ns < end;
			rc = reel_array_reach(counts, &room, *n,
					      sizeof(**counts), f->err);
			if (!rc)
				(*counts)[(*n)++] = found;
		}
	if (reel_view_close(&v))
		rc = -1;
	if (*n)
		qsort(*counts, *n, sizeof(**counts), by_count);
	return rc;
}

static int fit_batch(struct fit *f)
{
	struct workload *w = f->w;
	int64_t samples = w->dataset.files * w->dataset.samples_per_file;
	int64_t steps = f->steps_of_epoch * (f->ranks ? f->ranks : 1);
	uint32_t *counts = NULL, n;
	int64_t batch = 0;
	int rc;

	if (!steps)
		return fit_reason(f, "pipeline.batch", 0,
				  "no steps were marked");
	rc = files_of_batches(f, &counts, &n);
	if (!rc && n && w->dataset.samples_per_file == 1)
		batch = counts[n / 2];
	free(counts);
	if (rc)
		return -1;
	w->pipeline.batch = batch ? batch : (samples + steps - 1) / steps;
	/* The last batch is dropped where all steps together have fewer samples
	 * than there are. */
	w->pipeline.drop_last = samples > steps * w->pipeline.batch;
	if (batch)
		return fit_reason(f, "pipeline.batch", 0.95,
				  "files that a worker read for each of %u "
				  "batches",
				  n);
	return fit_reason(f, "pipeline.batch", 0.7,
			  "%lld samples in %lld steps of an epoch",
			  (long long)samples, (long long)steps);
}

/* --- readers -------------------------------------------------------------- */

/* Threads that read the data set beside the one that reads most. */
static int fit_threads(struct fit *f)
{
	struct workload_pipeline *p = &f->w->pipeline;
	struct reel_intmap seen = {0};
	int64_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < f->visits; i++) {
		uint64_t thread = (uint64_t)f->visit[i].thread_id;
		uint32_t index = reel_intmap_get(&seen, thread, f->err);

		if (index == REEL_NO_INDEX)
			rc = -1;
		else if (index >= n)
			n = (int64_t)index + 1;
	}
	reel_intmap_fini(&seen);
	if (rc)
		return -1;
	n /= f->ranks ? f->ranks : 1;
	p->unit = WORKLOAD_THREAD;
	p->readers = n > 1 ? n : 0;
	return fit_reason(f, "pipeline.readers", 0.6,
			  "%lld threads of a rank read data files",
			  (long long)n);
}

static int fit_readers(struct fit *f)
{
	struct workload_pipeline *p = &f->w->pipeline;
	int64_t workers;
	bool has;

	if (reel_store_int(f->st,
			   "SELECT max(max_workers) FROM "
			   "v_loader_workers",
			   &workers, &has, f->err))
		return -1;
	if (!has || !workers)
		return fit_threads(f);
	p->unit = WORKLOAD_PROCESS;
	p->readers = workers;
	return fit_reason(f, "pipeline.readers", 0.95,
			  "worker processes of a rank at the same time");
}

/* Batches that were ready and not taken, at most: the readers were that far ahead
 * of the steps. */
static int fit_prefetch(struct fit *f)
{
	struct workload_pipeline *p = &f->w->pipeline;
	int64_t ahead = 0, ready = 0;
	struct reel_view v;

	if (!p->readers || p->unit != WORKLOAD_PROCESS)
		return fit_reason(f, "pipeline.prefetch", 0,
				  "no worker marks its batches");
	if (!reel_view_open(&v, f->st,
			    "SELECT start_ns AS ns, 1 AS change FROM v_span "
			    "WHERE name = 'preprocess' UNION ALL SELECT "
			    "start_ns + dur_ns, -1 FROM v_span WHERE name = "
			    "'fetch' ORDER BY 1",
			    f->err))
		while (reel_view_next(&v)) {
			ready += reel_view_exact(&v, "change");
			if (ready < 0)
				ready = 0;
			if (ready > ahead)
				ahead = ready;
		}
	if (reel_view_close(&v))
		return -1;
	ahead /= f->ranks ? f->ranks : 1;
	p->prefetch = (ahead + p->readers - 1) / p->readers;
	if (p->prefetch < 1)
		p->prefetch = 1;
	return fit_reason(f, "pipeline.prefetch", 0.7,
			  "at most %lld batches were begun and not taken",
			  (long long)ahead);
}

/* Time of a batch in a worker that is no I/O, by its samples. */
static int fit_preprocess(struct fit *f)
{
	int64_t *value = NULL, batch = f->w->pipeline.batch;
	uint32_t n = 0, room = 0;
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT s.dur_ns - coalesce((SELECT sum(e.dur_ns) FROM "
		    "v_event e WHERE e.process_id = s.process_id AND "
		    "e.thread_id = s.thread_id AND e.start_ns >= s.start_ns "
		    "AND "
		    "e.start_ns < s.start_ns + s.dur_ns), 0) AS ns FROM v_span "
		    "s "
		    "WHERE s.name = 'preprocess' AND s.closed LIMIT 500",
		    f->err))
		while (!rc && reel_view_next(&v)) {
			int64_t ns = reel_view_int(&v, "ns");

			rc = reel_array_reach(&value, &room, n, sizeof(*value),
					      f->err);
			if (!rc)
				value[n++] = ns > 0 ? ns / batch : 0;
		}
	if (reel_view_close(&v))
		rc = -1;
	if (!rc && n)
		rc = quantiles_of(&f->w->preprocess.sample_ns, value, n,
				  FIT_QUANTILES, f->err);
	free(value);
	if (rc)
		return -1;
	return n ? fit_reason(f, "preprocess.sample_ns", 0.7,
			      "time of %u batches in their workers without "
			      "their calls",
			      n)
		 : fit_reason(f, "preprocess.sample_ns", 0,
			      "no worker marks its batches");
}

int fit_pipeline(struct fit *f)
{
	f->w->synchronise.kind =
		f->ranks > 1 ? WORKLOAD_ALLREDUCE : WORKLOAD_ALONE;
	return fit_order(f) || fit_batch(f) || fit_readers(f) ||
	       fit_prefetch(f) || fit_preprocess(f);
}

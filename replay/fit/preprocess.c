/* SPDX-License-Identifier: MIT */
/* The work of readers on a sample besides reading it. */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* The work on a sample, from that on batches, @value, which is changed: @batches of
 * them are one of the benchmark. */
static int put_batches(struct fit *f, int64_t *value, uint32_t n,
		       int64_t batches)
{
	for (uint32_t i = 0; i < n; i++)
		value[i] = value[i] > 0
				   ? value[i] * batches / f->w->pipeline.batch
				   : 0;
	if (!n)
		return 0;
	f->w->preprocess.on = fit_work(f, value, n);
	return quantiles_of(&f->w->preprocess.sample_ns, value, n,
			    FIT_QUANTILES, f->err);
}

/* The same for @value of fit_column(), which gave @rc. Frees it. */
static int take_batches(struct fit *f, int rc, int64_t *value, uint32_t n,
			int64_t batches)
{
	if (!rc)
		rc = put_batches(f, value, n, batches);
	free(value);
	return rc ? -1 : 0;
}

/*
 * Time of a batch in a worker that is no I/O, by its samples. Of several ranks that
 * whose workers take longest: the others wait for it. Batches that were made while it
 * evaluates are none of the training.
 */
static int of_workers(struct fit *f)
{
	int64_t *value;
	uint32_t n;
	int rc = fit_column(
		f,
		"WITH eval AS MATERIALIZED (SELECT process_id AS rank, "
		"start_ns, start_ns + dur_ns AS end_ns FROM v_span WHERE "
		"name = 'eval' AND EXISTS (SELECT 1 FROM step)), "
		"made AS (SELECT iif(s.process_id IN (SELECT process_id FROM "
		"rank_time), s.process_id, p.parent_id) AS rank, s.process_id, "
		"s.thread_id, s.start_ns, s.dur_ns FROM v_span s JOIN process "
		"p USING (process_id) WHERE s.name = 'preprocess' AND "
		"s.closed AND s.process_id NOT IN (SELECT worker FROM "
		"evaluation_worker) AND s.start_ns < ?2), "
		"batch AS MATERIALIZED (SELECT * FROM made m WHERE NOT EXISTS "
		"(SELECT 1 FROM eval e WHERE e.rank = m.rank AND "
		"m.start_ns >= e.start_ns AND m.start_ns < e.end_ns)) "
		"SELECT s.dur_ns - coalesce((SELECT sum(e.dur_ns) FROM "
		"v_event e WHERE e.process_id = s.process_id AND "
		"e.thread_id = s.thread_id AND e.start_ns >= s.start_ns AND "
		"e.start_ns < s.start_ns + s.dur_ns), 0) AS ns FROM batch s "
		"WHERE s.rank IS (SELECT rank FROM batch GROUP BY rank "
		"ORDER BY avg(dur_ns) DESC LIMIT 1) LIMIT 500",
		&value, &n);

	if (take_batches(f, rc, value, n, f->batches_of_step))
		return -1;
	return n ? fit_reason(f, "preprocess.sample_ns", f->busy ? 0.4 : 0.7,
			      "time of %u batches in their workers without "
			      "their calls%s",
			      n, fit_busy_words(f))
		 : fit_reason(f, "preprocess.sample_ns", 0,
			      "no worker marks its batches");
}

/* --- no readers ------------------------------------------------------------ */

/* Time that the stepping thread spends in fetches that read, without its calls. */
static int of_fetches(struct fit *f)
{
	int64_t *value;
	uint32_t n;
	int rc = fit_column(
		f,
		"WITH eval AS MATERIALIZED (SELECT start_ns, start_ns + dur_ns "
		"AS end_ns FROM v_span WHERE name = 'eval' AND EXISTS "
		"(SELECT 1 FROM step) AND process_id = " FIT_STEPPER "), "
		"fetch AS MATERIALIZED (SELECT * FROM v_span s WHERE name = "
		"'fetch' AND closed AND process_id = " FIT_STEPPER " AND NOT "
		"EXISTS (SELECT 1 FROM eval e WHERE s.start_ns >= e.start_ns "
		"AND s.start_ns < e.end_ns) ORDER BY start_ns LIMIT 500), "
		"call AS (SELECT s.span_id, s.dur_ns AS fetch_ns, e.dur_ns, "
		"e.class = 'data' AND e.call_group = 'read' AND e.bytes > 0 "
		"AS reads FROM fetch s JOIN v_event e ON e.process_id = "
		"s.process_id AND e.thread_id = s.thread_id AND e.start_ns >= "
		"s.start_ns AND e.start_ns < s.start_ns + s.dur_ns) "
		"SELECT max(fetch_ns) - sum(dur_ns) AS ns FROM call "
		"GROUP BY span_id HAVING max(reads)",
		&value, &n);

	if (take_batches(f, rc, value, n, f->batches_of_step))
		return -1;
	return n ? fit_reason(f, "preprocess.sample_ns", f->busy ? 0.4 : 0.7,
			      "time of %u fetches that read, without their "
			      "calls%s",
			      n, fit_busy_words(f))
		 : fit_reason(f, "preprocess.sample_ns", 0,
			      "no read is in a fetch of the thread that steps");
}

/* The waits of steps whose samples are in memory. */
static int of_memory(struct fit *f)
{
	int64_t *value;
	uint32_t n;
	int rc = fit_column(f,
			    "SELECT fetch_ns AS ns FROM v_step WHERE rank = ?1 "
			    "AND steady AND fetch_ns >= 0 LIMIT 500",
			    &value, &n);

	if (take_batches(f, rc, value, n, 1))
		return -1;
	return fit_reason(f, "preprocess.sample_ns", n ? 0.6 : 0,
			  "fetches of %u steps from memory%s", n,
			  fit_busy_words(f));
}

/* --- workers that mark nothing --------------------------------------------- */

/* Numbers in ascending order. */
struct numbers {
	int64_t *value;
	uint32_t n;
};

static bool is_any_in(const struct numbers *s, int64_t from, int64_t to)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->value[mid] < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->n && s->value[low] <= to;
}

/* The pauses of @workers between two files, of which each is a sample. Where a fetch
 * ends in it (@taken), the worker may have waited for an order. Gives @out. */
static int pauses_of_workers(struct fit *f, const struct numbers *workers,
			     const struct numbers *taken, struct numbers *out)
{
	struct fit_visit **visit = fit_sort_visits(f);

	out->value =
		reel_alloc((size_t)f->visits + 1, sizeof(*out->value), f->err);
	if (!visit || !out->value) {
		free(visit);
		return -1;
	}
	for (uint32_t i = 1; i < f->visits; i++) {
		int64_t process = visit[i]->process_id;
		int64_t from = visit[i - 1]->end_ns, to = visit[i]->start_ns;

		if (process == visit[i - 1]->process_id &&
		    visit[i]->thread_id == visit[i - 1]->thread_id &&
		    to > from && is_any_in(workers, process, process) &&
		    !is_any_in(taken, from, to))
			out->value[out->n++] = to - from;
	}
	free(visit);
	return 0;
}

static int of_unmarked_workers(struct fit *f)
{
	bool sample = f->sample_a_visit || f->w->dataset.samples_per_file == 1;
	struct numbers workers = {0}, taken = {0}, pause = {0};
	int rc = 0;

	if (sample)
		rc = fit_column(f,
				"SELECT process_id AS ns FROM process WHERE "
				"role = 'worker' AND parent_id IN (SELECT "
				"process_id FROM v_rank WHERE rank = ?1) "
				"ORDER BY 1",
				&workers.value, &workers.n) ||
		     fit_column(f,
				"SELECT start_ns + fetch_ns AS ns FROM v_step "
				"WHERE rank = ?1 AND fetch_ns >= 0 ORDER BY 1",
				&taken.value, &taken.n) ||
		     pauses_of_workers(f, &workers, &taken, &pause);
	if (!rc && pause.n) {
		f->w->preprocess.on = fit_work(f, pause.value, pause.n);
		rc = quantiles_of(&f->w->preprocess.sample_ns, pause.value,
				  pause.n, FIT_QUANTILES, f->err);
	}
	free(workers.value);
	free(taken.value);
	free(pause.value);
	if (rc)
		return -1;
	return pause.n ? fit_reason(f, "preprocess.sample_ns", 0.5,
				    "%u pauses of workers between two files, "
				    "in which no step took a batch",
				    pause.n)
		       : fit_reason(f, "preprocess.sample_ns", 0,
				    "no worker marks its batches");
}

/* --- threads -------------------------------------------------------------- */

/* The work between reads, in the pauses in which no step begins: when a step takes a
 * batch, readers that waited for room go on. */
struct pauses {
	int64_t *value; /* work of a sample, of each step */
	uint32_t n, room;
	int64_t sample_bytes;
	/* since the last step */
	int64_t work_ns, bytes;
	/* of the last read */
	int64_t end_ns, last_bytes; /* 0: a step began since */
};

static int end_step(struct fit *f, struct pauses *p)
{
	int64_t readers = f->w->pipeline.readers, work_ns = p->work_ns;
	int64_t bytes = p->bytes;

	p->work_ns = p->bytes = p->last_bytes = 0;
	if (bytes < p->sample_bytes)
		return 0;
	if (reel_array_reach(&p->value, &p->room, p->n, sizeof(*p->value),
			     f->err))
		return -1;
	p->value[p->n++] = (int64_t)((double)work_ns * (double)readers *
				     (double)p->sample_bytes / (double)bytes);
	return 0;
}

static void add_read(struct pauses *p, int64_t start_ns, int64_t end_ns,
		     int64_t bytes)
{
	if (p->last_bytes) {
		p->bytes += p->last_bytes;
		if (start_ns > p->end_ns)
			p->work_ns += start_ns - p->end_ns;
	}
	p->last_bytes = bytes;
	if (end_ns > p->end_ns)
		p->end_ns = end_ns;
}

static int read_pauses(struct fit *f, struct pauses *p)
{
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT start_ns AS ns, dur_ns, bytes, path FROM v_event "
		    "WHERE "
		    "class = 'data' AND call_group = 'read' AND bytes > 0 AND "
		    "process_id = " FIT_STEPPER
		    " UNION ALL SELECT start_ns, 0, -1, NULL FROM " FIT_STEPS
		    " WHERE rank = ?1 ORDER BY 1",
		    f->err)) {
		reel_view_bind(&v, 1, f->first_rank);
		while (!rc && reel_view_next(&v)) {
			int64_t ns = reel_view_exact(&v, "ns");
			int64_t bytes = reel_view_exact(&v, "bytes");

			if (bytes < 0)
				rc = end_step(f, p);
			else if (fit_find(f, reel_view_text(&v, "path")) &&
				 (f->inference || !fit_evaluates(f, ns)))
				add_read(p, ns,
					 ns + reel_view_int(&v, "dur_ns"),
					 bytes);
		}
	}
	return reel_view_close(&v) || rc ? -1 : 0;
}

static int of_threads(struct fit *f)
{
	struct pauses p = {.sample_bytes =
				   fit_bytes_of_step(f) / f->w->pipeline.batch};
	int rc = 0;

	if (p.sample_bytes > 0)
		rc = read_pauses(f, &p);
	if (!rc && p.n) {
		f->w->preprocess.on = fit_work(f, p.value, p.n);
		rc = quantiles_of(&f->w->preprocess.sample_ns, p.value, p.n,
				  FIT_QUANTILES, f->err);
	}
	free(p.value);
	if (rc)
		return -1;
	return fit_reason(f, "preprocess.sample_ns", p.n ? 0.5 : 0,
			  "%u steps: the time between the reads of threads, "
			  "where no step begins in it",
			  p.n);
}

static int of_own_loop(struct fit *f)
{
	struct fit_own_loop *o = &f->own_loop;

	if (f->mapped)
		return fit_reason(f, "preprocess.sample_ns", 0.1,
				  "taken as none: the time of the steps up to "
				  "their last read has the waits for pages in "
				  "it");
	return put_batches(f, o->work_ns, o->steps, 1) ||
	       fit_reason(f, "preprocess.sample_ns", 0.4,
			  "time of %u steps up to their last read before the "
			  "backward pass, without their calls%s",
			  o->steps, fit_busy_words(f));
}

int fit_preprocess(struct fit *f)
{
	const struct workload_pipeline *p = &f->w->pipeline;

	if (f->own_loop.steps && !p->readers)
		return of_own_loop(f);

	if (p->readers && p->unit == WORKLOAD_THREAD)
		return of_threads(f);
	if (!p->readers && p->in_memory == WORKLOAD_PRELOADED)
		return of_memory(f);
	if (!p->readers && !f->marks_batches)
		return of_fetches(f);
	return p->readers && !f->marks_batches ? of_unmarked_workers(f)
					       : of_workers(f);
}

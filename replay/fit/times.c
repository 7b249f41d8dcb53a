/* SPDX-License-Identifier: MIT */
/* Times of the framework: until its readers begin, and to take a batch. */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define START_LEAST_NS 1000000 /* less is no start of processes */
#define TAKES_LEAST 10

/* The median of @sql over the epochs, of two the lower one: the first epoch also
 * builds the model. @what: from where to where. */
static int set_start(struct fit *f, const char *sql, double confidence,
		     const char *what)
{
	int64_t *value, median = 0;
	uint32_t n;
	int rc = fit_column(f, sql, &value, &n);

	if (!rc)
		median = fit_median(value, n);
	free(value);
	f->w->pipeline.start_ns = median >= START_LEAST_NS ? median : 0;
	f->w->pipeline.start_once = f->repeats && n == 1;
	return rc ? -1
		  : fit_reason(f, "pipeline.start_ns", n ? confidence : 0,
			       "median of %u epochs, %s", n, what);
}

/* Threads mark no batches: what the first step of an epoch waits until its first
 * read. Data that was read before it needs no reader to begin. */
static int start_of_threads(struct fit *f)
{
	return set_start(
		f,
		"WITH first AS (SELECT s.process_id, min(s.start_ns) AS "
		"start_ns, s.start_ns + s.dur_ns AS end_ns FROM v_step t "
		"JOIN v_span s USING (span_id) WHERE t.rank = ?1 "
		"GROUP BY t.epoch), begun AS (SELECT process_id, start_ns, "
		"(SELECT min(e.start_ns) FROM v_event e WHERE "
		"e.class = 'data' AND e.call_group = 'read' AND "
		"e.bytes > 0 AND e.process_id = b.process_id AND "
		"e.start_ns >= b.start_ns AND e.start_ns < b.end_ns) AS "
		"read_ns FROM first b) "
		"SELECT (SELECT coalesce(sum(min(s.start_ns + s.dur_ns, "
		"b.read_ns) - s.start_ns), 0) FROM v_span s WHERE "
		"s.name = 'fetch' AND s.process_id = b.process_id AND "
		"s.start_ns >= b.start_ns AND s.start_ns < b.read_ns) AS "
		"ns FROM begun b WHERE read_ns IS NOT NULL",
		0.5, "waits of the first step before its first read");
}

/* Workers that go on from one epoch to the next: none is forked after the first, and
 * at the start of each other one they have begun more batches than were fetched. */
static int find_ahead(struct fit *f)
{
	int64_t *value, ahead;
	uint32_t n;
	int rc = fit_column(
		f,
		"WITH worker AS MATERIALIZED (SELECT o.worker, p.fork_ns "
		"FROM v_worker_ancestor o JOIN process p ON p.process_id = "
		"o.worker WHERE o.process_id IN (SELECT process_id FROM "
		"rank_time WHERE rank = ?1) AND o.worker NOT IN (SELECT "
		"worker FROM evaluation_worker)), "
		"batch AS MATERIALIZED (SELECT start_ns FROM v_span WHERE "
		"name = 'preprocess' AND process_id IN (SELECT worker FROM "
		"worker)), "
		"pass AS (SELECT min(start_ns) AS at_ns, sum(steps) AS "
		"steps FROM v_step WHERE rank = ?1 GROUP BY epoch), "
		"later AS (SELECT at_ns FROM pass WHERE at_ns > "
		"(SELECT min(at_ns) FROM pass)) "
		"SELECT coalesce(min((SELECT count(*) FROM batch WHERE "
		"start_ns < at_ns) - (SELECT sum(steps) FROM pass p WHERE "
		"p.at_ns < later.at_ns)), 0) AS ns FROM later WHERE NOT "
		"EXISTS (SELECT 1 FROM worker WHERE fork_ns >= (SELECT "
		"min(at_ns) FROM later))",
		&value, &n);

	ahead = !rc && n ? value[0] : 0;
	free(value);
	if (rc || ahead <= 0)
		return rc;
	f->w->pipeline.start_once = true;
	return fit_reason(f, "pipeline.start_once", 0.9,
			  "the workers of the first epoch had begun %lld "
			  "batches or more of each other one before its start",
			  (long long)ahead);
}

static int start_of_workers(struct fit *f)
{
	if (!f->marks_batches)
		return fit_reason(f, "pipeline.start_ns", 0,
				  "no worker marks its batches");
	if (set_start(f,
		      "SELECT (SELECT min(s.start_ns) FROM v_span s WHERE "
		      "s.name = 'preprocess' AND s.start_ns >= e.start_ns) - "
		      "e.start_ns AS ns FROM (SELECT min(start_ns) AS start_ns "
		      "FROM v_step WHERE rank = ?1 GROUP BY epoch) e",
		      0.8,
		      "from the first step to the first batch of a worker"))
		return -1;
	return find_ahead(f);
}

/* Durations of the fetches that found a batch of a worker ready. */
static int takes_of_workers(struct fit *f, int64_t **value, uint32_t *n)
{
	struct reel_view v;
	uint32_t room = 0;
	int64_t ready = 0;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "WITH p AS (SELECT process_id FROM v_span WHERE name = "
		    "'step' ORDER BY process_id LIMIT 1) "
		    "SELECT start_ns + dur_ns AS ns, -1 AS take_ns FROM v_span "
		    "WHERE name = 'preprocess' AND closed AND process_id IN "
		    "(SELECT process_id FROM process WHERE parent_id = "
		    "(SELECT process_id FROM p)) AND process_id NOT IN (SELECT "
		    "worker FROM evaluation_worker) UNION ALL SELECT "
		    "start_ns, "
		    "fetch_ns FROM v_step WHERE rank = ?1 AND fetch_ns >= 0 "
		    "ORDER BY 1",
		    f->err)) {
		reel_view_bind(&v, 1, f->first_rank);
		while (!rc && reel_view_next(&v)) {
			int64_t ns = reel_view_int(&v, "take_ns");

			if (ns < 0) {
				ready += !fit_evaluates(
					f, reel_view_exact(&v, "ns"));
				continue;
			}
			if (ready-- <= 0)
				continue;
			rc = reel_array_reach(value, &room, *n, sizeof(**value),
					      f->err);
			if (!rc)
				(*value)[(*n)++] = ns;
		}
	}
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* The same of threads, which do not say when a batch is ready: the reads were a batch
 * further than it, or the epoch finds all in memory. */
static int takes_of_threads(struct fit *f, int64_t **value, uint32_t *n)
{
	int64_t of_step = fit_bytes_of_step(f);
	struct fit_lead *lead = NULL;
	uint32_t leads = 0;
	int rc;

	if (f->w->pipeline.in_memory == WORKLOAD_CACHED)
		return fit_column(f,
				  "SELECT fetch_ns AS ns FROM v_step WHERE "
				  "rank = ?1 AND fetch_ns >= 0 AND start_ns >= "
				  "?2",
				  value, n);
	rc = of_step ? fit_leads(f, &lead, &leads) : 0;

	if (!rc && leads) {
		*value = reel_alloc(leads, sizeof(**value), f->err);
		rc = *value ? 0 : -1;
	}
	for (uint32_t i = 0; !rc && i < leads; i++)
		if (lead[i].fetch_ns >= 0 && lead[i].bytes >= 2 * of_step)
			(*value)[(*n)++] = lead[i].fetch_ns;
	free(lead);
	return rc;
}

static int fit_take(struct fit *f)
{
	int64_t *value = NULL;
	uint32_t n = 0;
	bool threads = f->w->pipeline.unit == WORKLOAD_THREAD;
	int rc = (threads ? takes_of_threads : takes_of_workers)(f, &value, &n);

	if (!rc && n >= TAKES_LEAST) {
		fit_work(f, value, n);
		rc = quantiles_of(&f->w->pipeline.take_ns, value, n,
				  FIT_QUANTILES, f->err);
	}
	free(value);
	return rc ? -1
		  : fit_reason(f, "pipeline.take_ns",
			       n < TAKES_LEAST	    ? 0
			       : f->busy || threads ? 0.4
						    : 0.7,
			       "%u fetches that found a batch ready%s", n,
			       fit_busy_words(f));
}

int fit_times(struct fit *f)
{
	const struct workload_pipeline *p = &f->w->pipeline;

	if (!p->readers)
		return 0;
	if (p->unit == WORKLOAD_THREAD ? start_of_threads(f)
				       : start_of_workers(f))
		return -1;
	return fit_take(f);
}

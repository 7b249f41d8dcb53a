/* SPDX-License-Identifier: MIT */
/* The work of readers on a sample besides reading it. */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* Time of a batch in a worker that is no I/O, by its samples. */
static int of_workers(struct fit *f)
{
	int64_t *value, batch = f->w->pipeline.batch;
	uint32_t n;
	int rc = fit_column(
		f,
		"SELECT s.dur_ns - coalesce((SELECT sum(e.dur_ns) FROM "
		"v_event e WHERE e.process_id = s.process_id AND "
		"e.thread_id = s.thread_id AND e.start_ns >= s.start_ns AND "
		"e.start_ns < s.start_ns + s.dur_ns), 0) AS ns FROM v_span s "
		"WHERE s.name = 'preprocess' AND s.closed LIMIT 500",
		&value, &n);

	for (uint32_t i = 0; i < n; i++)
		value[i] = value[i] > 0 ? value[i] / batch : 0;
	if (!rc && n) {
		f->w->preprocess.on = fit_work(f, value, n);
		rc = quantiles_of(&f->w->preprocess.sample_ns, value, n,
				  FIT_QUANTILES, f->err);
	}
	free(value);
	if (rc)
		return -1;
	return n ? fit_reason(f, "preprocess.sample_ns", f->busy ? 0.4 : 0.7,
			      "time of %u batches in their workers without "
			      "their calls%s",
			      n, fit_busy_words(f))
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
		    "SELECT start_ns AS ns, dur_ns, bytes FROM v_event WHERE "
		    "class = 'data' AND call_group = 'read' AND bytes > 0 AND "
		    "process_id = (SELECT process_id FROM v_span WHERE name = "
		    "'step' LIMIT 1) UNION ALL SELECT start_ns, 0, -1 FROM "
		    "v_step WHERE rank = ?1 ORDER BY 1",
		    f->err)) {
		reel_view_bind(&v, f->first_rank);
		while (!rc && reel_view_next(&v)) {
			int64_t ns = reel_view_exact(&v, "ns");
			int64_t bytes = reel_view_exact(&v, "bytes");

			if (bytes < 0)
				rc = end_step(f, p);
			else if (!fit_evaluates(f, ns))
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

int fit_preprocess(struct fit *f)
{
	const struct workload_pipeline *p = &f->w->pipeline;

	return p->readers && p->unit == WORKLOAD_THREAD ? of_threads(f)
							: of_workers(f);
}

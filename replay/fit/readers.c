/* SPDX-License-Identifier: MIT */
/* Readers of a rank: processes or threads, and how far they are ahead. */
#include <math.h>
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

/* --- threads -------------------------------------------------------------- */

/* Files that a rank reads at the same time, on average: a thread pool gives one
 * reader's calls to any of its threads, so threads are not counted. */
static double files_at_once(const struct fit *f)
{
	double sum_ns = 0;
	int64_t union_ns = 0, end_ns = INT64_MIN;

	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];
		int64_t from = v->start_ns > end_ns ? v->start_ns : end_ns;

		sum_ns += (double)(v->end_ns - v->start_ns);
		if (v->end_ns <= from)
			continue;
		union_ns += v->end_ns - from;
		end_ns = v->end_ns;
	}
	return union_ns ? sum_ns / (double)union_ns /
				  (double)(f->ranks ? f->ranks : 1)
			: 1;
}

/* Do the threads that step read the data set themselves? */
static int steppers_read(struct fit *f, bool *out)
{
	struct reel_view v;
	uint32_t inside = 0;

	if (!reel_view_open(&v, f->st,
			    "SELECT DISTINCT process_id, thread_id FROM v_span "
			    "WHERE name = 'step'",
			    f->err))
		while (reel_view_next(&v)) {
			int64_t thread = reel_view_exact(&v, "thread_id");

			for (uint32_t i = 0; i < f->visits; i++)
				inside += f->visit[i].thread_id == thread;
		}
	*out = inside > f->visits / 2;
	return reel_view_close(&v);
}

/* Do all visits come from one thread? */
static bool one_thread_reads(const struct fit *f)
{
	for (uint32_t i = 1; i < f->visits; i++)
		if (f->visit[i].thread_id != f->visit[0].thread_id)
			return false;
	return f->visits > 0;
}

/* A process that reads the data set, from its first to its last read. */
struct reading {
	int64_t start_ns, end_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The processes that read: *@n of them, in the order of their first reads; NULL with
 * f->err. free(). */
static struct reading *reading_processes(const struct fit *f, uint32_t *n)
{
	struct reading *r =
		reel_alloc((size_t)f->visits + 1, sizeof(*r), f->err);
	struct reel_intmap index = {0};
	bool failed = !r;

	*n = 0;
	for (uint32_t i = 0; !failed && i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];
		uint32_t at = reel_intmap_get(&index, (uint64_t)v->process_id,
					      f->err);

		failed = at == REEL_NO_INDEX;
		if (!failed && at == *n)
			r[(*n)++] = (struct reading){v->start_ns, v->end_ns};
		else if (!failed && r[at].end_ns < v->end_ns)
			r[at].end_ns = v->end_ns;
	}
	reel_intmap_fini(&index);
	if (failed) {
		free(r);
		return NULL;
	}
	qsort(r, *n, sizeof(*r), by_start);
	return r;
}

/* Without steps the process that computes is not known: where several read, they are
 * readers. *@most: of them at a time. 0 or -1. */
static int processes_at_once(const struct fit *f, uint32_t *n, uint32_t *most)
{
	struct reading *r = reading_processes(f, n);

	*most = 0;
	for (uint32_t i = 0; r && i < *n; i++) {
		uint32_t at_once = 1;

		for (uint32_t k = 0; k < i; k++)
			at_once += r[k].end_ns > r[i].start_ns;
		if (at_once > *most)
			*most = at_once;
	}
	free(r);
	return r ? 0 : -1;
}

static int fit_threads(struct fit *f)
{
	struct workload_pipeline *p = &f->w->pipeline;
	uint32_t processes, most;
	double at_once;
	bool inside;

	if (!f->steps && f->ranks < 2) {
		if (processes_at_once(f, &processes, &most))
			return -1;
		if (processes > 1) {
			p->unit = WORKLOAD_PROCESS;
			p->readers = most;
			return fit_reason(f, "pipeline.readers", 0.5,
					  "%u processes read, %u at a time at "
					  "most",
					  processes, most);
		}
	}
	p->unit = WORKLOAD_THREAD;
	if (steppers_read(f, &inside))
		return -1;
	if (inside) {
		p->readers = 0;
		return fit_reason(f, "pipeline.readers", 0.9,
				  "the thread that steps reads by itself");
	}
	if (!f->steps && one_thread_reads(f)) {
		p->readers = 0;
		return fit_reason(f, "pipeline.readers", 0.5,
				  "one thread reads; that it computes, too, is "
				  "not seen without marked steps");
	}
	at_once = files_at_once(f);
	p->readers = llround(at_once);
	if (p->readers < 1)
		p->readers = 1;
	return fit_reason(f, "pipeline.readers", 0.7,
			  "other threads of a rank read %.2f data files at a "
			  "time",
			  at_once);
}

/* --- readers -------------------------------------------------------------- */

int fit_readers(struct fit *f)
{
	struct workload_pipeline *p = &f->w->pipeline;
	int64_t workers, marks;
	bool has;

	if (reel_store_int(f->st,
			   "SELECT max(max_workers) FROM "
			   "v_loader_workers",
			   &workers, &has, f->err))
		return -1;
	if ((!has || !workers) &&
	    f->w->pipeline.in_memory == WORKLOAD_PRELOADED)
		return fit_reason(f, "pipeline.readers", 0.6,
				  "no worker process was seen: the thread that "
				  "steps takes the samples from memory");
	if (!has || !workers)
		return fit_threads(f);
	p->unit = WORKLOAD_PROCESS;
	p->readers = workers;
	if (fit_ask(f,
		    "SELECT EXISTS (SELECT 1 FROM v_span WHERE name = "
		    "'preprocess' AND closed)",
		    0, &marks))
		return -1;
	f->marks_batches = marks;
	return fit_reason(f, "pipeline.readers", 0.95,
			  "worker processes of a rank at the same time");
}

/* --- prefetch ------------------------------------------------------------- */

/* Set the batches ahead of each reader. */
static void set_prefetch(struct fit *f, int64_t ahead)
{
	struct workload_pipeline *p = &f->w->pipeline;

	p->prefetch = (ahead + f->batches_of_step - 1) / f->batches_of_step;
	if (p->prefetch < 1)
		p->prefetch = 1;
	if (p->prefetch > 1024)
		p->prefetch = 1024;
}

/* Workers mark their batches: how many were begun for which no fetch had begun, at
 * most. A fetch asks for the next batch when it has its own, so they are never more
 * than the loader allows; they may be fewer, as workers are slow: so rounded up. Below
 * 0 are fetches that wait, one of each rank. */
static int prefetch_of_workers(struct fit *f)
{
	int64_t readers = f->w->pipeline.readers, ranks = f->ranks;
	int64_t ahead = 0, begun = 0, evaluating;
	struct reel_view v;

	if (!f->marks_batches)
		return fit_reason(f, "pipeline.prefetch", 0,
				  "no worker marks its batches");
	if (fit_ask(f, "SELECT count(*) FROM evaluation_worker", 0,
		    &evaluating))
		return -1;
	if (!reel_view_open(&v, f->st,
			    "SELECT start_ns AS ns, 1 AS change FROM v_span "
			    "WHERE name = 'preprocess' AND process_id NOT IN "
			    "(SELECT worker FROM evaluation_worker) "
			    "UNION ALL SELECT "
			    "start_ns, -1 FROM v_fetch UNION ALL "
			    "SELECT start_ns, 0 FROM v_span WHERE name = "
			    "'epoch' AND process_id = (SELECT process_id FROM "
			    "rank_time ORDER BY rank LIMIT 1) ORDER BY 1",
			    f->err))
		while (reel_view_next(&v)) {
			int64_t change = reel_view_exact(&v, "change");

			if (evaluating && change < 0 &&
			    fit_evaluates(f, reel_view_exact(&v, "ns")))
				continue;
			/* Batches of a pass that was left are not taken. */
			begun = change ? begun + change : 0;
			if (begun < -ranks) /* a fetch found the end */
				begun = -ranks;
			if (begun > ahead)
				ahead = begun;
		}
	if (reel_view_close(&v))
		return -1;
	set_prefetch(f, (ahead / (ranks ? ranks : 1) + readers - 1) / readers);
	return fit_reason(f, "pipeline.prefetch", 0.7,
			  "at most %lld batches were begun and not taken",
			  (long long)ahead);
}

/* Steps of a rank in the epochs that read the files. */
static int64_t steps_that_read(const struct fit *f)
{
	return f->passes < f->epochs ? f->steps / f->epochs * f->passes
				     : f->steps;
}

int64_t fit_bytes_of_step(const struct fit *f)
{
	int64_t bytes = 0, steps = steps_that_read(f);

	for (uint32_t i = 0; i < f->visits; i++)
		bytes += f->visit[i].bytes;
	return steps ? bytes / steps / (f->ranks ? f->ranks : 1) : 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct fit_lead *x = a, *y = b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

int fit_leads(struct fit *f, struct fit_lead **lead, uint32_t *n)
{
	int64_t read = 0, of_step = fit_bytes_of_step(f);
	struct reel_view v;
	uint32_t room = 0;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT start_ns AS ns, bytes, -1 AS fetch_ns, path FROM "
		    "v_event WHERE class = 'data' AND call_group = 'read' AND "
		    "bytes > "
		    "0 AND process_id = " FIT_STEPPER
		    " UNION ALL SELECT start_ns, -1, coalesce(fetch_ns, -1), "
		    "NULL "
		    "FROM " FIT_STEPS " WHERE rank = ?1 ORDER "
		    "BY 1",
		    f->err)) {
		reel_view_bind(&v, 1, f->first_rank);
		while (!rc && *n < steps_that_read(f) && reel_view_next(&v)) {
			int64_t bytes = reel_view_exact(&v, "bytes");

			if (bytes >= 0) {
				if (fit_find(f, reel_view_text(&v, "path")) &&
				    !fit_evaluates(f,
						   reel_view_exact(&v, "ns")))
					read += bytes;
				continue;
			}
			rc = reel_array_reach(lead, &room, *n, sizeof(**lead),
					      f->err);
			if (rc)
				break;
			(*lead)[*n].bytes = read - *n * of_step;
			(*lead)[(*n)++].fetch_ns =
				reel_view_exact(&v, "fetch_ns");
		}
	}
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* Threads mark nothing: the bytes that they are ahead of the steps. The step that
 * has begun holds a batch, and one more is read. */
static int prefetch_of_threads(struct fit *f)
{
	int64_t of_step = fit_bytes_of_step(f), ahead = 0;
	struct fit_lead *lead = NULL;
	uint32_t n = 0;
	int rc;

	if (!of_step)
		return fit_reason(f, "pipeline.prefetch", 0,
				  "no steps were marked");
	rc = fit_leads(f, &lead, &n);
	if (!rc && n) {
		qsort(lead, n, sizeof(*lead), by_bytes);
		ahead = lead[n / 2].bytes / of_step - 1;
		if (ahead < 0)
			ahead = 0;
	}
	free(lead);
	if (rc)
		return -1;
	set_prefetch(f, ahead / f->w->pipeline.readers);
	return fit_reason(f, "pipeline.prefetch", 0.5,
			  "at half of the steps the reads were %lld batches "
			  "ahead",
			  (long long)ahead);
}

int fit_prefetch(struct fit *f)
{
	if (!f->w->pipeline.readers)
		return fit_reason(f, "pipeline.prefetch", 0.9,
				  "nothing reads ahead of the steps");
	return f->w->pipeline.unit == WORKLOAD_PROCESS ? prefetch_of_workers(f)
						       : prefetch_of_threads(f);
}

/* --- open files ----------------------------------------------------------- */

/* A file is open from the first to the last read of a visit. */
struct change {
	int64_t process_id, ns;
	int by; /* 1 or -1 */
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->by - y->by;
}

/* The most files that a process read by turns. */
static int64_t most_open(const struct change *c, size_t n)
{
	int64_t most = 0, now = 0;

	for (size_t i = 0; i < n; i++) {
		now = i && c[i].process_id != c[i - 1].process_id
			      ? c[i].by
			      : now + c[i].by;
		if (now > most)
			most = now;
	}
	return most;
}

int fit_open_files(struct fit *f)
{
	const struct format *format = format_of(f->w->dataset.format);
	struct change *c;
	int64_t most;

	if (f->mapped) { /* a mapping that goes would be made again for each sample */
		f->w->access.open_files = f->files < 1024 ? f->files : 1024;
		return fit_reason(f, "access.open_files", 0.3,
				  "all files stay mapped");
	}
	if (f->w->access.reopen || !format || !format->any_order ||
	    f->w->access.chain_n || f->w->pipeline.unit != WORKLOAD_PROCESS)
		return 0;
	c = reel_alloc(2 * (size_t)f->visits + 1, sizeof(*c), f->err);
	if (!c)
		return -1;
	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		c[2 * i] = (struct change){v->process_id, v->start_ns, 1};
		c[2 * i + 1] = (struct change){v->process_id, v->end_ns, -1};
	}
	qsort(c, 2 * (size_t)f->visits, sizeof(*c), by_time);
	most = most_open(c, 2 * (size_t)f->visits);
	free(c);
	f->w->access.open_files = most < 1 ? 1 : most > 1024 ? 1024 : most;
	return fit_reason(f, "access.open_files", 0.8,
			  "a process read at most %lld files by turns",
			  (long long)most);
}

/* Do several readers read each file, from its begin to its end, once an epoch? Each by
 * one of them then: a reader has files of its own, as an IterableDataset deals them. */
int fit_sharded(struct fit *f)
{
	const struct format *format = format_of(f->w->dataset.format);
	struct fit_places places;
	bool several = false;
	double share = fit_read_share(f);

	for (uint32_t i = 1; i < f->visits && !several; i++)
		several = f->visit[i].process_id != f->visit->process_id ||
			  f->visit[i].thread_id != f->visit->thread_id;
	if (!several || !format || !format->any_order || f->mapped ||
	    f->w->access.reopen || f->w->dataset.samples_per_file < 2 ||
	    f->visits > f->files * f->passes || share < 0.9 || share > 1.1)
		return 0;
	if (!f->w->access.chain_n) {
		if (fit_order_of_records(f, &places))
			return -1;
		if (places.tau < 0.8)
			return 0;
	}
	f->w->pipeline.sharded = true;
	return fit_reason(f, "pipeline.sharded", 0.8,
			  "each file was read by one reader, from its begin "
			  "to its end");
}

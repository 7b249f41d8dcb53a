/* SPDX-License-Identifier: MIT */
/* Data sets whose files are mapped: their pages, and where faults were recorded. */
#include <math.h>
#include <stdlib.h>

#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define PAGE 4096
#define FAULTS_LEAST 32	   /* that show where samples are */
#define AROUND_MOST 262144 /* bytes around a page that a fault maps */
#define PART_MOST 0.25	   /* of a file, that a visit touches */

/* Does a job map whole files of @format, as numpy.memmap() does? */
static bool is_array(int format)
{
	return format == WORKLOAD_RAW || format == WORKLOAD_NPY;
}

/* The benchmark of safetensors maps its files in any case. */
int fit_mapped(struct fit *f)
{
	int64_t mapped = 0, all = 0;
	struct reel_view v;

	if (f->w->dataset.format == WORKLOAD_SAFETENSORS)
		return 0;
	if (!reel_view_open(&v, f->st,
			    "SELECT path, sum(bytes) AS bytes, "
			    "sum(iif(call = 'map_read', bytes, 0)) AS mapped "
			    "FROM v_event WHERE class = 'data' AND "
			    "call_group = 'read' GROUP BY path",
			    f->err))
		while (reel_view_next(&v)) {
			if (!fit_find(f, reel_view_text(&v, "path")))
				continue;
			all += reel_view_int(&v, "bytes");
			mapped += reel_view_int(&v, "mapped");
		}
	if (reel_view_close(&v))
		return -1;
	if (mapped * 10 <= all)
		return 0;
	f->mapped =
		is_array(f->w->dataset.format) && f->steps && mapped > all / 2;
	if (!f->mapped)
		return fit_reason(f, "access.api", 0.1,
				  "%.0f %% of the bytes were pages of mapped "
				  "files, in places that are not seen; the "
				  "benchmark reads whole samples by calls",
				  100.0 * (double)mapped / (double)all);
	f->w->access.api = WORKLOAD_MMAP;
	return fit_reason(f, "access.api", 0.9,
			  "%.0f %% of the bytes were pages of mapped files",
			  100.0 * (double)mapped / (double)all);
}

bool fit_maps_in_steps(const struct fit *f)
{
	return f->visits >= f->steps / 2;
}

static double bytes_of_files(const struct fit *f)
{
	double bytes = 0;

	for (uint32_t i = 0; i < f->files; i++)
		bytes += (double)f->file[i].size;
	return bytes;
}

static void put_samples(struct fit *f, double bytes)
{
	int64_t each = llround(bytes_of_files(f) / bytes / f->files);

	f->w->dataset.samples_per_file = each > 1 ? each : 1;
}

/* Count the times @ns, which are sorted, in each step of the first rank. *@out is the
 * median: few steps have the times of an evaluation, too. 0 or -1. */
static int count_in_steps(struct fit *f, const int64_t *ns, uint32_t n,
			  int64_t *out)
{
	uint32_t steps, at = 0;
	int64_t *step;

	if (fit_column(f,
		       "SELECT start_ns AS ns FROM v_step WHERE rank = ?1 "
		       "ORDER BY 1",
		       &step, &steps)) {
		free(step);
		return -1;
	}
	while (at < n && steps && ns[at] < step[0])
		at++;
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t first = at;

		while (at < n && (i + 1 == steps || ns[at] < step[i + 1]))
			at++;
		step[i] = at - first;
	}
	*out = fit_median(step, steps);
	free(step);
	return 0;
}

static int faults_of_step(struct fit *f)
{
	int64_t *ns;
	uint32_t n;
	int rc = fit_column(
		f,
		"SELECT start_ns AS ns FROM v_event WHERE call = 'map_read' "
		"AND class = 'data' AND dur_ns > 0 AND process_id "
		"= " FIT_STEPPER " ORDER BY 1",
		&ns, &n);

	if (!rc)
		rc = count_in_steps(f, ns, n, &f->records_of_step);
	free(ns);
	return rc;
}

static int visits_of_step(struct fit *f)
{
	int64_t *ns = reel_alloc((size_t)f->visits + 1, sizeof(*ns), f->err);
	int rc;

	if (!ns)
		return -1;
	for (uint32_t i = 0; i < f->visits; i++)
		ns[i] = f->visit[i].start_ns;
	rc = count_in_steps(f, ns, f->visits, &f->records_of_step);
	free(ns);
	return rc;
}

/* The bytes that were mapped by each of the @faults. */
static int64_t bytes_of_fault(const struct fit *f, uint32_t faults)
{
	int64_t bytes = 0;

	for (uint32_t i = 0; i < f->files; i++)
		bytes += f->file[i].read_bytes;
	return bytes / faults;
}

/* Each fault in a place of its own is a sample: the kernel reads and maps what is around
 * it. Pages of a large folio, which are mapped at once, hide the samples in them. */
static int a_sample_a_fault(struct fit *f, const struct fit_places *p)
{
	int64_t page = PAGE, mapped = bytes_of_fault(f, p->reads);
	bool hides = mapped > AROUND_MOST;

	put_samples(f, PAGE);
	f->records = p->reads;
	return fit_sizes(f, &page, 1, false) ||
	       fit_reason(f, "dataset.samples_per_file", hides ? 0.2 : 0.6,
			  hides ? "%u page faults, of which each is a sample; "
				  "the kernel mapped %lld KiB by each, and "
				  "samples of the job in these had no fault of "
				  "their own"
				: "%u page faults, of which each is a sample",
			  p->reads, (long long)mapped / 1024) ||
	       fit_reason(f, "dataset.sample_bytes", 0.5,
			  "a page: how much of its neighbours the job needs is "
			  "not seen");
}

/* Files that are mapped again and again, for a part of each. */
static int a_sample_a_visit(struct fit *f)
{
	double bytes = 0;

	for (uint32_t i = 0; i < f->visits; i++)
		bytes += (double)f->visit[i].bytes;
	put_samples(f, bytes / f->visits);
	f->records = f->visits;
	f->w->pipeline.order = WORKLOAD_SHUFFLE;
	return visits_of_step(f) || fit_sizes_of_visits(f) ||
	       fit_reason(f, "dataset.samples_per_file", 0.3,
			  "the files were mapped %u times, each time for a "
			  "part of them; ioreel record --mmap faults shows "
			  "which",
			  f->visits) ||
	       fit_reason(f, "dataset.sample_bytes", 0.3,
			  "pages that were touched in a mapping, with their "
			  "neighbours");
}

/* Several processes touch the same pages, the kernel maps their neighbours too, and a
 * mapping that stays shows them in its first epoch alone: an epoch reads what was
 * touched, each file once at most. */
static int a_sample_a_step(struct fit *f, bool faults)
{
	f->records_of_step = 0;
	for (uint32_t i = 0; i < f->files; i++)
		if (f->file[i].read_bytes < f->file[i].size)
			f->file[i].size = f->file[i].read_bytes;
	fit_sample_a_step(f);
	return fit_sizes_of_files(f, NULL, f->w->dataset.samples_per_file) ||
	       fit_reason(
		       f, "dataset.samples_per_file", 0.1,
		       "the files are mapped, and their pages do not show the "
		       "samples; a step counts as one%s",
		       faults ? ""
			      : "; ioreel record --mmap faults may show "
				"them") ||
	       fit_reason(f, "dataset.sample_bytes", 0.3,
			  "pages that were touched, each file once at most, "
			  "by samples_per_file");
}

int fit_pages(struct fit *f)
{
	struct fit_places places;

	if (fit_order_of_records(f, &places))
		return -1;
	if (places.reads >= FAULTS_LEAST && fabs(places.tau) < 0.4) {
		if (faults_of_step(f))
			return -1;
		if (f->records_of_step)
			return a_sample_a_fault(f, &places);
	}
	if (fit_maps_in_steps(f) && (fit_read_share(f) < PART_MOST ||
				     (f->ranks <= 1 && fit_reopens(f))))
		return a_sample_a_visit(f);
	return a_sample_a_step(f, places.reads > 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Records: samples within a file, each read by one call at a place of its own. Files
 * of no format are seen to hold them by their reads alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define READS_MOST 1000000
#define RECORDS_LEAST 32    /* reads that show it */
#define APART_LEAST 0.8	    /* of the reads, not behind the last one */
#define EQUAL_LEAST 0.9	    /* of the reads, of one size */
#define TAU_READS_MOST 2000 /* of a process: their pairs are looked at */

/* A read of a file of the training that gave bytes. */
struct read {
	int64_t process_id, offset, bytes;
	uint32_t file;
	bool apart; /* neither the first of a visit nor behind the last one */
};

struct reads {
	struct read *read; /* by process, in the order of their starts */
	uint32_t n, room, apart;
	int64_t bytes;
};

static int add_read(struct fit *f, struct reads *r, struct reel_view *v,
		    int64_t *open, int64_t *end)
{
	const char *path = reel_view_text(v, "path");
	const struct fit_file *file = fit_find(f, path);
	int64_t process = reel_view_exact(v, "process_id");
	int64_t opened = reel_view_exact(v, "open_id");
	struct read *to;

	if (!file || fit_evaluates(f, reel_view_exact(v, "start_ns")))
		return 0;
	if (reel_array_reach(&r->read, &r->room, r->n, sizeof(*r->read),
			     f->err))
		return -1;
	to = &r->read[r->n];
	to->process_id = process;
	to->offset = reel_view_exact(v, "offset");
	to->bytes = reel_view_exact(v, "bytes");
	to->file = (uint32_t)(file - f->file);
	to->apart = r->n && to[-1].process_id == process && *open == opened &&
		    to->offset != *end;
	*open = opened;
	*end = to->offset + to->bytes;
	r->apart += to->apart;
	r->bytes += to->bytes;
	r->n++;
	return 0;
}

#define READS(calls)                                                           \
	"SELECT path, process_id, open_id, offset, bytes, start_ns FROM "      \
	"v_event WHERE class = 'data' AND call_group = 'read' AND bytes > 0 "  \
	"AND offset IS NOT NULL AND " calls " ORDER BY process_id, start_ns"
static const char by_calls[] = READS("call NOT LIKE 'map%'");
/* A touch without a recorded fault has no time. */
static const char by_faults[] = READS("call = 'map_read' AND dur_ns > 0");

/* The reads of the files of the training whose places are known. 0 or -1. */
static int load_reads(struct fit *f, const char *which, struct reads *r)
{
	int64_t open = -1, end = -1;
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(&v, f->st, which, f->err))
		while (!rc && r->n < READS_MOST && reel_view_next(&v))
			rc = add_read(f, r, &v, &open, &end);
	return reel_view_close(&v) || rc ? -1 : 0;
}

/* --- samples -------------------------------------------------------------- */

/* The size that most of the @n sorted values @size have; *@count of them. */
static int64_t most_frequent(const int64_t *size, uint32_t n, uint32_t *count)
{
	int64_t best = 0;
	uint32_t from = 0;

	*count = 0;
	for (uint32_t i = 0; i <= n; i++) {
		if (i < n && size[i] == size[from])
			continue;
		if (i - from > *count) {
			*count = i - from;
			best = size[from];
		}
		from = i;
	}
	return best;
}

static int put_records(struct fit *f, const struct reads *r)
{
	struct workload_dataset *d = &f->w->dataset;
	int64_t *size = reel_alloc(r->n, sizeof(*size), f->err), most;
	double all = 0, mean = (double)r->bytes / r->n;
	uint32_t equal;
	int rc;

	if (!size)
		return -1;
	for (uint32_t i = 0; i < r->n; i++)
		size[i] = r->read[i].bytes;
	qsort(size, r->n, sizeof(*size), fit_by_value);
	most = most_frequent(size, r->n, &equal);
	if (equal >= EQUAL_LEAST * r->n) {
		mean = (double)most;
		rc = fit_sizes(f, &most, 1, false);
	} else {
		rc = fit_sizes(f, size, r->n, false);
	}
	free(size);
	for (uint32_t i = 0; i < f->files; i++)
		all += (double)f->file[i].size;
	d->samples_per_file = llround(all / mean / f->files);
	if (d->samples_per_file < 1)
		d->samples_per_file = 1;
	f->records = r->n;
	return rc ||
	       fit_reason(
		       f, "dataset.samples_per_file", 0.8,
		       "%u of %u reads were apart from the read before: each "
		       "is a sample, and the files are full of them",
		       r->apart, r->n) ||
	       fit_reason(f, "dataset.sample_bytes", 0.8,
			  equal >= EQUAL_LEAST * r->n
				  ? "%u of %u reads had this size"
				  : "sizes of reads; the largest group of "
				    "equal ones are %u of %u",
			  equal, r->n) ||
	       fit_reason(f, "access.chain", 0.8,
			  "each sample is read at once");
}

int fit_records(struct fit *f)
{
	struct reads r = {.n = 0};
	int64_t size = 0;
	int rc = load_reads(f, by_calls, &r);

	for (uint32_t i = 0; i < f->files; i++)
		size += f->file[i].size;
	if (!rc && r.n >= RECORDS_LEAST && r.apart >= APART_LEAST * r.n &&
	    /* a read is no more than a quarter of a file */
	    (double)r.bytes / r.n * 4 <= (double)size / f->files)
		rc = put_records(f, &r);
	free(r.read);
	return rc;
}

/* --- order ---------------------------------------------------------------- */

/* Pairs of the @n reads within one file: those in the order of their places less the
 * others. The order of the files is another matter. */
static int64_t ordered_pairs(const struct read *r, uint32_t n, int64_t *all)
{
	int64_t up = 0;

	if (n > TAU_READS_MOST)
		n = TAU_READS_MOST;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			if (r[i].file != r[j].file ||
			    r[i].offset == r[j].offset)
				continue;
			up += r[i].offset < r[j].offset ? 1 : -1;
			++*all;
		}
	return up;
}

/* The median of the bytes of reads that follow one another, by their bytes. */
static int run_of(struct fit *f, const struct read *r, uint32_t n, int64_t *out)
{
	int64_t *run = reel_alloc((size_t)n + 1, sizeof(*run), f->err);
	int64_t all = 0, half = 0;
	uint32_t runs = 0, i = 0;

	if (!run)
		return -1;
	for (i = 0; i < n; i++) {
		bool follows = i && r[i].process_id == r[i - 1].process_id &&
			       r[i].file == r[i - 1].file &&
			       r[i].offset == r[i - 1].offset + r[i - 1].bytes;

		if (follows)
			run[runs - 1] += r[i].bytes;
		else
			run[runs++] = r[i].bytes;
		all += r[i].bytes;
	}
	qsort(run, runs, sizeof(*run), fit_by_value);
	for (i = 0; i < runs && 2 * half < all; i++)
		half += run[i];
	*out = i ? run[i - 1] : 0;
	free(run);
	return 0;
}

static bool is_of_rows(const struct fit *f, const struct read *r)
{
	return r->offset >= f->rows_from && r->offset < f->rows_to;
}

static int order_of(struct fit *f, const char *which, struct fit_places *out)
{
	struct reads r = {.n = 0};
	int64_t up = 0, all = 0;
	uint32_t kept = 0;
	int rc = load_reads(f, which, &r);

	/* Smaller reads are of the format's own bytes, or of other arrays. */
	for (uint32_t i = 0; i < r.n; i++)
		if (f->rows_to
			    ? is_of_rows(f, &r.read[i])
			    : (double)r.read[i].bytes * r.n >= (double)r.bytes)
			r.read[kept++] = r.read[i];
	for (uint32_t i = 0, end; i < kept; i = end) {
		for (end = i; end < kept &&
			      r.read[end].process_id == r.read[i].process_id;)
			end++;
		/* A process may read all epochs: the first of them. */
		up += ordered_pairs(r.read + i,
				    (end - i + (uint32_t)f->passes - 1) /
					    (uint32_t)f->passes,
				    &all);
	}
	if (!rc)
		rc = run_of(f, r.read, kept, &out->run_bytes);
	free(r.read);
	out->reads = all ? kept : 0;
	out->tau = all ? (double)up / (double)all : 1;
	return rc;
}

int fit_order_of_records(struct fit *f, struct fit_places *out)
{
	return order_of(f, f->mapped ? by_faults : by_calls, out);
}

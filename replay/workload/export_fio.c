/* SPDX-License-Identifier: MIT */
/*
 * A workload as a job file of fio: as many jobs as readers, each with its share of
 * the files, the sizes of the reads as shares of bytes, and the compute time of a
 * batch as think time; checkpoints by as many jobs as ranks. fio knows no batches,
 * formats and epochs, and no files of given sizes: files of one sample have its mean.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/export.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/transformer.h"
#include "replay/workload/workload.h"

#define SIZES_MOST 60	       /* of bssplit, which takes fewer than 64 */
#define DIRECT_BYTES 4096      /* reads of O_DIRECT, as those of ioreel run */
#define READ_MOST 2147479552.0 /* of one read(2) */

static int64_t read_size(const struct workload *w, double bytes)
{
	int64_t unit = w->access.direct ? DIRECT_BYTES : 1;
	int64_t n = (int64_t)fmin(bytes, READ_MOST);

	n = (n + unit - 1) / unit * unit;
	return n < 1 ? 1 : n;
}

/*
 * Sizes of the reads as "bssplit=SIZE/:SIZE/:...": fio gives entries without a
 * percentage equal parts of the reads.
 */
static int put_sizes(const struct workload *w, const struct quantiles *q,
		     struct reel_buf *out, struct reel_error *err)
{
	int n = q->n > 1 && w->dataset.samples_per_file > 1 ? SIZES_MOST : 1;
	int rc;

	if (w->access.transfer_bytes)
		return reel_buf_printf(
			out, err, "bs=%" PRId64 "\n",
			read_size(w, (double)w->access.transfer_bytes));
	if (n == 1)
		return reel_buf_printf(out, err, "bs=%" PRId64 "\n",
				       read_size(w, quantiles_mean(q)));
	rc = reel_buf_puts(out, "bssplit=", err);
	for (int i = 0; !rc && i < n; i++)
		rc = reel_buf_printf(
			out, err, "%s%" PRId64 "/", i ? ":" : "",
			read_size(w, (double)quantiles_at(q, (i + 0.5) / n)));
	return rc || reel_buf_puts(out, "\nbs_unaligned=1\n", err) ? -1 : 0;
}

/* The files of one job. */
static int put_files(const struct workload *w, int64_t jobs,
		     struct reel_buf *out, struct reel_error *err)
{
	const struct workload_dataset *d = &w->dataset;
	double bytes = quantiles_mean(&d->sample_bytes);
	int64_t files = d->files / jobs ? d->files / jobs : 1;

	return reel_buf_printf(
		out, err,
		"nrfiles=%" PRId64 "\nfilesize=%" PRId64 "\nopenfiles=1\n",
		files,
		d->samples_per_file == 1
			? read_size(w, bytes)
			: (int64_t)(bytes * (double)d->samples_per_file));
}

/* The time of a step, shared by the reads of a batch. */
static int put_think_time(const struct workload *w, int64_t jobs,
			  struct reel_buf *out, struct reel_error *err)
{
	double us = quantiles_mean(&w->compute.step_ns) / 1e3;
	int64_t batch = w->pipeline.batch;

	if (us < 1)
		return 0;
	/* All jobs together wait as long as one stepping thread computes. */
	return reel_buf_printf(out, err,
			       "thinktime=%.0f\nthinktime_blocks=%" PRId64 "\n"
			       "%s",
			       round(us * (double)jobs), batch,
			       w->compute.on != WORKLOAD_SLEEP
				       ? "thinktime_spin=100000000\n"
				       : "");
}

static int put_reads(const struct workload *w, struct reel_buf *out,
		     struct reel_error *err)
{
	int64_t jobs = w->pipeline.readers > 1 ? w->pipeline.readers : 1;
	bool shuffled = w->pipeline.order != WORKLOAD_SEQUENTIAL;

	return reel_buf_printf(
		       out, err,
		       "[%s]\nrw=%s\nnumjobs=%" PRId64 "\nloops=%" PRId64 "\n"
		       "file_service_type=%s\n",
		       w->name,
		       shuffled && w->dataset.samples_per_file > 1 ? "randread"
								   : "read",
		       jobs,
		       w->pipeline.in_memory ? 1
					     : w->epochs * w->pipeline.repeats,
		       shuffled ? "random" : "sequential") ||
	       (w->pipeline.unit == WORKLOAD_THREAD &&
		reel_buf_puts(out, "thread=1\n", err)) ||
	       put_sizes(w, &w->dataset.sample_bytes, out, err) ||
	       put_files(w, jobs, out, err) ||
	       put_think_time(w, jobs, out, err);
}

/* A kind of file of a checkpoint. */
struct saved {
	char name[32];
	int64_t jobs, files; /* of a job */
	double bytes, write_bytes;
	bool fsync;
};

/* Written, then read: each behind the other. */
static int put_saved(const struct workload *w, const struct saved *s,
		     struct reel_buf *out, struct reel_error *err)
{
	const struct workload_checkpoint *c = &w->checkpoint;

	for (int reads = 0; reads <= (c->reads > 0); reads++)
		if (reel_buf_printf(out, err,
				    "\n[%s-%s]\nstonewall\nrw=%s\n"
				    "filename_format=%s.$jobnum.$filenum\n"
				    "numjobs=%" PRId64 "\nnrfiles=%" PRId64
				    "\nfilesize=%.0f\nbs=%" PRId64
				    "\nloops=%" PRId64 "\n%s",
				    s->name, reads ? "read" : "write",
				    reads ? "read" : "write", s->name, s->jobs,
				    s->files, s->bytes,
				    read_size(w, s->write_bytes),
				    reads	? c->reads
				    : c->writes ? c->writes
						: 1,
				    s->fsync && !reads ? "end_fsync=1\n" : ""))
			return -1;
	return 0;
}

/* The mean write of a file of @bytes; where it is not told, MiB. */
static double mean_write(const struct workload_checkpoint_file *f, double bytes)
{
	double sum = 0;

	if (f->write_bytes.n)
		return quantiles_mean(&f->write_bytes);
	if (f->layout != WORKLOAD_PLAIN_FILE || !f->series_bytes_n)
		return fmin(bytes, 1 << 20);
	for (uint32_t i = 0; i < f->series_bytes_n; i++)
		sum += (double)f->series_bytes[i];
	return sum / f->series_bytes_n;
}

/* The files of one checkpoint; those of a transformer have the mean of the ranks. */
static int put_checkpoint(const struct workload *w, struct reel_buf *out,
			  struct reel_error *err)
{
	struct workload_checkpoint c = w->checkpoint;
	int64_t ranks = w->ranks ? w->ranks : 1;
	struct saved s = {.name = "checkpoint", .jobs = ranks, .files = 1};

	for (uint32_t i = 0; i < c.files_n; i++) {
		const struct workload_checkpoint_file *f = &c.files[i];
		int64_t parts = f->owner == WORKLOAD_SHARD ? ranks : 1;
		struct saved kind = {
			.jobs = f->owner == WORKLOAD_ROOT ? 1 : ranks,
			.files = f->count,
			.bytes = (double)(f->bytes / parts),
			.fsync = f->fsync,
		};

		kind.write_bytes = mean_write(f, kind.bytes);
		snprintf(kind.name, sizeof(kind.name), "checkpoint-%u", i);
		if (kind.bytes >= 1 && put_saved(w, &kind, out, err))
			return -1;
	}
	if (!c.transformer.layers)
		return 0;
	c.files_n = 0;
	s.bytes = round(checkpoint_bytes(&c, ranks) / (double)ranks);
	s.write_bytes = fmin(s.bytes, 1 << 20);
	s.fsync = c.transformer.fsync;
	return put_saved(w, &s, out, err);
}

int export_fio(const struct workload *w, struct reel_buf *out,
	       struct reel_error *err)
{
	if (w->kvcache.users)
		return reel_fail(err, REEL_E_USAGE,
				 "a key-value cache cannot be exported for "
				 "fio");
	if (reel_buf_printf(out, err,
			    "; %s, for fio: run it with --directory=DIR.\n"
			    "; fio cannot hold batches, formats, metadata, "
			    "files of several sizes, the\n"
			    "; order over epochs, prefetching, and checkpoints "
			    "between steps.\n"
			    "[global]\nioengine=%s\ninvalidate=%d\n"
			    "direct=%d\n\n",
			    w->name,
			    w->access.api == WORKLOAD_MMAP ? "mmap" : "psync",
			    w->cache == WORKLOAD_COLD, w->access.direct))
		return -1;
	if (w->epochs && w->dataset.sample_bytes.n && put_reads(w, out, err))
		return -1;
	return put_checkpoint(w, out, err);
}

/* SPDX-License-Identifier: MIT */
/* The samples of the data set: how many a file has, and their sizes. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/error.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define INSPECT_MOST 1000000 /* samples whose sizes are looked at */
#define SERIES_MOST 65536    /* those whose order is kept */
#define WHOLE_LEAST 0.9	     /* of the bytes of files: they are read whole */
#define SCANS_MOST 0.05	     /* of the visits */

/* --- samples -------------------------------------------------------------- */

bool fit_one_sample(int format)
{
	return format == WORKLOAD_NPZ || format == WORKLOAD_NPY ||
	       format == WORKLOAD_JPEG || format == WORKLOAD_PNG ||
	       format == WORKLOAD_SAFETENSORS;
}

int fit_sizes(struct fit *f, int64_t *value, uint32_t n, bool all)
{
	struct workload_dataset *d = &f->w->dataset;
	int64_t *series = NULL;

	if (all && n <= SERIES_MOST) {
		series = reel_alloc(n, sizeof(*value), f->err);
		if (!series)
			return -1;
		memcpy(series, value, n * sizeof(*value));
	}
	if (quantiles_of(&d->sample_bytes, value, n, FIT_QUANTILES, f->err) ||
	    d->sample_bytes.n < 2) {
		free(series);
		return d->sample_bytes.n ? 0 : -1;
	}
	d->series_bytes = series;
	d->series_bytes_n = series ? n : 0;
	return 0;
}

/* Sizes of the samples of the files themselves, as far as they can be read. */
static int inspect_files(struct fit *f, const struct format *format,
			 uint64_t *samples)
{
	int64_t *value = NULL;
	uint32_t n = 0, room = 0;
	uint32_t looked = 0;
	int rc = 0;

	for (; !rc && looked < f->files && n < INSPECT_MOST; looked++)
		rc = format->inspect(f->file[looked].path, &value, &n, &room,
				     f->err);
	/* Files that were not looked at are taken to hold as many. */
	*samples = looked ? (uint64_t)n * f->files / looked : 0;
	if (!rc && n)
		rc = fit_sizes(f, value, n, looked == f->files);
	free(value);
	return rc;
}

/* The first sample of a file has the bytes that are left over, so that files get their
 * size. */
int fit_sizes_of_files(struct fit *f, const struct format *format,
		       int64_t samples)
{
	bool all = samples == 1 || f->files <= SERIES_MOST / samples;
	int64_t each = all ? samples : 1;
	int64_t *value =
		reel_alloc((size_t)(f->files * each), sizeof(*value), f->err);
	int rc;

	if (!value)
		return -1;
	for (int64_t i = 0; i < f->files * each; i++) {
		uint64_t size = (uint64_t)f->file[i / each].size;
		int64_t payload =
			(int64_t)(format && format->payload
					  ? format->payload(size,
							    (uint64_t)samples)
					  : size);

		value[i] = payload / samples;
		if (all && i % each == 0)
			value[i] += payload % samples;
	}
	rc = fit_sizes(f, value, (uint32_t)(f->files * each), all);
	free(value);
	return rc;
}

double fit_read_share(const struct fit *f)
{
	double read = 0, size = 0;

	for (uint32_t i = 0; i < f->visits; i++) {
		read += (double)f->visit[i].bytes;
		size += (double)f->file[f->visit[i].file].size;
	}
	return size > 0 ? read / size : 0;
}

/* Does each batch read files of its own, as one of a job does whose sample is a file?
 * CSV files that are read in part hold several. */
static int are_samples(struct fit *f, bool *out)
{
	double read = fit_read_share(f);
	uint32_t *counts, n;
	int rc = fit_files_of_batches(f, 0, f->visits, &counts, &n);

	free(counts);
	*out = n && 10 * (int64_t)n >= 9 * f->steps &&
	       f->visits < 2 * f->files * f->passes &&
	       (f->w->dataset.format == WORKLOAD_RAW ||
		(read >= WHOLE_LEAST && read <= 1.1));
	return rc;
}

/* The calls show no smaller samples than the steps. */
static int sample_a_step(struct fit *f, const struct format *format,
			 const char *why)
{
	struct workload_dataset *d = &f->w->dataset;

	fit_sample_a_step(f);
	return fit_sizes_of_files(f, format, d->samples_per_file) ||
	       fit_reason(f, "dataset.samples_per_file", 0.2,
			  "%s; a step counts as one sample", why) ||
	       fit_reason(f, "dataset.sample_bytes", 0.2,
			  "sizes of the files by samples_per_file");
}

/* A sample is a file. The caller says why. */
static int sample_a_whole_file(struct fit *f, const struct format *format,
			       double confidence)
{
	f->w->dataset.samples_per_file = 1;
	return fit_sizes_of_files(f, format, 1) ||
	       fit_reason(f, "dataset.sample_bytes", confidence,
			  "sizes of the files");
}

/* Do readers take a part of each file, as a segment of a recording or the header of a
 * picture? */
static bool reads_parts(const struct fit *f)
{
	double share = fit_read_share(f);

	return share > 0 && share < WHOLE_LEAST;
}

/* Such a part. The benchmark's files have no more than that. */
static int sample_a_part(struct fit *f)
{
	return fit_sizes_of_visits(f) ||
	       fit_reason(f, "dataset.sample_bytes", 0.5,
			  "bytes that were read from an open to the close, "
			  "%.0f %% of the bytes of the files: those of the "
			  "benchmark have no more",
			  100 * fit_read_share(f));
}

int64_t fit_arrays_bytes(const struct format *format, const char *path)
{
	struct format_storage is;

	return format && format->storage && format->storage(path, &is)
		       ? is.arrays_bytes
		       : 0;
}

/* A sample is all arrays of a file of HDF5, as of a volume and its mask, where each
 * batch reads files of its own to their ends. 1; 0: it is not; -1. */
static int sample_all_arrays(struct fit *f, const struct format *format)
{
	int64_t *value;
	uint32_t n = 0;
	bool whole;
	int rc;

	if (are_samples(f, &whole))
		return -1;
	if (!whole)
		return 0;
	value = reel_alloc(f->files, sizeof(*value), f->err);
	if (!value)
		return -1;
	while (n < f->files &&
	       (value[n] = fit_arrays_bytes(format, f->file[n].path)))
		n++;
	f->arrays = n == f->files;
	if (f->arrays)
		f->w->dataset.samples_per_file = 1;
	rc = !f->arrays
		     ? 0
		     : fit_sizes(f, value, n, true) ||
			       fit_reason(f, "dataset.samples_per_file", 0.9,
					  "each batch reads files of its own, "
					  "to their ends") ||
			       fit_reason(f, "dataset.sample_bytes", 0.9,
					  "sizes of all arrays of the files");
	free(value);
	return rc ? -1 : f->arrays;
}

static bool is_picture(int format)
{
	return format == WORKLOAD_JPEG || format == WORKLOAD_PNG;
}

/* A sample is a part of a file, a row of its array where there are enough of them. */
static int sample_a_row(struct fit *f, const struct format *format)
{
	struct workload_dataset *d = &f->w->dataset;
	uint64_t samples = 0;

	if (format->inspect && inspect_files(f, format, &samples))
		return -1;
	if (samples < (uint64_t)(f->steps_of_epoch * f->ranks))
		return sample_a_step(f, format,
				     f->w->pipeline.in_memory
					     ? "fewer files than steps, which "
					       "find them in memory"
					     : "fewer files than steps");
	d->samples_per_file = (int64_t)(samples / f->files);
	return fit_reason(f, "dataset.samples_per_file", 0.6,
			  "fewer files than steps: the rows of their arrays") ||
	       fit_reason(f, "dataset.sample_bytes", 0.6, "sizes of the rows");
}

/* One sample a file, which holds nothing else. */
static int sample_a_file(struct fit *f, const struct format *format)
{
	/* Fewer files than steps: a sample is a part of one. */
	bool parts = f->files < f->steps_of_epoch &&
		     (!fit_reopens(f) || f->steps > f->visits);

	if (parts && !is_picture(f->w->dataset.format))
		return sample_a_row(f, format);
	if (fit_reason(f, "dataset.samples_per_file", parts ? 0.1 : 0.9,
		       parts ? "files of this format hold one sample as a "
			       "rule, but the steps of an epoch are more than "
			       "the files"
			     : "files of this format hold one sample as a "
			       "rule"))
		return -1;
	/* As load_file() does, of each. */
	if (f->w->dataset.format == WORKLOAD_SAFETENSORS && fit_reopens(f))
		f->opens_of_sample = FIT_SAFETENSORS_OPENS;
	if (!parts && is_picture(f->w->dataset.format) &&
	    f->opens_of_sample < 2 && reads_parts(f))
		return sample_a_part(f);
	return fit_sizes_of_files(f, format, 1) ||
	       fit_reason(f, "dataset.sample_bytes", parts ? 0.1 : 0.95,
			  "sizes of the files without the format's own bytes");
}

bool fit_reopens(const struct fit *f)
{
	return f->visits >= 2 * f->files * f->passes;
}

/* A visit that reads its whole file among many that do not, as one that finds where the
 * lines are, is for no sample. */
static bool is_scan(const struct fit *f, const struct fit_visit *v)
{
	int64_t size = f->file[v->file].size;

	return size > 0 && (double)v->bytes >= WHOLE_LEAST * (double)size;
}

/* Visits of that kind; 0: they are not few, or visits are no samples of a file. */
static uint32_t count_scans(const struct fit *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; f->sample_a_visit && i < f->visits; i++)
		n += is_scan(f, &f->visit[i]);
	return n <= SCANS_MOST * f->visits ? n : 0;
}

int fit_sizes_of_visits(struct fit *f)
{
	int64_t *value = reel_alloc(f->visits, sizeof(*value), f->err);
	uint32_t scans = count_scans(f), n = 0;
	double left_out = 0, all = 0;
	int rc = value ? 0 : -1;

	for (uint32_t i = 0; !rc && i < f->visits; i++) {
		int64_t bytes = f->visit[i].bytes;

		all += (double)bytes;
		if (scans && is_scan(f, &f->visit[i]))
			left_out += (double)bytes;
		else
			value[n++] = bytes;
	}
	rc = rc || fit_sizes(f, value, n, false);
	free(value);
	if (rc)
		return -1;
	if (scans)
		return fit_reason(
			f, "dataset.sample_bytes", 0.5,
			"bytes that were read from an open to the "
			"close; left out: %u of %u opens, that read a "
			"file whole, %.1f %% of the bytes",
			scans, f->visits, 100 * left_out / all);
	return fit_reason(f, "dataset.sample_bytes", 0.5,
			  "bytes that were read from an open to the close");
}

/* Files that are opened again and again in an epoch: for a sample each time. */
static int sample_a_visit(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	const struct format *format = format_of(d->format);
	bool maps = d->format == WORKLOAD_SAFETENSORS;
	double visits;

	fit_drop_looks(f);
	f->sample_a_visit = true;
	f->opens_of_sample = maps ? FIT_SAFETENSORS_OPENS : 1;
	visits = (double)(f->visits - (maps ? 0 : count_scans(f))) /
		 (double)f->passes / f->files;
	d->samples_per_file = llround(visits / f->opens_of_sample);
	if (fit_reason(f, "dataset.samples_per_file", 0.5,
		       "each file was opened %.1f times in an epoch: a "
		       "sample each time%s",
		       visits / f->opens_of_sample,
		       maps ? ", by two opens" : ""))
		return -1;
	/* Pages show no sizes: the kernel maps their neighbours too. */
	return maps ? fit_sizes_of_files(f, format, d->samples_per_file) ||
			       fit_reason(f, "dataset.sample_bytes", 0.5,
					  "sizes of the files by "
					  "samples_per_file")
		    : fit_sizes_of_visits(f);
}

/* The size of the smallest file. */
static int64_t least_bytes(const struct fit *f)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < f->files; i++)
		if (f->file[i].size < least)
			least = f->file[i].size;
	return least;
}

void fit_sample_a_step(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	int64_t steps = f->steps_of_epoch * f->ranks;
	int64_t common = workload_common_divisor(steps, f->files);

	/* Files have equal numbers of samples: batches of several where the steps are no
	 * multiple of the files, or the benchmark would have fewer steps. */
	d->samples_per_file = common > 0 ? steps / common : 1;
	if (d->samples_per_file > least_bytes(f))
		d->samples_per_file = steps / f->files;
	if (d->samples_per_file < 1)
		d->samples_per_file = 1;
}

/* Samples by the steps: no format counts them, and no call reads one. */
static int samples_of_steps(struct fit *f, const struct format *format)
{
	struct workload_dataset *d = &f->w->dataset;

	if (d->format == WORKLOAD_RAW && f->steps_of_epoch &&
	    f->files >= 2 * f->steps_of_epoch * f->ranks &&
	    fit_read_share(f) >= WHOLE_LEAST)
		return fit_reason(f, "dataset.samples_per_file", 0.7,
				  "%u files are read whole in the %lld steps "
				  "of an epoch",
				  f->files, (long long)f->steps_of_epoch) ||
		       sample_a_whole_file(f, NULL, 0.7);
	fit_drop_looks(f);
	if (!f->steps)
		return fit_reason(f, "dataset.samples_per_file", 0.2,
				  "neither steps nor samples are seen: a file "
				  "counts as one") ||
		       sample_a_whole_file(f, format, 0.2);
	return sample_a_step(f, format,
			     format && format->inspect
				     ? "the files cannot be read here"
				     : "no read is that of one sample");
}

/* Is it a zip archive, as of torch.save()? Its reads are apart from each other, but
 * no samples. */
static bool is_archive(const char *path)
{
	static const char start[] = {'P', 'K', 3, 4};
	char head[sizeof(start)];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 &&
		  pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
		  !memcmp(head, start, sizeof(head));

	if (fd >= 0)
		close(fd);
	return is;
}

/* The readers of the others open a file as often as their libraries do. */
static bool may_look(int format)
{
	return format == WORKLOAD_RAW || format == WORKLOAD_CSV ||
	       format == WORKLOAD_JPEG || format == WORKLOAD_PNG ||
	       format == WORKLOAD_NPY;
}

static int samples_of_files(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	const struct format *format = format_of(d->format);
	uint64_t samples = 0;
	int rc = 0;

	if (f->mapped)
		return fit_pages(f);
	if (may_look(d->format) && fit_opens(f))
		return -1;
	if (fit_one_sample(d->format)) {
		d->samples_per_file = 1;
		if (fit_members(f))
			return -1;
		if (f->partial)
			return 0;
		return f->files < f->steps_of_epoch && fit_reopens(f) &&
				       f->steps <= f->visits &&
				       !fit_reads_whole(f)
			       ? sample_a_visit(f)
			       : sample_a_file(f, format);
	}
	if (d->format == WORKLOAD_RAW || d->format == WORKLOAD_CSV) {
		bool whole, looks = fit_looks_at_files(f);

		if (are_samples(f, &whole))
			return -1;
		if (looks)
			return fit_reason(f, "dataset.samples_per_file", 0.8,
					  "each file is read whole once in an "
					  "epoch, beside opens that look at "
					  "its start") ||
			       sample_a_whole_file(f, NULL, 0.95);
		if (whole) {
			d->samples_per_file = 1;
			return fit_reason(
				       f, "dataset.samples_per_file", 0.9,
				       "each batch reads files of its own") ||
			       (reads_parts(f)
					? sample_a_part(f)
					: sample_a_whole_file(f, NULL, 0.95));
		}
	}
	if (d->format == WORKLOAD_HDF5)
		rc = sample_all_arrays(f, format);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (format && format->inspect && inspect_files(f, format, &samples))
		return -1;
	if (samples) {
		d->samples_per_file = (int64_t)(samples / f->files);
		if (d->samples_per_file < 1)
			d->samples_per_file = 1;
		return fit_reason(f, "dataset.samples_per_file", 0.95,
				  "%llu samples were counted in the files",
				  (unsigned long long)samples) ||
		       fit_reason(f, "dataset.sample_bytes", 0.95,
				  "sizes of the samples in the files");
	}
	if (d->format == WORKLOAD_RAW && !is_archive(f->file[0].path) &&
	    fit_records(f))
		return -1;
	if (f->records) {
		fit_drop_looks(f);
		return 0;
	}
	if (fit_reopens(f) && f->steps > f->visits)
		return sample_a_step(f, format,
				     "the steps are more than the visits of "
				     "files");
	if (fit_reopens(f) && fit_reads_whole(f))
		return fit_reason(f, "dataset.samples_per_file", 0.5,
				  "each visit of a file reads it whole") ||
		       sample_a_whole_file(f, NULL, 0.8);
	if (fit_reopens(f))
		return sample_a_visit(f);
	return samples_of_steps(f, format);
}

#define PARTS_MOST 8

/* Sizes that samples have, each as many of them, as the rows of x.npy and of y.npy; 0:
 * there is one, they are more, or differ in number. */
static uint32_t count_equal_sizes(const struct workload_dataset *d)
{
	int64_t size[PARTS_MOST];
	uint32_t count[PARTS_MOST] = {0}, n = 0;

	for (uint32_t i = 0; i < d->series_bytes_n; i++) {
		uint32_t k = 0;

		while (k < n && size[k] != d->series_bytes[i])
			k++;
		if (k == PARTS_MOST)
			return 0;
		if (k == n)
			size[n++] = d->series_bytes[i];
		count[k]++;
	}
	for (uint32_t k = 1; k < n; k++)
		if (count[k] != count[0] || count[k] < 2)
			return 0;
	return n > 1 ? n : 0;
}

/* The parts of a sample that are in files of their own are samples of the benchmark. */
static int say_parts(struct fit *f)
{
	uint32_t n = f->w->dataset.format == WORKLOAD_NPY
			     ? count_equal_sizes(&f->w->dataset)
			     : 0;

	return !n ? 0
		  : fit_reason(f, "dataset.sample_bytes", 0.5,
			       "samples of %u sizes, as many of each: where a "
			       "sample of the job has one of each, as of x.npy "
			       "and y.npy, it counts as %u, in the batch too",
			       n, n);
}

int fit_samples(struct fit *f)
{
	struct workload_access *a = &f->w->access;

	if (samples_of_files(f) || fit_say_looks(f) || say_parts(f) ||
	    (!f->records && !f->mapped && (fit_chain(f) || fit_arrays(f))))
		return -1;
	/* A chain has all reads of a file in it. */
	if (a->chain_n) {
		a->member_opens = 1;
		a->read_end = true;
	}
	if (f->records || f->mapped)
		return 0;
	return fit_reopen(f) || fit_repeats(f) ? -1 : 0;
}

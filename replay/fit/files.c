/* SPDX-License-Identifier: MIT */
/* The files of the data set: which they are, of which format, and their samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* --- formats by name ------------------------------------------------------ */

static const struct {
	const char *suffix;
	int format;
} suffixes[] = {
	{".tfrecord", WORKLOAD_TFRECORD},
	{".tfrecords", WORKLOAD_TFRECORD},
	{".npz", WORKLOAD_NPZ},
	{".npy", WORKLOAD_NPY},
	{".h5", WORKLOAD_HDF5},
	{".hdf5", WORKLOAD_HDF5},
	{".csv", WORKLOAD_CSV},
	{".jpg", WORKLOAD_JPEG},
	{".jpeg", WORKLOAD_JPEG},
	{".png", WORKLOAD_PNG},
	{".tar", WORKLOAD_TAR},
	{".parquet", WORKLOAD_PARQUET},
	{".safetensors", WORKLOAD_SAFETENSORS},
	{".indexed_binary", WORKLOAD_INDEXED},
};

/* TFRecord shards are often named "train-00017-of-01024"; with a suffix behind that,
 * as ".arrow", they are something else. @len: without ".gz". */
static bool is_shard(const char *name, size_t len)
{
	const char *of = strstr(name, "-of-");

	return of && of > name && of[-1] >= '0' && of[-1] <= '9' &&
	       of[4] >= '0' && of[4] <= '9' &&
	       of + 4 + strspn(of + 4, "0123456789") >= name + len;
}

/* The format of @path by its name; WORKLOAD_RAW when that tells nothing. */
static int format_by_name(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len;

	name = name ? name + 1 : path;
	len = strlen(name);
	if (len > 3 && !strcasecmp(name + len - 3, ".gz"))
		len -= 3;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i].suffix);

		if (len > n &&
		    !strncasecmp(name + len - n, suffixes[i].suffix, n))
			return suffixes[i].format;
	}
	return is_shard(name, len) ? WORKLOAD_TFRECORD : WORKLOAD_RAW;
}

/* --- the files ------------------------------------------------------------ */

/* Files of a data set are read in the loop, or by threads and processes that have
 * none, but for processes of another program, as a compiler. Others are not: those that the thread of a loop reads before it, as weights
 * and indexes, where there are files that are read in it, and those that are opened
 * within restores alone. */
#define READ_FILES                                                             \
	"WITH begun AS MATERIALIZED (SELECT thread_id, min(start_ns) AS ns "   \
	"FROM v_span WHERE name IN ('epoch', 'eval', 'step', 'fetch') GROUP "  \
	"BY thread_id), "                                                      \
	"restore AS MATERIALIZED (SELECT thread_id, start_ns, start_ns + "     \
	"dur_ns AS end_ns FROM v_span WHERE name = 'restore'), "               \
	"opened AS (SELECT e.path, max(NOT EXISTS (SELECT 1 FROM restore "     \
	"r WHERE r.thread_id = e.thread_id AND e.start_ns BETWEEN "            \
	"r.start_ns AND r.end_ns)) AS apart FROM v_event e WHERE EXISTS "      \
	"(SELECT 1 FROM restore) AND class = 'data' AND call_group = 'open' "  \
	"AND errno = 0 GROUP BY e.path), "                                     \
	"program AS MATERIALIZED (SELECT DISTINCT exe FROM process JOIN "      \
	"rank_time USING (process_id) WHERE exe IS NOT NULL), "                \
	"other AS MATERIALIZED (SELECT process_id FROM process WHERE EXISTS "  \
	"(SELECT 1 FROM program) AND exe NOT IN (SELECT exe FROM program)), "  \
	"looped AS MATERIALIZED (SELECT DISTINCT e.path FROM v_event e "       \
	"LEFT JOIN begun b USING (thread_id) WHERE EXISTS (SELECT 1 FROM "     \
	"begun) AND e.process_id NOT IN (SELECT process_id FROM other) AND "   \
	"class = 'data' AND call_group = 'read' AND bytes > 0 AND "            \
	"e.start_ns >= coalesce(b.ns, e.start_ns)), "                          \
	"file AS (SELECT * FROM v_file WHERE class = 'data' AND kind <> "      \
	"'dir' AND read_bytes > 0 AND write_bytes = 0 AND path NOT IN "        \
	"(SELECT path FROM opened WHERE NOT apart)), "                         \
	"data AS (SELECT * FROM file WHERE path IN (SELECT path FROM "         \
	"looped) OR NOT EXISTS (SELECT 1 FROM file WHERE path IN (SELECT "     \
	"path FROM looped))) "

/* Bytes that were read of each format: the data set is the largest. */
static int main_format(struct fit *f, int *format)
{
	double bytes[WORKLOAD_FORMATS] = {0};
	struct reel_view v;
	int best = -1;

	if (!reel_view_open(&v, f->st,
			    READ_FILES "SELECT path, read_bytes FROM data",
			    f->err))
		while (reel_view_next(&v))
			bytes[format_by_name(reel_view_text(&v, "path"))] +=
				(double)reel_view_int(&v, "read_bytes");
	for (int i = 0; i < WORKLOAD_FORMATS; i++)
		if (bytes[i] > 0 && (best < 0 || bytes[i] > bytes[best]))
			best = i;
	*format = best;
	if (reel_view_close(&v))
		return -1;
	return best < 0 ? reel_fail(f->err, REEL_E_FORMAT,
				    "no file of the job was read as data")
			: 0;
}

static int add_file(struct fit *f, struct reel_view *v, uint32_t *room)
{
	struct fit_file *file;

	if (reel_array_reach(&f->file, room, f->files, sizeof(*f->file),
			     f->err))
		return -1;
	file = &f->file[f->files];
	file->path = reel_strdup(reel_view_text(v, "path"), f->err);
	if (!file->path)
		return -1;
	f->files++;
	file->file_id = reel_view_exact(v, "file_id");
	file->size = reel_view_int(v, "size_bytes");
	file->opens = reel_view_int(v, "opens");
	file->read_bytes = reel_view_int(v, "read_bytes");
	/* An import may not know the size: at least what was read of it. */
	if (file->size <= 0)
		file->size =
			file->read_bytes / (file->opens > 0 ? file->opens : 1);
	return 0;
}

/* Folders that hold the files; 0 when there is one. */
static int64_t count_folders(const struct fit *f)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < f->files; i++) {
		const char *path = f->file[i].path, *last = strrchr(path, '/');
		size_t len = last ? (size_t)(last - path) : 0;

		n += !i || strncmp(path, f->file[i - 1].path, len + 1) != 0;
	}
	return n > 1 ? n : 0;
}

int fit_files(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	struct reel_view v;
	uint32_t room = 0;
	int rc = 0;

	if (main_format(f, &d->format))
		return -1;
	if (!reel_view_open(&v, f->st,
			    READ_FILES
			    "SELECT file_id, path, size_bytes, opens, "
			    "read_bytes FROM data ORDER BY path",
			    f->err))
		while (!rc && reel_view_next(&v))
			if (format_by_name(reel_view_text(&v, "path")) ==
			    d->format)
				rc = add_file(f, &v, &room);
	return reel_view_close(&v) || rc ? -1 : 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, ((const struct fit_file *)b)->path);
}

const struct fit_file *fit_find(const struct fit *f, const char *path)
{
	return bsearch(&path, f->file, f->files, sizeof(*f->file), by_path);
}

int fit_file_keys(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;

	d->files = f->files;
	d->folders = count_folders(f);
	return fit_reason(f, "dataset.format", d->format ? 0.95 : 0.5,
			  d->format
				  ? "the names of the files that were read "
				    "most"
				  : "the names of the files tell no format") ||
	       fit_reason(f, "dataset.files", 0.95,
			  "%u data files of this format were read and not "
			  "written",
			  f->files);
}

#define LOOKED_LEAST 8	/* files */
#define LOOK_BYTES 4096 /* where it is not asked for */
#define LOOKS_MOST 16	/* of a file, and what each reads at most */
#define LOOK_READS_MOST 1024
#define LOOK_BYTES_MOST 1073741824
#define WHOLE_LEAST 0.75     /* of a file: it is read */
#define INSPECT_MOST 1000000 /* samples whose sizes are looked at */
#define SERIES_MOST 65536    /* those whose order is kept */

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

/* Visits of a thread to one file, one behind the other: for one sample. */
struct opens {
	uint32_t groups,
		looks; /* of them: the largest of each reads the sample */
	double look_reads, look_bytes;
};

static void add_group(struct opens *o, struct fit_visit **visit, uint32_t n)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i < n; i++)
		if (visit[i]->bytes > visit[largest]->bytes)
			largest = i;
	for (uint32_t i = 0; i < n; i++) {
		visit[i]->look = i != largest;
		if (i == largest)
			continue;
		o->looks++;
		o->look_reads += (double)visit[i]->reads;
		o->look_bytes += (double)visit[i]->bytes;
	}
	o->groups++;
}

static void put_looks(struct fit *f, const struct opens *o)
{
	struct workload_access *a = &f->w->access;

	f->opens_of_sample = (uint32_t)lround((double)f->visits / o->groups);
	if (f->opens_of_sample < 2 || f->opens_of_sample > LOOKS_MOST + 1)
		return;
	a->looks = f->opens_of_sample - 1;
	a->look_reads = llround(o->look_reads / o->looks);
	a->look_bytes = llround(o->look_bytes / o->looks);
	if (a->look_reads > LOOK_READS_MOST)
		a->look_reads = LOOK_READS_MOST;
	if (a->look_bytes > LOOK_BYTES_MOST)
		a->look_bytes = LOOK_BYTES_MOST;
}

/* Visits are samples, or parts of a file that is read on. */
static void drop_looks(struct fit *f)
{
	struct workload_access *a = &f->w->access;

	f->opens_of_sample = 0;
	a->looks = 0;
	a->look_reads = 1;
	a->look_bytes = LOOK_BYTES;
}

/* A reader may open a file several times for one sample, as to look at its header
 * first. Few files follow themselves by chance. */
static int find_opens(struct fit *f)
{
	struct fit_visit **visit;
	struct opens o = {0};
	uint32_t end;

	if (f->files < LOOKED_LEAST || f->files < f->steps_of_epoch * f->ranks)
		return 0;
	visit = fit_sort_visits(f);
	if (!visit)
		return -1;
	for (uint32_t i = 0; i < f->visits; i = end) {
		for (end = i + 1; end < f->visits; end++)
			if (visit[end]->file != visit[i]->file ||
			    visit[end]->thread_id != visit[i]->thread_id)
				break;
		add_group(&o, visit + i, end - i);
	}
	free(visit);
	if (o.groups)
		put_looks(f, &o);
	return 0;
}

static int say_looks(struct fit *f)
{
	const struct workload_access *a = &f->w->access;

	return !a->looks ? 0
			 : fit_reason(f, "access.looks", 0.8,
				      "a thread opens a file %u times before "
				      "another one, as a rule: all but one of "
				      "them for %lld bytes",
				      f->opens_of_sample,
				      (long long)a->look_bytes);
}

/* Does each file serve a step at least, and is it read whole once in an epoch, beside
 * opens that read less? */
static bool are_looked_at(const struct fit *f)
{
	double whole = 0, files = (double)f->files * (double)f->passes;

	if (f->opens_of_sample < 2 || !f->steps_of_epoch)
		return false;
	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		whole += (double)v->bytes >=
			 WHOLE_LEAST * (double)f->file[v->file].size;
	}
	return whole >= 0.9 * files && whole <= 1.1 * files;
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
		(read >= 0.9 && read <= 1.1));
	return rc;
}

/* A file with all samples of many steps is read whole, and stays in memory. */
static int parts_in_memory(struct fit *f, const struct format *format)
{
	struct workload_dataset *d = &f->w->dataset;

	fit_sample_a_step(f);
	return fit_sizes_of_files(f, format, d->samples_per_file) ||
	       fit_reason(f, "dataset.samples_per_file", 0.2,
			  "%u files in memory serve %lld steps of an epoch: a "
			  "step counts as one sample",
			  f->files, (long long)f->steps_of_epoch) ||
	       fit_reason(f, "dataset.sample_bytes", 0.5,
			  "sizes of the files by samples_per_file");
}

/* One sample a file, which holds nothing else. */
static int sample_a_file(struct fit *f, const struct format *format)
{
	/* Fewer files than steps: a sample is a part of one. */
	bool parts = f->files < f->steps_of_epoch;

	if (parts && f->w->pipeline.in_memory)
		return parts_in_memory(f, format);
	return fit_sizes_of_files(f, format, 1) ||
	       fit_reason(f, "dataset.samples_per_file", parts ? 0.1 : 0.9,
			  parts ? "files of this format hold one sample as a "
				  "rule, but the steps of an epoch are more "
				  "than the files"
				: "files of this format hold one sample as a "
				  "rule") ||
	       fit_reason(f, "dataset.sample_bytes", parts ? 0.1 : 0.95,
			  "sizes of the files without the format's own bytes");
}

bool fit_reopens(const struct fit *f)
{
	return f->visits >= 2 * f->files * f->passes;
}

int fit_sizes_of_visits(struct fit *f)
{
	int64_t *value = reel_alloc(f->visits, sizeof(*value), f->err);
	int rc = value ? 0 : -1;

	for (uint32_t i = 0; !rc && i < f->visits; i++)
		value[i] = f->visit[i].bytes;
	rc = rc || fit_sizes(f, value, f->visits, false);
	free(value);
	return rc ? -1
		  : fit_reason(
			    f, "dataset.sample_bytes", 0.5,
			    "bytes that were read from an open to the close");
}

/* Files that are opened again and again in an epoch: for a sample each time. */
static int sample_a_visit(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	const struct format *format = format_of(d->format);
	/* safe_open() opens the file, and so does the storage of its tensors. */
	bool maps = d->format == WORKLOAD_SAFETENSORS;
	double visits = (double)f->visits / (double)f->passes / f->files;

	drop_looks(f);
	f->sample_a_visit = true;
	f->opens_of_sample = maps ? 2 : 1;
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

void fit_sample_a_step(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;

	d->samples_per_file = f->steps_of_epoch * f->ranks / f->files;
	/* Steps that find no sample left would be an epoch's end. */
	if (f->w->pipeline.in_memory &&
	    d->samples_per_file * f->files < f->steps_of_epoch * f->ranks)
		d->samples_per_file++;
	if (d->samples_per_file < 1)
		d->samples_per_file = 1;
}

/* Samples by the steps: no format counts them, and no call reads one. */
static int samples_of_steps(struct fit *f, const struct format *format)
{
	struct workload_dataset *d = &f->w->dataset;

	if (d->format == WORKLOAD_RAW && f->steps_of_epoch &&
	    f->files >= 2 * f->steps_of_epoch * f->ranks &&
	    fit_read_share(f) >= 0.9) {
		d->samples_per_file = 1;
		return fit_sizes_of_files(f, NULL, 1) ||
		       fit_reason(f, "dataset.samples_per_file", 0.7,
				  "%u files are read whole in the %lld steps "
				  "of an epoch",
				  f->files, (long long)f->steps_of_epoch) ||
		       fit_reason(f, "dataset.sample_bytes", 0.7,
				  "sizes of the files");
	}
	drop_looks(f);
	/* The files are not here: a sample is a step's share of what was read. */
	fit_sample_a_step(f);
	if (!f->steps)
		return fit_sizes_of_files(f, format, 1) ||
		       fit_reason(f, "dataset.samples_per_file", 0.2,
				  "neither steps nor samples are seen: a file "
				  "counts as one") ||
		       fit_reason(f, "dataset.sample_bytes", 0.2,
				  "sizes of the files");
	return fit_sizes_of_files(f, format, d->samples_per_file) ||
	       fit_reason(f, "dataset.samples_per_file", 0.2,
			  "the files cannot be read here; a step counts as one "
			  "sample") ||
	       fit_reason(f, "dataset.sample_bytes", 0.2,
			  "sizes of the files by samples_per_file");
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

	if (f->mapped)
		return fit_pages(f);
	if (may_look(d->format) && find_opens(f))
		return -1;
	if (fit_one_sample(d->format)) {
		d->samples_per_file = 1;
		if (fit_members(f))
			return -1;
		if (f->partial)
			return 0;
		return f->files < f->steps_of_epoch && fit_reopens(f)
			       ? sample_a_visit(f)
			       : sample_a_file(f, format);
	}
	if (d->format == WORKLOAD_RAW || d->format == WORKLOAD_CSV) {
		bool whole, looks = are_looked_at(f);

		if (are_samples(f, &whole))
			return -1;
		if (looks) {
			d->samples_per_file = 1;
			return fit_sizes_of_files(f, NULL, 1) ||
			       fit_reason(f, "dataset.samples_per_file", 0.8,
					  "each file is read whole once in an "
					  "epoch, beside opens that look at "
					  "its start") ||
			       fit_reason(f, "dataset.sample_bytes", 0.95,
					  "sizes of the files");
		}
		if (whole) {
			d->samples_per_file = 1;
			return fit_sizes_of_files(f, NULL, 1) ||
			       fit_reason(
				       f, "dataset.samples_per_file", 0.9,
				       "each batch reads files of its own") ||
			       fit_reason(f, "dataset.sample_bytes", 0.95,
					  "sizes of the files");
		}
	}
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
	if (d->format == WORKLOAD_RAW && fit_records(f))
		return -1;
	if (f->records)
		drop_looks(f);
	if (f->records)
		return 0;
	if (fit_reopens(f))
		return sample_a_visit(f);
	return samples_of_steps(f, format);
}

int fit_samples(struct fit *f)
{
	if (fit_mapped(f) || samples_of_files(f) || say_looks(f) ||
	    (!f->records && !f->mapped && fit_chain(f)))
		return -1;
	/* A chain has all reads of a file in it. */
	if (f->w->access.chain_n) {
		f->w->access.member_opens = 1;
		f->w->access.read_end = true;
	}
	return 0;
}

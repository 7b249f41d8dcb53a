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

#define AT_ONCE_LEAST 0.9 /* of the visits */
#define OTHERS_LEAST 0.01 /* share of the read bytes */

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

/* The suffix of @path, "" without one: that of "zarr/c/0.1" is a number of a chunk. */
static const char *suffix_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

	if (!dot || (slash && dot < slash))
		return "";
	return dot[1 + strspn(dot + 1, "0123456789")] ? dot : "";
}

#define SUFFIXES_MOST 32

/* Bytes that were read of files whose names tell no format, by suffix. */
struct by_suffix {
	char name[16];
	double bytes;
};

static void count_suffix(struct by_suffix *s, const char *path, double bytes)
{
	const char *name = suffix_of(path);

	if (strlen(name) >= sizeof(s->name))
		return;
	for (int i = 0; i < SUFFIXES_MOST; i++, s++)
		if (!strcmp(s->name, name) || s->bytes <= 0) {
			strcpy(s->name, name);
			s->bytes += bytes;
			return;
		}
}

/* Is @path of a suffix of which there is next to nothing, as the zarr.json of chunks and
 * the index.json of shards? */
static bool describes_others(const struct by_suffix *s, const char *path)
{
	double of_path = -1, all = 0;

	for (int i = 0; i < SUFFIXES_MOST; i++) {
		all += s[i].bytes;
		if (s[i].bytes > 0 && !strcmp(s[i].name, suffix_of(path)))
			of_path = s[i].bytes;
	}
	return of_path >= 0 && of_path < OTHERS_LEAST * all;
}

/* --- the files ------------------------------------------------------------ */

/* Files of a data set are read in the loop, or by threads and processes that have
 * none, but for processes of another program, as a compiler. Others are not: those
 * that the thread of a loop reads before it, as weights and indexes, where there are
 * files that are read in it, and those that are opened within restores alone. */
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

/* The classes of the files that were only read come from their names: a folder of
 * data named "ckpt" holds checkpoints. Those of class data are left out here as
 * restores alone open them. Returns -1 with the error. */
static int fail_by_class(struct fit *f)
{
	struct reel_view v;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT sum(n) AS files, count(*) AS classes, "
		    "group_concat(class || iif(classes > 1, ' (' || n || ')', "
		    "''), ', ') AS words FROM (SELECT class, n, count(*) OVER "
		    "() AS classes FROM (SELECT class, count(*) AS n, "
		    "sum(read_bytes) AS bytes FROM v_file WHERE kind = 'file' "
		    "AND class <> 'data' AND read_bytes > 0 AND write_bytes = "
		    "0 GROUP BY class) ORDER BY bytes DESC)",
		    f->err) &&
	    reel_view_next(&v) && reel_view_int(&v, "files") > 0)
		reel_fail(f->err, REEL_E_FORMAT,
			  "no file of the job was read as data: %lld %s read, "
			  "which %s the class%s %s by %s",
			  (long long)reel_view_int(&v, "files"),
			  reel_view_int(&v, "files") > 1 ? "files were"
							 : "file was",
			  reel_view_int(&v, "files") > 1 ? "have" : "has",
			  reel_view_int(&v, "classes") > 1 ? "es" : "",
			  reel_view_text(&v, "words"),
			  reel_view_int(&v, "files") > 1 ? "their names"
							 : "its name");
	reel_view_close(&v);
	return reel_fail(f->err, REEL_E_FORMAT,
			 "no file of the job was read as data");
}

/* No file is the data set: perhaps the job makes it. Returns -1 with the error. */
static int fail_without_data(struct fit *f)
{
	struct reel_view v;
	char *path = NULL;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT path FROM v_file WHERE kind = 'file' AND "
		    "class IN ('data', 'checkpoint') AND read_bytes > 0 "
		    "AND write_bytes > 0 ORDER BY read_bytes DESC, path "
		    "LIMIT 1",
		    f->err) &&
	    reel_view_next(&v))
		path = reel_strdup(reel_view_text(&v, "path"), f->err);
	reel_view_close(&v); /* an earlier failure stays */
	if (path)
		reel_fail(f->err, REEL_E_FORMAT,
			  "no data file of the job was only read: it writes "
			  "'%s' itself; record a run that finds it",
			  path);
	free(path);
	return fail_by_class(f);
}

/* The bytes that evaluations read of each file: by workers of theirs, or within one. */
#define EVALUATED                                                              \
	", eval AS MATERIALIZED (SELECT start_ns, start_ns + dur_ns AS "       \
	"end_ns FROM v_span WHERE name = 'eval' AND closed AND process_id = "  \
	"(SELECT process_id FROM v_span WHERE name = 'step' LIMIT 1)), "       \
	"evaluated AS MATERIALIZED (SELECT e.path, sum(e.bytes) AS bytes "     \
	"FROM v_event e LEFT JOIN process p ON p.process_id = e.process_id "   \
	"AND p.role = 'worker' WHERE EXISTS (SELECT 1 FROM eval) AND class "   \
	"= 'data' AND call_group = 'read' AND bytes > 0 AND (e.process_id IN " \
	"(SELECT worker FROM evaluation_worker) OR EXISTS (SELECT 1 FROM "     \
	"eval v WHERE coalesce(p.start_ns, e.start_ns) >= v.start_ns AND "     \
	"coalesce(p.start_ns, e.start_ns) < v.end_ns)) GROUP BY e.path) "

static int largest(const double *bytes)
{
	int best = -1;

	for (int i = 0; i < WORKLOAD_FORMATS; i++)
		if (bytes[i] > 0 && (best < 0 || bytes[i] > bytes[best]))
			best = i;
	return best;
}

/* Bytes that were read of each format, and of each @suffix: the data set is the largest
 * format, of the training's where it has some. */
static int main_format(struct fit *f, int *format, struct by_suffix *suffix)
{
	double bytes[WORKLOAD_FORMATS] = {0}, trained[WORKLOAD_FORMATS] = {0};
	struct reel_view v;

	if (!reel_view_open(&v, f->st,
			    READ_FILES EVALUATED
			    "SELECT d.path, read_bytes, coalesce(bytes, 0) AS "
			    "evaluated_bytes FROM data d LEFT JOIN evaluated "
			    "USING (path)",
			    f->err))
		while (reel_view_next(&v)) {
			int is = format_by_name(reel_view_text(&v, "path"));
			double read = (double)reel_view_int(&v, "read_bytes");

			bytes[is] += read;
			if (is == WORKLOAD_RAW)
				count_suffix(suffix, reel_view_text(&v, "path"),
					     read);
			trained[is] += read - (double)reel_view_int(
						      &v, "evaluated_bytes");
		}
	*format = largest(trained);
	if (*format < 0)
		*format = largest(bytes);
	if (reel_view_close(&v))
		return -1;
	return *format < 0 ? fail_without_data(f) : 0;
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

static bool is_of(int format, const char *path, const struct by_suffix *suffix)
{
	return format_by_name(path) == format &&
	       (format != WORKLOAD_RAW || !describes_others(suffix, path));
}

int fit_files(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	struct by_suffix suffix[SUFFIXES_MOST] = {0};
	struct workload_job *job = &f->w->job;
	struct reel_view v;
	double bytes, others = 0, all = 0;
	uint32_t room = 0;
	int rc = 0;

	if (main_format(f, &d->format, suffix))
		return -1;
	if (!reel_view_open(&v, f->st,
			    READ_FILES
			    "SELECT file_id, path, size_bytes, opens, reads, "
			    "read_bytes, mapped_bytes FROM data ORDER BY path",
			    f->err))
		while (!rc && reel_view_next(&v)) {
			bytes = (double)reel_view_int(&v, "read_bytes");
			all += bytes;
			if (is_of(d->format, reel_view_text(&v, "path"),
				  suffix)) {
				rc = add_file(f, &v, &room);
				job->read_bytes += (int64_t)bytes;
				job->read_calls += reel_view_int(&v, "reads");
				f->maps |=
					reel_view_int(&v, "mapped_bytes") > 0;
			} else {
				others += bytes;
				f->other_files++;
			}
		}
	f->other_share = all > 0 ? others / all : 0;
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

static int say_files(struct fit *f)
{
	/* A table of names or labels is no part of the data set. */
	if (f->other_share < OTHERS_LEAST)
		return fit_reason(f, "dataset.files", 0.95,
				  "%u data files of this format were read and "
				  "not written",
				  f->files);
	return fit_reason(f, "dataset.files", 0.6,
			  "%u data files of this format were read and not "
			  "written; left out: %u of other formats, %.1f %% of "
			  "the read bytes",
			  f->files, f->other_files, 100 * f->other_share);
}

/* Does the reader of @format seek in a file that is no smaller than its buffers? */
static bool seeks(int format)
{
	return format == WORKLOAD_PARQUET || format == WORKLOAD_HDF5 ||
	       format == WORKLOAD_NPZ || format == WORKLOAD_SAFETENSORS;
}

/* Most visits read a whole file at once, as a job that decodes it in memory. */
static bool reads_at_once(const struct fit *f)
{
	uint32_t whole = 0;

	for (uint32_t i = 0; i < f->visits; i++) {
		const struct fit_visit *v = &f->visit[i];

		whole += v->reads == 1 && v->starts == 1 &&
			 v->bytes > FIT_BUFFER_MOST &&
			 v->bytes == f->file[v->file].size;
	}
	return f->visits && whole >= AT_ONCE_LEAST * f->visits;
}

int fit_file_keys(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	const struct format *format = format_of(d->format);

	d->files = f->files;
	d->folders = count_folders(f);
	if (seeks(d->format) && reads_at_once(f)) {
		d->format = WORKLOAD_RAW;
		return fit_reason(f, "dataset.format", 0.9,
				  "%s by the names of the files, but each is "
				  "read whole by one read, and decoded in "
				  "memory: those of the benchmark have no "
				  "format",
				  format->name) ||
		       say_files(f);
	}
	return fit_reason(f, "dataset.format", d->format ? 0.95 : 0.5,
			  d->format
				  ? "the names of the files that were read "
				    "most"
				  : "the names of the files tell no format") ||
	       say_files(f);
}

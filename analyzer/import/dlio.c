/* SPDX-License-Identifier: MIT */
/*
 * Import the results of the benchmark DLIO: "RANK_output.json" has the seconds of
 * each step, "RANK_per_epoch_stats.json" the times of epochs, blocks, evaluations and
 * checkpoints. Both are needed for the times of a run: without the second its steps
 * follow each other without gaps.
 *
 * A step lasts from the request of its batch to the end of its computation ("proc");
 * it begins with the wait for the batch ("load") and ends with the computation
 * ("compute", which older versions lack: the rest of the step). Between two steps of a
 * block DLIO has no time, so that they are placed one behind the other.
 *
 * Source: statscounter.py and tests/test_data of DLIO.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/source.h"

#include "analyzer/import/common/column_map.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/table.h"

#define FILE_MOST (256 << 20) /* bytes, which Jansson keeps several times */
#define RANK_MOST 10000000
#define SECONDS_MOST 1e9
#define TIME_MOST (INT64_MAX / 4) /* of a run, as the dates of its epochs */
#define OUTPUT "output.json"
#define STATS "per_epoch_stats.json"

/* A file of the job. */
struct result {
	const char *path;
	json_t *doc;
	int32_t rank; /* -1: its name has none */
	bool stats;   /* else an output */
	uint32_t source;
};

struct import {
	struct import_gather *gather;
	struct result *file;
	int files;
	uint64_t bad; /* values that are no time */
	/* The next three are of the rank at hand. */
	uint32_t thread;
	int64_t now_ns;
	int64_t step; /* of the epoch, from 1 */
};

/* --- files ---------------------------------------------------------------- */

/* Bytes of a file for Jansson. */
struct feed {
	struct reel_source *source;
	struct reel_error *err;
	uint64_t bytes;
};

static size_t feed_json(void *to, size_t n, void *arg)
{
	struct feed *f = arg;
	int64_t got = f->bytes < FILE_MOST
			      ? reel_source_read(f->source, to, n, f->err)
			      : 0;

	if (got > 0)
		f->bytes += (uint64_t)got;
	return got < 0 ? (size_t)-1 : (size_t)got;
}

static int read_json(const char *path, json_t **doc, struct reel_error *err)
{
	struct feed f = {.err = err};
	json_error_t why;

	if (reel_source_open(&f.source, path, err))
		return -1;
	*doc = json_load_callback(feed_json, &f, JSON_REJECT_DUPLICATES, &why);
	reel_source_close(f.source);
	if (*doc && json_is_object(*doc))
		return 0;
	if (err->code)
		return -1;
	if (f.bytes >= FILE_MOST)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', byte %d: longer than results of DLIO "
				 "are",
				 path, FILE_MOST);
	return reel_fail(err, REEL_E_FORMAT, "'%s', byte %d: %s", path,
			 *doc ? 0 : why.position,
			 *doc ? "no object, as results of DLIO are" : why.text);
}

/* "3_output.json": 3; -1 without a number. */
static int32_t rank_of(const char *path)
{
	const char *slash = strrchr(path, '/'),
		   *name = slash ? slash + 1 : path;
	char *end;
	long rank = *name >= '0' && *name <= '9' ? strtol(name, &end, 10) : -1;

	return rank >= 0 && rank < RANK_MOST && *end == '_' ? (int32_t)rank
							    : -1;
}

static bool is_epoch(const char *key)
{
	return *key && strspn(key, "0123456789") == strlen(key);
}

/* An output has lists of seconds in its epochs, the other file times of day. */
static bool is_stats(const json_t *doc)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)doc, key, value)
	{
		if (is_epoch(key) && json_object_get(value, "load"))
			return false;
	}
	return true;
}

static int read_file(struct import *im, const char *path, uint32_t source,
		     struct reel_error *err)
{
	struct result *r = &im->file[im->files];

	*r = (struct result){.path = path, .source = source};
	if (read_json(path, &r->doc, err)) {
		json_decref(r->doc);
		return -1;
	}
	im->files++;
	r->rank = rank_of(path);
	r->stats = is_stats(r->doc);
	return 0;
}

/* The times of the blocks of @rank; older versions have one file for all. */
static const json_t *stats_of(const struct import *im, int32_t rank)
{
	const json_t *any = NULL;

	for (int i = 0; i < im->files; i++) {
		const struct result *r = &im->file[i];

		if (r->stats && r->rank == rank)
			return r->doc;
		if (r->stats && !any)
			any = r->doc;
	}
	return any;
}

/* --- values --------------------------------------------------------------- */

/* The ns of @seconds; -1: it is no time. */
static int64_t ns_of(struct import *im, const json_t *seconds)
{
	double s = json_number_value(seconds);

	if (json_is_number(seconds) && s >= 0 && s < SECONDS_MOST)
		return llround(s * 1e9);
	im->bad++;
	return -1;
}

/* The time of day in @times; -1 without. Its zone is not known: it serves for
 * distances. */
static int64_t time_of(const json_t *times, const char *key)
{
	const char *text = json_string_value(json_object_get(times, key));
	int64_t ns;

	return text && import_date_ns(text, &ns) && ns >= 0 ? ns : -1;
}

static int add_span(struct import *im, enum reel_span kind, int64_t start_ns,
		    int64_t end_ns, int64_t detail, struct reel_error *err)
{
	struct reel_span_event sp = {.start_ns = start_ns,
				     .dur_ns = end_ns - start_ns,
				     .thread = im->thread,
				     .kind = kind,
				     .detail = detail};

	return end_ns < start_ns ? 0
				 : gather_span(im->gather, &sp,
					       reel_span_name(kind), err);
}

/* --- an epoch ------------------------------------------------------------- */

/* Step @i of a block, or of an evaluation, from im->now_ns on. */
static int add_step(struct import *im, const json_t *epoch, const char *block,
		    size_t i, bool evaluates, struct reel_error *err)
{
	const json_t *load =
		json_object_get(json_object_get(epoch, "load"), block);
	const json_t *compute =
		json_object_get(json_object_get(epoch, "compute"), block);
	const json_t *proc =
		json_object_get(json_object_get(epoch, "proc"), block);
	int64_t start_ns = im->now_ns, end_ns, fetch_ns = -1, compute_ns = -1;

	end_ns = ns_of(im, json_array_get(proc, i));
	if (end_ns < 0)
		return 0;
	if (end_ns > TIME_MOST - start_ns) {
		im->bad++;
		return 0;
	}
	if (i < json_array_size(load))
		fetch_ns = ns_of(im, json_array_get(load, i));
	if (fetch_ns > end_ns)
		fetch_ns = -1;
	if (i < json_array_size(compute))
		compute_ns = ns_of(im, json_array_get(compute, i));
	else if (fetch_ns >= 0)
		compute_ns = end_ns - fetch_ns;
	if (fetch_ns >= 0 && compute_ns > end_ns - fetch_ns)
		compute_ns = end_ns - fetch_ns;
	im->now_ns = end_ns += start_ns;
	im->step += !evaluates;
	if (!evaluates &&
	    add_span(im, REEL_SPAN_STEP, start_ns, end_ns, im->step, err))
		return -1;
	if (fetch_ns >= 0 && add_span(im, REEL_SPAN_FETCH, start_ns,
				      start_ns + fetch_ns, -1, err))
		return -1;
	return compute_ns < 0 || compute_ns > end_ns - start_ns
		       ? 0
		       : add_span(im, REEL_SPAN_COMPUTE, end_ns - compute_ns,
				  end_ns, -1, err);
}

/* The steps of @block, which begins as @times say, or behind the one before. */
static int add_block(struct import *im, const json_t *epoch, const char *block,
		     const json_t *times, struct reel_error *err)
{
	bool evaluates = !strcmp(block, "eval");
	size_t steps = json_array_size(
		json_object_get(json_object_get(epoch, "proc"), block));
	int64_t start_ns = time_of(times, "start"), end_ns;

	if (start_ns > im->now_ns)
		im->now_ns = start_ns;
	start_ns = im->now_ns;
	for (size_t i = 0; i < steps; i++)
		if (add_step(im, epoch, block, i, evaluates, err))
			return -1;
	end_ns = time_of(times, "end");
	if (end_ns < im->now_ns)
		end_ns = im->now_ns;
	return evaluates
		       ? add_span(im, REEL_SPAN_EVAL, start_ns, end_ns, -1, err)
		       : 0;
}

static int add_checkpoints(struct import *im, const json_t *times,
			   struct reel_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)times, key, value)
	{
		int64_t start_ns = time_of(value, "start");
		int64_t end_ns = time_of(value, "end");

		if (!strncmp(key, "save_ckpt", 9) && start_ns >= 0 &&
		    add_span(im, REEL_SPAN_CHECKPOINT, start_ns, end_ns, -1,
			     err))
			return -1;
	}
	return 0;
}

static int add_epoch(struct import *im, const char *number, const json_t *epoch,
		     const json_t *times, struct reel_error *err)
{
	int64_t start_ns = time_of(times, "start"), end_ns;
	const char *block;
	json_t *steps;

	if (start_ns > im->now_ns)
		im->now_ns = start_ns;
	start_ns = im->now_ns;
	im->step = 0;
	json_object_foreach(json_object_get(epoch, "proc"), block, steps)
	{
		if (add_block(im, epoch, block, json_object_get(times, block),
			      err))
			return -1;
	}
	end_ns = time_of(times, "end");
	if (end_ns < im->now_ns)
		end_ns = im->now_ns;
	im->now_ns = end_ns;
	if (end_ns == start_ns)
		return 0;
	return add_checkpoints(im, times, err) ||
			       add_span(im, REEL_SPAN_EPOCH, start_ns, end_ns,
					strtoll(number, NULL, 10), err)
		       ? -1
		       : 0;
}

/* --- a job ---------------------------------------------------------------- */

static int add_rank(struct import *im, const struct result *r, int32_t rank,
		    struct reel_error *err)
{
	const char *host =
		json_string_value(json_object_get(r->doc, "hostname"));
	const json_t *stats = stats_of(im, rank);
	uint32_t process;
	const char *key;
	json_t *epoch;

	if (gather_source(im->gather, r->source, err))
		return -1;
	process = gather_process(im->gather, (uint64_t)rank, err);
	if (!process)
		return -1;
	gather_process_row(im->gather, process)->rank = rank;
	if (host && *host) {
		uint32_t id = gather_host(im->gather, host, err);

		if (!id)
			return -1;
		gather_process_row(im->gather, process)->host_id = id;
	}
	im->thread = gather_thread(im->gather, process, 0, err);
	if (!im->thread)
		return -1;
	im->now_ns = 0;
	json_object_foreach(r->doc, key, epoch)
	{
		if (is_epoch(key) &&
		    add_epoch(im, key, epoch, json_object_get(stats, key), err))
			return -1;
	}
	return 0;
}

static int add_ranks(struct import *im, struct reel_writer_run *run,
		     struct reel_error *err)
{
	int32_t next = 0;

	for (int i = 0; i < im->files; i++) {
		const struct result *r = &im->file[i];
		int32_t rank = r->rank < 0 ? next : r->rank;

		if (r->stats)
			continue;
		next = rank + 1;
		if (next > run->ranks)
			run->ranks = next;
		if (add_rank(im, r, rank, err))
			return -1;
	}
	return next ? 0
		    : reel_fail(err, REEL_E_FORMAT,
				"'%s', byte 0: no step of DLIO, as "
				"RANK_" OUTPUT " has them",
				im->file[0].path);
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {0};
	char name[256];
	struct reel_writer_run run = import_run_unknown();
	int rc = gather_new(&im.gather, w, err);

	im.file = rc ? NULL
		     : reel_alloc((size_t)in->paths + 1, sizeof(*im.file), err);
	rc = im.file ? 0 : -1;
	run.name = import_run_name(in->name, NULL, name);
	run.command = "dlio_benchmark";
	for (int i = 0; !rc && i < in->paths; i++)
		rc = read_file(&im, in->path[i], (uint32_t)i + 1, err);
	rc = rc || add_ranks(&im, &run, err);
	if (!rc && im.bad)
		rc = reel_writer_loss(w, 0, "not_understood", "values", im.bad,
				      err);
	run.lost = (int64_t)im.bad;
	rc = rc || gather_finish(im.gather, &run, err);
	for (int i = 0; i < im.files; i++)
		json_decref(im.file[i].doc);
	free(im.file);
	gather_free(im.gather);
	return rc ? -1 : 0;
}

/* Both kinds of file have blocks: lists of seconds, or times of day. */
static bool detect(const char *bytes, size_t n)
{
	static const char block[] = "\"block1\": ", load_[] = "\"load\": {",
			  start[] = "\"start\": \"";
	const char *at = memmem(bytes, n, block, sizeof(block) - 1);

	if (!at || *bytes != '{' || at + sizeof(block) > bytes + n)
		return false;
	return at[sizeof(block) - 1] == '['
		       ? memmem(bytes, n, load_, sizeof(load_) - 1)
		       : memmem(bytes, n, start, sizeof(start) - 1);
}

const struct reel_importer reel_importer_dlio = {
	.name = "dlio",
	.about = "results of the benchmark DLIO, RANK_" OUTPUT " and "
		 "RANK_" STATS ": a folder of them",
	.missing = {"files", "calls", "bytes", "gaps between steps",
		    "the zone of its times", NULL},
	.detect = detect,
	.load = load,
};

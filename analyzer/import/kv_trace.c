/* SPDX-License-Identifier: MIT */
/*
 * Import the trace of MLPerf Storage's KV cache benchmark (--io-trace-log),
 * CSV, usually compressed by Zstandard.
 *
 * An object is a file TIER/KEY, and an operation reads or writes all of it,
 * from offset 0: the benchmark moves whole objects. All tiers are loaded, also
 * those in memory, as the folder in a path tells them apart. The benchmark
 * only decides operations while it traces, and executes none: there are no
 * durations. Phases are counters: v_counter has each tier (module) and phase
 * (record).
 *
 * Source: kv_cache/tracer.py of mlcommons/storage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/import/common/csv_rows.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/table.h"

#define HEADER "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
#define TIME_MOST (INT64_MAX / 4)
#define GROUPS_MOST 64 /* tiers and phases; more are not counted */

enum { TIME, OPERATION, SIZE, TIER, KEY, PHASE, COLUMNS };

/* Operations of a phase on a tier. */
struct group {
	uint32_t source;
	char tier[64], phase[64];
	int64_t calls[2], bytes[2]; /* reads, writes */
};

struct import {
	struct import_gather *gather;
	struct reel_buf path;
	struct group group[GROUPS_MOST];
	unsigned int groups;
	uint32_t thread, source;
	int64_t first_ns;
	uint64_t events, bad, first_bad; /* of the file: bad ones */
	uint64_t all_bad;
};

static struct group *find_group(struct import *im, const char *tier,
				const char *phase)
{
	struct group *g;

	for (unsigned int i = 0; i < im->groups; i++) {
		g = &im->group[i];
		if (g->source == im->source &&
		    !strncmp(g->tier, tier, sizeof(g->tier) - 1) &&
		    !strncmp(g->phase, phase, sizeof(g->phase) - 1))
			return g;
	}
	if (im->groups == GROUPS_MOST)
		return NULL;
	g = &im->group[im->groups++];
	*g = (struct group){.source = im->source};
	snprintf(g->tier, sizeof(g->tier), "%s", tier);
	snprintf(g->phase, sizeof(g->phase), "%s", phase);
	return g;
}

static int put_event(struct import *im, const struct import_cell *cell,
		     int64_t time_ns, int64_t size, bool write,
		     struct reel_error *err)
{
	struct reel_event ev = {.fd = -1,
				.fd2 = -1,
				.call = write ? REEL_CALL_PWRITE
					      : REEL_CALL_PREAD,
				.thread = im->thread,
				.start_ns = time_ns,
				.asked = size,
				.result = size,
				.pos = REEL_NO_OFFSET};
	struct group *g = find_group(im, cell[TIER].s, cell[PHASE].s);

	if (g) {
		g->calls[write]++;
		if (__builtin_add_overflow(g->bytes[write], size,
					   &g->bytes[write]))
			g->bytes[write] = INT64_MAX;
	}
	reel_buf_reset(&im->path);
	if (reel_buf_printf(&im->path, err, "%s/%s", cell[TIER].s, cell[KEY].s))
		return -1;
	/* An operation without a key is of no file. */
	if (cell[KEY].len) {
		ev.file = gather_file(im->gather, reel_buf_text(&im->path),
				      im->path.len, REEL_KIND_FILE, err);
		if (!ev.file)
			return -1;
	}
	if (time_ns < im->first_ns)
		im->first_ns = time_ns;
	im->events++;
	return gather_event(im->gather, &ev, err);
}

static int read_row(struct import *im, const struct import_cell *cell,
		    unsigned int cells, uint64_t line, struct reel_error *err)
{
	int64_t time_ns, size;
	bool write = cells == COLUMNS && !strcmp(cell[OPERATION].s, "Write");

	if (cells != COLUMNS || (!write && strcmp(cell[OPERATION].s, "Read")) ||
	    !import_cell_decimal(&cell[TIME], 9, &time_ns) || time_ns < 0 ||
	    time_ns > TIME_MOST ||
	    !import_cell_decimal(&cell[SIZE], 0, &size) || size < 0) {
		if (!im->bad++)
			im->first_bad = line;
		return 0;
	}
	return put_event(im, cell, time_ns, size, write, err);
}

static bool is_header(const struct import_cell *cell, unsigned int cells)
{
	return cells == COLUMNS && !strcmp(cell[TIME].s, "Timestamp") &&
	       !strcmp(cell[OPERATION].s, "Operation") &&
	       !strcmp(cell[SIZE].s, "Object_Size_Bytes") &&
	       !strcmp(cell[TIER].s, "Tier") && !strcmp(cell[KEY].s, "Key") &&
	       !strcmp(cell[PHASE].s, "Phase");
}

static int read_rows(struct import *im, struct import_csv *csv,
		     const char *path, struct reel_error *err)
{
	const struct import_cell *cell;
	unsigned int cells;
	int rc = import_csv_next(csv, &cell, &cells, err);

	if (rc < 0)
		return -1;
	if (!rc || !is_header(cell, cells))
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line 1: not the header of a KV cache "
				 "trace",
				 path);
	while ((rc = import_csv_next(csv, &cell, &cells, err)) > 0)
		if (read_row(im, cell, cells, import_csv_line(csv), err))
			return -1;
	im->bad += import_csv_skipped(csv);
	im->all_bad += im->bad;
	if (!rc && im->bad > im->events)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line %llu: no operation of a KV cache",
				 path, (unsigned long long)im->first_bad);
	return rc;
}

/* Each file is of a process. */
static int read_file(struct import *im, const char *path, uint32_t source,
		     struct reel_error *err)
{
	struct import_csv *csv = NULL;
	uint32_t process;
	int rc;

	if (gather_source(im->gather, source, err))
		return -1;
	process = gather_process(im->gather, source, err);
	im->source = source;
	im->bad = im->first_bad = 0;
	im->thread = process ? gather_thread(im->gather, process, 0, err) : 0;
	rc = !im->thread || import_csv_open(&csv, path, err);
	rc = rc || read_rows(im, csv, path, err);
	import_csv_close(csv);
	return rc ? -1 : 0;
}

static int put_counters(const struct import *im, struct reel_writer *w,
			struct reel_error *err)
{
	static const char *const names[2][2] = {{"READS", "BYTES_READ"},
						{"WRITES", "BYTES_WRITTEN"}};

	for (unsigned int i = 0; i < im->groups; i++) {
		const struct group *g = &im->group[i];
		struct reel_writer_record row = {.record_id = i + 1,
						 .source_id = g->source,
						 .module = g->tier,
						 .record = g->phase,
						 .rank = REEL_NO_OFFSET};

		if (reel_writer_record(w, &row, err))
			return -1;
		for (int op = 0; op < 2; op++) {
			struct reel_writer_number calls = {
				.integer = g->calls[op]};
			struct reel_writer_number bytes = {
				.integer = g->bytes[op]};

			if (reel_writer_value(w, i + 1, names[op][0], &calls,
					      err) ||
			    reel_writer_value(w, i + 1, names[op][1], &bytes,
					      err))
				return -1;
		}
	}
	return 0;
}

static int put_losses(const struct import *im, struct reel_writer *w,
		      struct reel_error *err)
{
	return (im->all_bad && reel_writer_loss(w, 0, "not_understood", "lines",
						im->all_bad, err)) ||
			       (im->events &&
				reel_writer_loss(w, 0, "no_duration", "calls",
						 im->events, err))
		       ? -1
		       : 0;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	char name[256];
	struct reel_writer_run run = import_run_unknown();
	struct import *im = reel_alloc(1, sizeof(*im), err);
	int rc = !im || gather_new(&im->gather, w, err);

	run.name = import_run_name(in->name, NULL, name);
	if (!rc)
		im->first_ns = INT64_MAX;
	for (int i = 0; !rc && i < in->paths; i++)
		rc = read_file(im, in->path[i], (uint32_t)i + 1, err);
	if (!rc) {
		run.lost = (int64_t)im->all_bad;
		run.start_real_ns = im->events ? im->first_ns : 0;
		rc = put_counters(im, w, err) || put_losses(im, w, err) ||
		     gather_finish(im->gather, &run, err);
	}
	if (im) {
		reel_buf_fini(&im->path);
		gather_free(im->gather);
	}
	free(im);
	return rc ? -1 : 0;
}

static bool detect(const char *bytes, size_t n)
{
	for (; n && (*bytes == '\n' || *bytes == '\r'); n--)
		bytes++;
	return n >= strlen(HEADER) && !memcmp(bytes, HEADER, strlen(HEADER));
}

const struct reel_importer reel_importer_kv_trace = {
	.name = "kv-trace",
	.about = "traces of MLPerf Storage's KV cache benchmark (CSV, also "
		 "compressed)",
	.missing = {"durations", "results", "threads and users",
		    "parts of an object", NULL},
	.partial = true,
	.detect = detect,
	.load = load,
};

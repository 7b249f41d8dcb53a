/* SPDX-License-Identifier: MIT */
/* Import Darshan's logs: counters as they are, DXT's segments as events. */
#include <stdio.h>

#include "lib/error.h"

#include "analyzer/import/darshan/darshan_log.h"
#include "analyzer/import/darshan/darshan_rows.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/table.h"

struct import {
	struct darshan_log *log;
	struct darshan_rows rows;
	/* The record of the counter before: NULL at the begin of a log. */
	uint64_t id;
	const char *path;
};

static int put_counter(void *arg, const struct darshan_counter *c,
		       struct reel_error *err)
{
	struct import *im = arg;
	struct reel_writer_number value = {
		.is_real = c->type == DARSHAN_REAL,
		.integer = c->integer,
		.real = c->real,
		.text = c->type == DARSHAN_TEXT ? c->text : NULL};
	struct darshan_record record = {.module =
						darshan_module_name(c->module),
					.record = c->record,
					.rank = c->rank};

	if (!im->path || c->record != im->id)
		im->path = darshan_log_path(im->log, c->record);
	im->id = c->record;
	record.path = c->object ? c->object : im->path;
	return darshan_rows_counter(&im->rows, &record, c->name, &value, err);
}

static int begin_dxt(void *arg, const struct darshan_dxt *dxt,
		     struct reel_error *err)
{
	struct import *im = arg;

	return darshan_rows_dxt(&im->rows, dxt,
				darshan_log_path(im->log, dxt->record), err);
}

static int put_segment(void *arg, const struct darshan_segment *s,
		       struct reel_error *err)
{
	struct import *im = arg;

	return darshan_rows_segment(&im->rows, s, err);
}

/* A module whose records are not read. */
static int leave_out(struct import *im, unsigned int module,
		     struct reel_error *err)
{
	char name[32];

	snprintf(name, sizeof(name), "module %u", module);
	return reel_writer_loss(
		im->rows.writer, 0,
		module < DARSHAN_MODULES ? darshan_module_name(module) : name,
		"modules", 1, err);
}

static int put_modules(struct import *im, struct reel_error *err)
{
	for (unsigned int m = 1; m < DARSHAN_MODULES_MOST; m++) {
		unsigned int version;
		int rc;

		if (!darshan_log_has(im->log, m, &version))
			continue;
		if (!darshan_log_reads(m, version))
			rc = leave_out(im, m, err);
		else if (m == DARSHAN_DXT_POSIX || m == DARSHAN_DXT_MPIIO)
			rc = darshan_log_segments(im->log, m, begin_dxt,
						  put_segment, im, err);
		else
			rc = darshan_log_counters(im->log, m, put_counter, im,
						  err);
		if (rc || (darshan_log_partial(im->log, m) &&
			   darshan_rows_partial(&im->rows,
						darshan_module_name(m), err)))
			return -1;
	}
	return 0;
}

/* The log @path of the job, which is source @source. */
static int read_log(struct import *im, const char *path, uint32_t source,
		    struct reel_error *err)
{
	int rc = darshan_log_open(&im->log, path, err);

	rc = rc ||
	     darshan_rows_log(&im->rows, source, source,
			      darshan_log_job(im->log), err) ||
	     put_modules(im, err) || darshan_rows_end(&im->rows, err);
	darshan_log_close(im->log);
	im->log = NULL;
	im->path = NULL;
	return rc;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {0};
	int rc = darshan_rows_init(&im.rows, w, err);

	for (int i = 0; !rc && i < in->paths; i++)
		rc = read_log(&im, in->path[i], (uint32_t)i + 1, err);
	if (!rc)
		rc = darshan_rows_finish(&im.rows, err);
	darshan_rows_fini(&im.rows);
	return rc ? -1 : 0;
}

static bool detect(const char *bytes, size_t n)
{
	return darshan_log_detect(bytes, n);
}

const struct reel_importer reel_importer_darshan = {
	.name = "darshan",
	.about = "Darshan logs of formats 3.00 to 3.41, several of one job",
	.missing = {"single calls outside DXT", "the call of a DXT segment",
		    "events of mapped files", NULL},
	.detect = detect,
	.load = load,
};

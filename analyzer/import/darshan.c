/* SPDX-License-Identifier: MIT */
/*
 * Import Darshan's logs: counters as they are, DXT's segments as events.
 *
 * A segment does not say which call it was: POSIX segments become read and write,
 * those of MPI-IO MPI_File_read_at and MPI_File_write_at. Only calls that moved
 * data, or tried to, have segments.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/import/darshan_log.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/import.h"
#include "analyzer/import/table.h"

struct import {
	struct darshan_log *log;
	struct reel_writer *writer;
	struct import_gather *gather;
	uint32_t source;
	/* The record of the counter before. */
	uint32_t record;
	unsigned int module;
	uint64_t id;
	int64_t rank;
	/* The record of the segments at hand. */
	struct darshan_dxt dxt;
	int64_t start_ns, end_ns; /* of all logs, CLOCK_REALTIME */
	char host[65];		  /* the first of DXT */
	uint32_t process, file;
};

static const char *path_of(const struct import *im, uint64_t record)
{
	return darshan_log_path(im->log, record);
}

/* The process of @rank, with its row. */
static uint32_t process_of(struct import *im, int64_t rank, const char *host,
			   struct reel_error *err)
{
	uint32_t id = gather_process(
		im->gather, (uint64_t)im->source << 32 ^ (uint64_t)rank, err);
	struct reel_writer_process *row;

	if (!id)
		return 0;
	row = gather_process_row(im->gather, id);
	row->rank = rank >= 0 && rank < INT32_MAX ? (int)rank : -1;
	row->command =
		gather_keep(im->gather, darshan_log_job(im->log)->exe, err);
	if (!row->command)
		return 0;
	if (host && *host && !row->host_id) {
		row->host_id = gather_host(im->gather, host, err);
		if (!row->host_id)
			return 0;
	}
	return id;
}

static int put_counter(void *arg, const struct darshan_counter *c,
		       struct reel_error *err)
{
	struct import *im = arg;
	struct reel_writer_number value = {
		.is_real = c->type == DARSHAN_REAL,
		.integer = c->integer,
		.real = c->real,
		.text = c->type == DARSHAN_TEXT ? c->text : NULL};

	if (!im->record || c->module != im->module || c->record != im->id ||
	    c->rank != im->rank) {
		char id[24];
		struct reel_writer_record row = {
			.record_id = ++im->record,
			.source_id = im->source,
			.module = darshan_module_name(c->module),
			.record = id,
			.rank = c->rank,
			.path = path_of(im, c->record)};

		snprintf(id, sizeof(id), "%" PRIu64, c->record);
		im->module = c->module;
		im->id = c->record;
		im->rank = c->rank;
		/* A shared record (rank -1) is of no process. */
		if ((c->rank >= 0 && !process_of(im, c->rank, NULL, err)) ||
		    reel_writer_record(im->writer, &row, err))
			return -1;
	}
	return reel_writer_value(im->writer, im->record, c->name, &value, err);
}

static int begin_dxt(void *arg, const struct darshan_dxt *dxt,
		     struct reel_error *err)
{
	struct import *im = arg;
	const char *path = path_of(im, dxt->record);
	char id[40];

	im->dxt = *dxt;
	if (!im->host[0])
		memcpy(im->host, dxt->host, sizeof(im->host));
	if (!path) {
		snprintf(id, sizeof(id), "darshan:%" PRIu64, dxt->record);
		path = id;
	}
	im->process = process_of(im, dxt->rank, dxt->host, err);
	im->file = gather_file(im->gather, path, strlen(path), REEL_KIND_FILE,
			       err);
	return im->process && im->file ? 0 : -1;
}

/* Seconds of the job as ns of the wall clock; damage gives a time in its range. */
static int64_t time_ns(const struct import *im, double seconds)
{
	if (!(seconds > -1e9 && seconds < 1e9))
		seconds = 0;
	return darshan_log_job(im->log)->start_ns + llround(seconds * 1e9);
}

static int put_segment(void *arg, const struct darshan_segment *s,
		       struct reel_error *err)
{
	struct import *im = arg;
	bool mpi = im->dxt.module == DARSHAN_DXT_MPIIO;
	struct reel_event ev = {
		.fd = -1,
		.fd2 = -1,
		.file = im->file,
		.call = mpi	   ? s->write ? REEL_CALL_MPI_FILE_WRITE_AT
					      : REEL_CALL_MPI_FILE_READ_AT
			: s->write ? REEL_CALL_WRITE
				   : REEL_CALL_READ,
		.start_ns = time_ns(im, s->start),
		.offset = s->offset < 0 ? REEL_NO_OFFSET : s->offset,
		.asked = s->length < 0 ? 0 : s->length,
		.result = s->length,
		.pos = REEL_NO_OFFSET};

	ev.dur_ns = time_ns(im, s->end) - ev.start_ns;
	if (ev.dur_ns < 0)
		ev.dur_ns = 0;
	ev.thread =
		gather_thread(im->gather, im->process, (int64_t)s->thread, err);
	return ev.thread ? gather_event(im->gather, &ev, err) : -1;
}

/* Records that the job had no memory for are a loss of unknown size. */
static int put_partial(struct import *im, unsigned int module,
		       struct reel_error *err)
{
	char reason[64];

	if (!darshan_log_partial(im->log, module))
		return 0;
	snprintf(reason, sizeof(reason), "darshan %s: records left out",
		 darshan_module_name(module));
	return reel_writer_loss(im->writer, 0, reason, "modules", 1, err);
}

static int put_modules(struct import *im, struct reel_error *err)
{
	for (unsigned int m = 1; m < DARSHAN_MODULES; m++) {
		unsigned int version;
		int rc;

		if (!darshan_log_has(im->log, m, &version))
			continue;
		if (m == DARSHAN_DXT_POSIX || m == DARSHAN_DXT_MPIIO)
			rc = darshan_log_segments(im->log, m, begin_dxt,
						  put_segment, im, err);
		else if (m == DARSHAN_MDHIM || m == DARSHAN_APXC ||
			 m == DARSHAN_APMPI || m > DARSHAN_HEATMAP)
			rc = reel_writer_loss(im->writer, 0,
					      darshan_module_name(m), "modules",
					      1, err);
		else
			rc = darshan_log_counters(im->log, m, put_counter, im,
						  err);
		if (rc || put_partial(im, m, err))
			return -1;
	}
	return 0;
}

static const char *base_of(const char *command, char out[static 256])
{
	size_t n = strcspn(command, " ");
	const char *slash = memrchr(command, '/', n);
	const char *base = slash ? slash + 1 : command;

	n -= (size_t)(base - command);
	snprintf(out, 256, "%.*s", (int)(n < 255 ? n : 255), base);
	return *out ? out : "darshan";
}

/* One log of the job; @first: the run is named after it. */
static int read_log(struct import *im, const char *path,
		    struct reel_writer_run *run, struct reel_error *err)
{
	const struct darshan_job *job;

	if (gather_source(im->gather, im->source, err) ||
	    darshan_log_open(&im->log, path, err))
		return -1;
	job = darshan_log_job(im->log);
	gather_origin(im->gather, job->start_ns);
	if (put_modules(im, err))
		return -1;
	/* A log without records is of a job all the same. */
	if (!gather_processes(im->gather) && !process_of(im, -1, NULL, err))
		return -1;
	if (job->end_ns > im->end_ns)
		im->end_ns = job->end_ns;
	if (im->source == 1 || job->start_ns < im->start_ns)
		im->start_ns = job->start_ns;
	if (job->nprocs > run->ranks)
		run->ranks = job->nprocs;
	/* The clock of the segments starts with their process, that of the job
	 * with its first. */
	if (job->whole_seconds)
		run->clock_error_ns = 1000000000;
	return 0;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {.writer = w};
	struct reel_writer_run run = {.job_json = "{}",
				      .clock_error_ns = REEL_NO_OFFSET,
				      .exit_status = REEL_NO_OFFSET,
				      .exit_signal = REEL_NO_OFFSET};
	char *command = NULL, name[256];
	int rc = gather_new(&im.gather, w, err);

	while (!rc && im.source < (uint32_t)in->paths) {
		rc = read_log(&im, in->path[im.source++], &run, err);
		if (!rc && !command)
			command =
				reel_strdup(darshan_log_job(im.log)->exe, err);
		darshan_log_close(im.log);
		im.log = NULL;
		rc = rc || !command;
	}
	if (!rc && command) {
		run.name = base_of(command, name);
		run.command = command;
		run.host = im.host[0] ? im.host : NULL;
		run.start_real_ns = im.start_ns;
		run.wall_ns = im.end_ns - im.start_ns;
		rc = gather_finish(im.gather, &run, err);
	}
	gather_free(im.gather);
	free(command);
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

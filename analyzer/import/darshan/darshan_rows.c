/* SPDX-License-Identifier: MIT */
/*
 * The job, the counters and the segments of DXT into the store.
 *
 * A segment does not say which call it was: POSIX segments become read and
 * write, those of MPI-IO MPI_File_read_at and MPI_File_write_at. Only calls
 * that moved data, or tried to, have segments.
 */
#include "analyzer/import/darshan/darshan_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/importer.h"

int darshan_rows_init(struct darshan_rows *r, struct reel_writer *w,
		      struct reel_error *err)
{
	*r = (struct darshan_rows){.writer = w,
				   .run = {.job_json = "{}",
					   .exit_status = REEL_NO_OFFSET,
					   .exit_signal = REEL_NO_OFFSET}};
	r->run.clock_error_ns = REEL_NO_OFFSET;
	return gather_new(&r->gather, w, err);
}

void darshan_rows_fini(struct darshan_rows *r)
{
	gather_free(r->gather);
	free(r->command);
	reel_intmap_fini(&r->jobs);
}

/* Is @job another one than that of the logs before? Without a scheduler each process has
 * a job id of its own: logs of other ids are far apart in time, too. */
static bool is_other_job(const struct darshan_rows *r,
			 const struct darshan_job *job)
{
	int64_t after_ns = job->start_ns - r->end_ns;
	int64_t before_ns = r->start_ns - job->end_ns;
	int64_t gap_ns = after_ns > before_ns ? after_ns : before_ns;

	return r->command && job->job_id != r->job_id &&
	       gap_ns > IMPORT_RUN_GAP_NS &&
	       gap_ns / 2 > (r->end_ns - r->start_ns) / 2 +
				    (job->end_ns - job->start_ns) / 2;
}

int darshan_rows_log(struct darshan_rows *r, uint32_t source, uint32_t log,
		     const struct darshan_job *job, struct reel_error *err)
{
	if (is_other_job(r, job))
		return reel_fail(err, REEL_E_FORMAT,
				 "the logs are of different jobs, %lld and "
				 "%lld, far apart in time: import each alone",
				 (long long)r->job_id, (long long)job->job_id);
	if (!r->command)
		r->job_id = job->job_id;
	if (gather_source(r->gather, source, err) ||
	    reel_intmap_get(&r->jobs, (uint64_t)job->job_id, err) ==
		    REEL_NO_INDEX)
		return -1;
	r->source = source;
	r->log = log;
	r->exe = job->exe;
	r->origin_ns = job->start_ns;
	r->same_log = false;
	gather_origin(r->gather, job->start_ns);
	if (job->end_ns > r->end_ns)
		r->end_ns = job->end_ns;
	if (!r->command || job->start_ns < r->start_ns)
		r->start_ns = job->start_ns;
	if (job->nprocs > r->run.ranks)
		r->run.ranks = job->nprocs;
	/* The clock of the segments starts with their process, that of the job
	 * with its first. */
	if (job->whole_seconds)
		r->run.clock_error_ns = 1000000000;
	if (!r->command)
		r->command = reel_strdup(job->exe, err);
	return r->command ? 0 : -1;
}

/* The process of @rank, with its row. */
static uint32_t process_of(struct darshan_rows *r, int64_t rank,
			   const char *host, struct reel_error *err)
{
	uint32_t id = gather_process(
		r->gather, (uint64_t)r->log << 32 ^ (uint64_t)rank, err);
	struct reel_writer_process *row;

	if (!id)
		return 0;
	row = gather_process_row(r->gather, id);
	row->rank = rank >= 0 && rank < INT32_MAX ? (int)rank : -1;
	row->command = gather_keep(r->gather, r->exe, err);
	if (!row->command)
		return 0;
	if (host && *host && !row->host_id) {
		row->host_id = gather_host(r->gather, host, err);
		if (!row->host_id)
			return 0;
	}
	return id;
}

/* Begin the record of the counters to come. */
static int put_record(struct darshan_rows *r,
		      const struct darshan_record *record,
		      struct reel_error *err)
{
	char id[24];
	struct reel_writer_record row = {.record_id = ++r->record,
					 .source_id = r->source,
					 .module = record->module,
					 .record = id,
					 .rank = record->rank,
					 .path = record->path};

	snprintf(id, sizeof(id), "%" PRIu64, record->record);
	snprintf(r->module, sizeof(r->module), "%s", record->module);
	r->id = record->record;
	r->rank = record->rank;
	r->same_log = true;
	/* A shared record (rank -1) is of no process. */
	if (record->rank >= 0 && !process_of(r, record->rank, NULL, err))
		return -1;
	return reel_writer_record(r->writer, &row, err);
}

int darshan_rows_counter(struct darshan_rows *r,
			 const struct darshan_record *record, const char *name,
			 const struct reel_writer_number *value,
			 struct reel_error *err)
{
	if ((!r->same_log || record->record != r->id ||
	     record->rank != r->rank || strcmp(record->module, r->module)) &&
	    put_record(r, record, err))
		return -1;
	return reel_writer_value(r->writer, r->record, name, value, err);
}

int darshan_rows_dxt(struct darshan_rows *r, const struct darshan_dxt *dxt,
		     const char *path, struct reel_error *err)
{
	char id[40];

	r->mpi = dxt->module == DARSHAN_DXT_MPIIO;
	if (!r->host[0])
		memcpy(r->host, dxt->host, sizeof(r->host));
	if (!path) {
		snprintf(id, sizeof(id), "darshan:%" PRIu64, dxt->record);
		path = id;
	}
	r->process = process_of(r, dxt->rank, dxt->host, err);
	r->file =
		gather_file(r->gather, path, strlen(path), REEL_KIND_FILE, err);
	return r->process && r->file ? 0 : -1;
}

/*
 * Seconds of the job as ns of the wall clock; damage gives a time in its
 * range.
 */
static int64_t time_ns(const struct darshan_rows *r, double seconds)
{
	if (!(seconds > -1e9 && seconds < 1e9))
		seconds = 0;
	return r->origin_ns + llround(seconds * 1e9);
}

int darshan_rows_segment(struct darshan_rows *r,
			 const struct darshan_segment *s,
			 struct reel_error *err)
{
	struct reel_event ev = {
		.fd = -1,
		.fd2 = -1,
		.file = r->file,
		.call = r->mpi	   ? s->write ? REEL_CALL_MPI_FILE_WRITE_AT
					      : REEL_CALL_MPI_FILE_READ_AT
			: s->write ? REEL_CALL_WRITE
				   : REEL_CALL_READ,
		.start_ns = time_ns(r, s->start),
		.offset = s->offset < 0 ? REEL_NO_OFFSET : s->offset,
		.asked = s->length < 0 ? 0 : s->length,
		.result = s->length,
		.pos = REEL_NO_OFFSET};

	ev.dur_ns = time_ns(r, s->end) - ev.start_ns;
	if (ev.dur_ns < 0)
		ev.dur_ns = 0;
	ev.thread =
		gather_thread(r->gather, r->process, (int64_t)s->thread, err);
	return ev.thread ? gather_event(r->gather, &ev, err) : -1;
}

int darshan_rows_partial(struct darshan_rows *r, const char *module,
			 struct reel_error *err)
{
	char reason[64];

	snprintf(reason, sizeof(reason), "darshan %.31s: records left out",
		 module);
	return reel_writer_loss(r->writer, 0, reason, "modules", 1, err);
}

int darshan_rows_end(struct darshan_rows *r, struct reel_error *err)
{
	/* A log without records is of a job all the same. */
	return gather_processes(r->gather) || process_of(r, -1, NULL, err) ? 0
									   : -1;
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

int darshan_rows_finish(struct darshan_rows *r, struct reel_error *err)
{
	char name[256];

	r->run.name = base_of(r->command, name);
	r->run.command = r->command;
	r->run.host = r->host[0] ? r->host : NULL;
	snprintf(r->job_json, sizeof(r->job_json), "{\"job_ids\": %u}",
		 r->jobs.used);
	r->run.job_json = r->job_json;
	r->run.start_real_ns = r->start_ns;
	r->run.wall_ns = r->end_ns - r->start_ns;
	return gather_finish(r->gather, &r->run, err);
}

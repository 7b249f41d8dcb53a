/* SPDX-License-Identifier: MIT */
/*
 * The job, the counters and the segments of DXT into the store, for the logs of
 * Darshan and for the text of its tools.
 */
#ifndef ANALYZER_IMPORT_DARSHAN_ROWS_H
#define ANALYZER_IMPORT_DARSHAN_ROWS_H

#include <stdint.h>

#include "lib/intmap.h"

#include "analyzer/import/darshan/darshan_log.h"
#include "analyzer/write/writer.h"

struct import_gather;
struct reel_error;

struct darshan_rows {
	struct reel_writer *writer;
	struct import_gather *gather;
	struct reel_writer_run run;
	char *command; /* of the first log */
	int64_t start_ns, end_ns;
	int64_t job_id;		 /* of the first log */
	struct reel_intmap jobs; /* ids of all */
	char job_json[32];
	char host[65]; /* the first of DXT */
	/* The log at hand. */
	uint32_t source, log;
	const char *exe;
	int64_t origin_ns;
	/* The record of the counter before; its id in the store. */
	uint32_t record;
	bool same_log;
	char module[32];
	uint64_t id;
	int64_t rank;
	/* The record of the segments at hand. */
	bool mpi;
	uint32_t process, file;
};

/* A record of counters: @path NULL: not known. */
struct darshan_record {
	const char *module; /* as darshan-parser prints it */
	uint64_t record;
	int64_t rank;
	const char *path;
};

/* Borrows @w. 0, or -1 with @err, like all of these. */
int darshan_rows_init(struct darshan_rows *r, struct reel_writer *w,
		      struct reel_error *err);
void darshan_rows_fini(struct darshan_rows *r);

/*
 * The rows to come are of the log number @log, from 1, which is read from @source.
 * Two sources may have parts of one log: its ranks are the same processes.
 * @job->exe is borrowed until the next log.
 */
int darshan_rows_log(struct darshan_rows *r, uint32_t source, uint32_t log,
		     const struct darshan_job *job, struct reel_error *err);
int darshan_rows_counter(struct darshan_rows *r,
			 const struct darshan_record *record, const char *name,
			 const struct reel_writer_number *value,
			 struct reel_error *err);
/* A record of DXT, @path NULL: not known; then its segments. */
int darshan_rows_dxt(struct darshan_rows *r, const struct darshan_dxt *dxt,
		     const char *path, struct reel_error *err);
int darshan_rows_segment(struct darshan_rows *r,
			 const struct darshan_segment *s,
			 struct reel_error *err);
/* The job had no memory for records of @module: a loss of unknown size. */
int darshan_rows_partial(struct darshan_rows *r, const char *module,
			 struct reel_error *err);
/* The end of the log. */
int darshan_rows_end(struct darshan_rows *r, struct reel_error *err);
/* The end of the last one: write all. */
int darshan_rows_finish(struct darshan_rows *r, struct reel_error *err);

#endif

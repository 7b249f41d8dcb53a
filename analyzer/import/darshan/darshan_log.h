/* SPDX-License-Identifier: MIT */
/*
 * Darshan's logs, formats 3.00 to 3.41, of either byte order, compressed with
 * zlib or bzip2 or not at all. Regions are decompressed as they are read, so
 * memory does not grow with the log, apart from the names of its files.
 *
 * Source: darshan-log-format.h and darshan-*-logutils.c of Darshan 3.5.
 */
#ifndef ANALYZER_IMPORT_DARSHAN_LOG_H
#define ANALYZER_IMPORT_DARSHAN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/import/darshan/darshan_names.h"

struct darshan_log;
struct reel_error;

struct darshan_job {
	char version[9];
	int64_t uid, nprocs, job_id;
	int64_t start_ns, end_ns; /* CLOCK_REALTIME */
	bool whole_seconds;	  /* of both, before format 3.41 */
	const char *metadata;	  /* lines "key=value" */
	const char *exe;	  /* the command line */
};

/* A counter. Its strings are borrowed for the call. */
struct darshan_counter {
	enum { DARSHAN_INTEGER, DARSHAN_REAL, DARSHAN_TEXT } type;
	unsigned int module;
	uint64_t record;
	int64_t rank;	    /* -1: of all ranks together */
	const char *object; /* of DAOS, in place of a path; else NULL */
	const char *name;
	int64_t integer;
	double real;
	const char *text;
};

/* A record of DXT: one file of one rank, before its segments. */
struct darshan_dxt {
	unsigned int module;
	uint64_t record;
	int64_t rank;
	char host[65];
	int64_t writes, reads;
};

struct darshan_segment {
	bool write;
	int64_t offset; /* -1: not known */
	int64_t length;
	double start, end; /* seconds since the start of the job */
	uint64_t thread;   /* pthread_t, 0: not known */
};

/* Is this the beginning of a log? */
bool darshan_log_detect(const void *bytes, size_t n);

/*
 * Open the log @path and read its job and names. Gives *@out for
 * darshan_log_close(). 0, or -1 with @err: REEL_E_IO, REEL_E_FORMAT (file and
 * offset), REEL_E_MEMORY.
 */
int darshan_log_open(struct darshan_log **out, const char *path,
		     struct reel_error *err);
void darshan_log_close(struct darshan_log *log);

const struct darshan_job *darshan_log_job(const struct darshan_log *log);
/* The path of @record, or NULL. Borrowed from @log. */
const char *darshan_log_path(const struct darshan_log *log, uint64_t record);

/* Does the log have records of @module, of which @version? */
bool darshan_log_has(const struct darshan_log *log, unsigned int module,
		     unsigned int *version);
/* Is the form of its records known? */
bool darshan_log_reads(unsigned int module, unsigned int version);
/* Did the job run out of memory for records of @module? */
bool darshan_log_partial(const struct darshan_log *log, unsigned int module);

/*
 * Call @each for every counter of @module, in the order of the log. A module
 * that is unknown, or newer than this reader, is an error. 0, or -1 with @err.
 */
int darshan_log_counters(struct darshan_log *log, unsigned int module,
			 int (*each)(void *arg, const struct darshan_counter *c,
				     struct reel_error *err),
			 void *arg, struct reel_error *err);

/* The same for DXT: @begin for a record, then @each for its segments. */
int darshan_log_segments(struct darshan_log *log, unsigned int module,
			 int (*begin)(void *arg, const struct darshan_dxt *dxt,
				      struct reel_error *err),
			 int (*each)(void *arg, const struct darshan_segment *s,
				     struct reel_error *err),
			 void *arg, struct reel_error *err);

#endif

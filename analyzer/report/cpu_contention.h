/* SPDX-License-Identifier: MIT */
/*
 * What else the machine did while a job ran: "processor" of its job.json.
 * Times of a machine that was shared differ from run to run for that alone.
 */
#ifndef ANALYZER_REPORT_CPU_CONTENTION_H
#define ANALYZER_REPORT_CPU_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct reel_buf;
struct reel_store;

struct reel_cpu_contention {
	bool has;	   /* it was measured */
	int64_t wall_ns;   /* of the job */
	int64_t cpus;	   /* online */
	int64_t job_ns;	   /* CPU time of the job's processes */
	int64_t others_ns; /* of others */
	bool ranks;	   /* who are the job's other ranks, too */
	int64_t stolen_ns; /* withheld by a virtual machine's host, of all CPUs */
};

/* Of the run in @st; of several ranks, the one that was withheld most. */
void reel_cpu_contention_read(struct reel_cpu_contention *m,
			      struct reel_store *st);
/* A sentence without its stop, appended to @out, when the machine was so busy
 * that the job's times are longer for it; false: it was not, or nobody knows. */
bool reel_cpu_contention_words(const struct reel_cpu_contention *m,
			       struct reel_buf *out);
/* An object, or null where nothing was measured. */
json_t *reel_cpu_contention_json(const struct reel_cpu_contention *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * CPU time of other programs and of other virtual machines while a job ran:
 * "processor" of its job.json. It makes times differ from run to run.
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
	bool ranks;	   /* others_ns includes other ranks of the job */
	int64_t stolen_ns; /* steal time, of all CPUs */
};

/* Read it from @st; of several ranks the one with the most steal time. */
void reel_cpu_contention_read(struct reel_cpu_contention *m,
			      struct reel_store *st);
/* Append a sentence without a full stop to @out when the machine was so busy that
 * the job's times are longer. false: it was not, or that is not known. */
bool reel_cpu_contention_words(const struct reel_cpu_contention *m,
			       struct reel_buf *out);
/* Gives an object, or null where nothing was measured. */
json_t *reel_cpu_contention_json(const struct reel_cpu_contention *m);

#endif

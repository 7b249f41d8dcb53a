/* SPDX-License-Identifier: MIT */
/*
 * CPU time of other programs and of other virtual machines while a job ran, and the
 * job's own limit: "processor" and "cpu_limit" of its job.json. They make times differ
 * from run to run.
 */
#ifndef ANALYZER_REPORT_CPU_CONTENTION_H
#define ANALYZER_REPORT_CPU_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct reel_buf;
struct reel_store;

struct reel_cpu_contention {
	bool has;	      /* it was measured */
	int64_t wall_ns;      /* of the job */
	int64_t cpus;	      /* online */
	int64_t cpus_allowed; /* that the job may run on */
	int64_t millicpus;    /* limit of its group, in 1/1000; 0: none */
	int64_t throttled_ns; /* withheld by the limit, of all CPUs */
	int64_t job_ns;	      /* CPU time of the job's processes */
	int64_t others_ns;    /* of others */
	bool ranks;	      /* others_ns includes other ranks of the job */
	int64_t stolen_ns;    /* steal time, of all CPUs */
};

/* Read it from @st; of several ranks the one with the most steal time. */
void reel_cpu_contention_read(struct reel_cpu_contention *m,
			      struct reel_store *st);
/* The share of the CPU time wanted that the job's limit withheld; 0: too little to
 * make its times longer, or not known. */
double reel_cpu_contention_throttled(const struct reel_cpu_contention *m);
/* The thousandths of processors that the job may use at a time. */
int64_t reel_cpu_contention_millicpus(const struct reel_cpu_contention *m);
/* Append a sentence without a full stop to @out when the machine was so busy, or the
 * job so limited, that its times are longer. false: it was not, or that is not known. */
bool reel_cpu_contention_words(const struct reel_cpu_contention *m,
			       struct reel_buf *out);
/* Gives an object, or null where nothing was measured. */
json_t *reel_cpu_contention_json(const struct reel_cpu_contention *m);

#endif

/* SPDX-License-Identifier: MIT */
/* The rules of a published benchmark: its series of runs, and a verdict by rule. */
#ifndef REPLAY_RULES_RULES_H
#define REPLAY_RULES_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/kvcache/kvcache.h"

struct comm;
struct reel_error;
struct run_options;
struct workload;

#define RULES_NAMES "mlperf-3.0|mlperf-2.0"

enum rules_version { RULES_MLPERF_3_0, RULES_MLPERF_2_0 };

#define RULES_WARM_UP 1
#define RULES_MEASURED 5
#define RULES_RUNS (RULES_WARM_UP + RULES_MEASURED)
#define RULES_MOST 16

/* A run of the series, over all ranks. */
struct rules_run {
	int64_t seed;			  /* of the order of samples */
	double samples_per_s, au_percent; /* NaN: cannot be known */
	double cache_share; /* of the bytes read; NaN: not known */
	double wall_s;
	uint64_t order; /* of the first epoch, of all ranks */
	bool stopped;	/* by a signal */
};

/* All that the rules judge. */
struct rules_case {
	enum rules_version version;
	const struct workload *w; /* borrowed */
	double scale;
	int64_t accelerators, hosts;
	int64_t memory_bytes; /* of a host */
	bool memory_given;    /* by the user, not by the host */
	bool one_file_system; /* of data set (or checkpoints) and results */
	struct rules_run run[RULES_RUNS];
	int runs;		     /* of them; one for checkpoints alone */
	int64_t checkpoint_bytes;    /* of one checkpoint, of all ranks */
	int64_t checkpoint_gap_ns;   /* between writes and reads */
	struct kvcache_result cache; /* of a key-value cache; owned */
};

enum rules_outcome { RULES_PASS, RULES_FAIL };

struct rules_verdict {
	const char *rule; /* "dataset-size" */
	enum rules_outcome outcome;
	double is, bound; /* the numbers that were compared */
	char text[256];	  /* one line with both, and their units */
};

/* The ranks and hosts of @comm, and the memory of a host: @memory_bytes, or, if 0,
 * as the kernel has it. Collective. */
void rules_begin(const struct workload *w, const struct comm *comm,
		 int64_t memory_bytes, struct rules_case *c);
int64_t rules_host_memory(void);

/*
 * Run @w by the rules, after rules_begin(): training six times with another seed each,
 * checkpoints alone once, with the page cache emptied of them before they are read, a
 * key-value cache once, with its trials. Gives memory to @c for rules_fini(). @results
 * is the folder of the results. Collective. 0, or -1 on all ranks with @err.
 */
int rules_run(const struct workload *w, const struct run_options *options,
	      const struct comm *comm, const char *results,
	      struct rules_case *c, struct reel_error *err);

void rules_fini(struct rules_case *c);

/* The verdict of each rule that applies, or, @before the runs, of those that need
 * none. Their number. */
int rules_judge(const struct rules_case *c, bool before,
		struct rules_verdict verdict[static RULES_MOST]);

/* Samples that the data set needs at least, and the two numbers of which it is the
 * larger. */
double rules_samples_least(const struct rules_case *c, double *by_steps,
			   double *by_memory);

/* The series and the verdicts, as text or as JSON on standard output. 0, or -1 with
 * @err. */
int rules_print(const struct rules_case *c, const struct rules_verdict *verdict,
		int n, struct reel_error *err);
int rules_json(const struct rules_case *c, const struct rules_verdict *verdict,
	       int n, struct reel_error *err);
const char *rules_name(enum rules_version version);

#endif

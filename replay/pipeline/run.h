/* SPDX-License-Identifier: MIT */
/*
 * Run a workload: readers read and preprocess batches, the stepping thread takes
 * them, computes, meets the other ranks and writes checkpoints. Every time and
 * count is taken at the call.
 */
#ifndef REPLAY_PIPELINE_RUN_H
#define REPLAY_PIPELINE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/io/io.h"

struct comm;
struct reel_error;
struct run_log;
struct workload;

struct run_options {
	const char *data;	 /* folder that dataset_generate() filled */
	const char *checkpoints; /* folder for them; NULL: DATA/checkpoints */
	bool null;		 /* no call on storage at all */
	bool quiet;		 /* no progress line */
	struct run_log *log;	 /* of all calls; NULL: none. Borrowed */
};

/* Where the time of the stepping thread went; their sum is its wall time. */
struct run_times {
	/* Waits for batches, by what the awaited reader did meanwhile; with no
	 * readers, its own calls and preprocessing. Checkpoints are storage. */
	int64_t storage_ns, decode_ns, queue_ns;
	int64_t compute_ns, barrier_ns;
	int64_t own_ns; /* all that is left */
};

struct run_step {
	uint32_t epoch;
	uint32_t samples;
	int64_t start_ns; /* since the run began */
	int64_t wall_ns, checkpoint_ns;
	struct run_times time;
};

struct run_epoch {
	int64_t wall_ns;
	uint64_t steps, samples;
	uint64_t checksum; /* of the numbers of the samples, in any order */
	uint64_t order;	   /* of their order on this rank */
	uint64_t fetched_bytes; /* from storage, by the kernel's account */
};

/* The result of one rank, until run_result_reduce(). */
struct run_result {
	int64_t wall_ns;
	uint64_t samples;
	struct run_times time;
	struct run_step *steps; /* of this rank */
	uint64_t steps_n;
	struct run_epoch *epochs;
	uint32_t epochs_n;
	struct io io; /* of all readers and the stepping thread */
	uint64_t checkpoints, checkpoint_bytes;
	int64_t checkpoint_ns;
	/* With checkpoints alone: from the last write to the first
	 * read. */
	int64_t checkpoint_gap_ns;
	int64_t evaluation_ns;
	/* Bytes that the kernel fetched from storage for the reads; -1: not known
	 * (/proc/self/io is closed). */
	int64_t fetched_bytes;
	bool stopped;	/* by a signal: what was measured until then */
	int idle_ranks; /* of all: they had no sample; set by the reduction */
};

/*
 * Run it on this rank; collective over @comm. Gives memory to @result for
 * run_result_fini(). 0, or -1 on all ranks with @err.
 */
int run_workload(const struct workload *w, const struct run_options *options,
		 const struct comm *comm, struct run_result *result,
		 struct reel_error *err);
/* Bytes that the kernel fetched from storage for this process; -1: not known. */
int64_t run_fetched_bytes(void);
void run_result_fini(struct run_result *result);

/*
 * 100 times the time computing of the steps after the first, over their wall time
 * less checkpoints; without the time in which a rank waits for the others unless
 * @barriers. NaN: fewer than two steps.
 */
double run_au_percent(const struct run_result *result, bool barriers);

#endif

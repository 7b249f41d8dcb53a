/* SPDX-License-Identifier: MIT */
/*
 * The runs of TensorFlow's functions in its JSON, and those of them that train.
 *
 * A JSON file holds only the longest events of a long profile, so a step may lack its
 * operators; the run that holds them is longer than they are. A function trains if any
 * of its runs has an operator of a gradient.
 */
#ifndef ANALYZER_IMPORT_TENSORFLOW_RUNS_H
#define ANALYZER_IMPORT_TENSORFLOW_RUNS_H

#include <stdint.h>

#include "analyzer/import/profile/intervals.h"

struct reel_error;
struct tensorflow_fetches;
struct trace_event;

/* A run; @function: the hash of its name. */
struct tensorflow_run {
	uint64_t function;
	int64_t start_ns, end_ns;
};

/* Zeroed is empty. */
struct tensorflow_runs {
	struct tensorflow_run *at;
	uint32_t n, room;
	struct profile_intervals gradients;
};

/* Keep @ev if it is a run or an operator of a gradient. 0, or -1 with @err. */
int tensorflow_runs_see(struct tensorflow_runs *r, const struct trace_event *ev,
			struct reel_error *err);
/* All are seen, and the fetches settled: what functions that train do from their first
 * fetch on is training of @f. 0, or -1 with @err. */
int tensorflow_runs_training(struct tensorflow_runs *r,
			     struct tensorflow_fetches *f,
			     struct reel_error *err);
void tensorflow_runs_fini(struct tensorflow_runs *r); /* empty again */

#endif

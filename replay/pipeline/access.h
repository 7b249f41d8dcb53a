/* SPDX-License-Identifier: MIT */
/* The keys of access: which reader they ask for, and whether this run has it. */
#ifndef REPLAY_PIPELINE_ACCESS_H
#define REPLAY_PIPELINE_ACCESS_H

#include <stdbool.h>

struct comm;
struct format;
struct reel_error;
struct workload;

/* The reader of the files of @w; its any_order is not that of the data set. NULL:
 * this build has no such format. */
const struct format *access_reader(const struct workload *w);
/* May the samples of a file of @w be read in any order? */
bool access_any_order(const struct workload *w);
/*
 * A key that would have no effect is an error, not a silent other benchmark. @data
 * is the folder of the data set. 0, or -1 with @err (REEL_E_USAGE), which begins
 * with the key.
 */
int access_check(const struct workload *w, const char *data,
		 const struct comm *comm, struct reel_error *err);

#endif

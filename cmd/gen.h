/* SPDX-License-Identifier: MIT */
/* Shared by "gen" of both programs. */
#ifndef CMD_GEN_H
#define CMD_GEN_H

#include <stdbool.h>

struct comm;
struct generate_options;
struct reel_error;

/* Write the data set of the workload @file; collective over @comm, whose first
 * rank prints the closing line. 0, or -1 with @err. */
int gen_run(const struct comm *comm, const char *file,
	    const struct generate_options *options, bool quiet,
	    struct reel_error *err);

#endif

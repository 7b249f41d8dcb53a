/* SPDX-License-Identifier: MIT */
/* The store of a benchmark's calls. */
#ifndef CMD_RUN_STORE_H
#define CMD_RUN_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct run_log;

struct run_store {
	const struct run_log *log; /* collected */
	const char *name;	   /* of the workload */
	const char *command;	   /* the command line */
	int64_t wall_ns;
	int64_t ranks, readers; /* processes of a rank that read; 0: threads */
};

/* Write the store @path, and a line on stderr unless @quiet. On rank 0. 0, or -1
 * with @err. */
int run_store_write(const char *path, const struct run_store *of, bool quiet,
		    struct reel_error *err);
/* Can a store become @path? Before the run. 0, or -1 with @err. */
int run_store_check(const char *path, struct reel_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Write a data set: every rank its share, with several threads. */
#ifndef REPLAY_GENERATE_GENERATE_H
#define REPLAY_GENERATE_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

struct comm;
struct reel_error;
struct workload;

/* The folder's mark: the keys of the data set, as it was made. */
#define DATASET_MARK ".ioreel-dataset.json"

struct generate_options {
	const char *dir;       /* made when it is missing */
	int64_t threads;       /* 0: one for each processor */
	bool (*stopped)(void); /* no more files are begun; or NULL */
};

struct generate_result {
	uint64_t files, bytes; /* made now, on this rank */
	uint64_t again;	       /* of them: files of another size were there */
	uint64_t kept;	       /* files that were there already */
};

/*
 * Write the files of both parts below @dir. A file is written under a name that
 * ends in ".part" and renamed when it is complete: after a failure the same call
 * makes the files that are missing, and again those whose size is another, as those
 * that were cut off. A folder that holds anything but this data set
 * is refused, and so is one with too little space. Files depend on the workload
 * alone, not on threads and ranks.
 *
 * Collective over @comm: all ranks fail when one does. 0, or -1 with @err:
 * REEL_E_USAGE, REEL_E_IO, REEL_E_MEMORY.
 */
int dataset_generate(const struct workload *w,
		     const struct generate_options *options,
		     const struct comm *comm, struct generate_result *result,
		     struct reel_error *err);

/* Is @dir the data set of @w? 0, or -1 with @err: REEL_E_USAGE names the first key
 * that differs, REEL_E_IO. */
int dataset_is_of(const struct workload *w, const char *dir,
		  struct reel_error *err);

#endif

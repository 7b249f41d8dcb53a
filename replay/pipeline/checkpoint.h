/* SPDX-License-Identifier: MIT */
/* Checkpoints: the files of a rank, written, synced, renamed, removed, read. */
#ifndef REPLAY_PIPELINE_CHECKPOINT_H
#define REPLAY_PIPELINE_CHECKPOINT_H

#include <stdbool.h>

struct checkpoints;
struct comm;
struct io;
struct reel_error;
struct run_result;
struct workload;

/* Below @folder, which is made; @folder NULL: none are to be written. Gives *@out
 * for checkpoints_free(). 0 or -1. */
int checkpoints_new(struct checkpoints **out, const struct workload *w,
		    const char *folder, bool null, const struct comm *comm,
		    struct reel_error *err);
/* Write the next one; remove the one that is too old. 0, or -1. */
int checkpoints_write(struct checkpoints *c, struct io *io,
		      struct reel_error *err);
/* Those of a workload without epochs: all writes, then all reads. */
int checkpoints_alone(struct checkpoints *c, struct run_result *result,
		      struct reel_error *err);
/* Add the counts to @result. NULL too. */
void checkpoints_free(struct checkpoints *c, struct run_result *result);

#endif

/* SPDX-License-Identifier: MIT */
/* Checkpoints: the files of a rank, written, synced, renamed, removed, read. */
#ifndef REPLAY_PIPELINE_CHECKPOINT_H
#define REPLAY_PIPELINE_CHECKPOINT_H

#include <stdint.h>

struct checkpoints;
struct comm;
struct reel_error;
struct run_options;
struct run_result;
struct workload;

/* Below the folder of @options, which is made. Gives *@out for checkpoints_free(),
 * after a failure too. Borrows @result, which has the counts after
 * checkpoints_free(). 0 or -1. */
int checkpoints_new(struct checkpoints **out, const struct workload *w,
		    const struct run_options *options, const struct comm *comm,
		    struct run_result *result, struct reel_error *err);
/* Write the next one; remove the one that is too old. 0, or -1. A signal ends it
 * early: result->stopped is set, and no file is a part. In the background: wait for
 * the last one, whose failure this is then, and begin. @worked_ns: the time of the
 * caller that was work and no I/O. */
int checkpoints_write(struct checkpoints *c, int64_t *worked_ns,
		      struct reel_error *err);
/* Wait for what is written in the background. Likewise. */
int checkpoints_wait(struct checkpoints *c, struct reel_error *err);
/* Those of a workload without epochs: all writes, then all reads. */
int checkpoints_alone(struct checkpoints *c, struct reel_error *err);
/* NULL too. */
void checkpoints_free(struct checkpoints *c);

#endif

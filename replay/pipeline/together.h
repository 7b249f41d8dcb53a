/* SPDX-License-Identifier: MIT */
/* Ranks that read together: each knows which sample every rank reads next. */
#ifndef REPLAY_PIPELINE_TOGETHER_H
#define REPLAY_PIPELINE_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

struct format_sample;
struct io;
struct reel_error;
struct schedule;
struct together;

/* Borrows @own, the schedule of this rank, and @io. Gives *@out for
 * together_free(). 0, or -1 with @err. */
int together_new(struct together **out, const struct schedule *own,
		 struct io *io, struct reel_error *err);
void together_epoch(struct together *t, uint64_t epoch);
/*
 * The next sample of this rank in its batch; MPIIO_NONE: it has none while others
 * do. False: the batches of all ranks are complete, *@end when they were the last
 * ones. The same on all ranks.
 */
bool together_next(struct together *t, uint64_t *sample, bool *end);
/* Read it: collective. 0, or -1 with @err once all calls are made. */
int together_read(struct together *t, struct format_sample *out,
		  struct reel_error *err);
/* Collective. NULL too. 0, or -1 with @err. */
int together_free(struct together *t, struct reel_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Which samples a reader reads, in which order. All ranks and readers together
 * read each sample once an epoch, or as often as it repeats them, but for the last
 * ones with drop_last.
 *
 * Formats of any order: position i of the epoch is sample permuted(i), where blocks
 * of samples stay together; step s of
 * rank r has the positions [(s * ranks + r) * batch, + batch), and reader s %
 * readers reads it. Streams: the files of the epoch's order are dealt to the ranks
 * in turn, those of a rank to its readers; each makes batches of its own samples.
 */
#ifndef REPLAY_PIPELINE_SCHEDULE_H
#define REPLAY_PIPELINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/dataset/dataset.h"

struct schedule {
	struct dataset data;
	uint64_t files, samples; /* of an epoch, again where it repeats them */
	bool any_order;
	uint64_t rank, ranks;
	uint64_t readers; /* at least 1 */
	uint64_t batch, window, block;
	int order; /* enum workload_order */
	bool drop_last, reshuffle;
	uint64_t seed;
};

void schedule_init(struct schedule *s, const struct workload *w,
		   enum dataset_part part, bool any_order, uint64_t rank,
		   uint64_t ranks);

/* Batches of @reader on this rank in an epoch. */
uint64_t schedule_batches(const struct schedule *s, uint64_t reader);
/* Steps of every rank in an epoch: with drop_last of the rank with the fewest
 * batches, else of the one with the most. */
uint64_t schedule_steps(const struct schedule *s);

/* Where a reader is in an epoch. */
struct schedule_cursor {
	uint64_t epoch, reader;
	uint64_t batch, batches;	 /* of this reader: from 0; all */
	uint64_t at;			 /* sample in the batch */
	uint64_t file_position, in_file; /* of a stream */
	uint64_t file;			 /* where in_file is not 0 */
};

void schedule_begin(const struct schedule *s, struct schedule_cursor *c,
		    uint64_t epoch, uint64_t reader);
/* The next sample of the batch. False: the batch is complete, *@end when it was
 * the last one. */
bool schedule_next(const struct schedule *s, struct schedule_cursor *c,
		   uint64_t *sample, bool *end);

#endif

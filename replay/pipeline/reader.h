/* SPDX-License-Identifier: MIT */
/*
 * The readers of a rank: threads or processes that read and preprocess batches and
 * give them to the stepping thread through queues in shared memory. A batch in a
 * queue is its counts; the bytes stay with the reader.
 */
#ifndef REPLAY_PIPELINE_READER_H
#define REPLAY_PIPELINE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/io/io.h"
#include "replay/pipeline/schedule.h"

struct comm;
struct format;
struct reel_error;
struct run_log;
struct readers;

struct reader_batch {
	uint32_t samples;
	bool end; /* the last one of this reader's epoch */
	uint64_t checksum, order;
	int64_t take_ns; /* that the stepping thread spent to take it */
};

/* Time that a reader has spent so far. */
struct reader_progress {
	int64_t storage_ns, decode_ns;
};

/* Shared by all readers, who borrow it. */
struct reader_plan {
	const struct workload *w;
	const struct format *format;
	struct schedule schedule;
	const struct comm *comm;
	const char *root;
	bool null;
	uint64_t ahead_epochs; /* readers go on from one to the next; 0: they
				* wait for readers_epoch() */
	struct run_log *log;   /* of all calls; NULL: none */
};

/*
 * Make @plan->w->pipeline.readers readers, or, when that is 0, one that works in
 * the calling thread. Gives *@out for readers_free(). 0 or -1 with @err.
 */
int readers_new(struct readers **out, const struct reader_plan *plan,
		struct reel_error *err);
/* All of them begin @epoch. They must have ended the one before. */
void readers_epoch(struct readers *r, uint64_t epoch);
/*
 * The next batch of reader @i, waited for. 0; -1 with @err: the reader failed or
 * was killed. @interrupted is looked at while waiting: REEL_OK and 1.
 */
int readers_take(struct readers *r, uint64_t i, struct reader_batch *batch,
		 struct reel_error *err);
/* Drop what is left of the epoch. 0, or -1 with @err. */
int readers_end_epoch(struct readers *r, struct reel_error *err);
struct reader_progress readers_progress(const struct readers *r, uint64_t i);
/* End all; add their counts to @io. NULL too. */
void readers_free(struct readers *r, struct io *io);

#endif

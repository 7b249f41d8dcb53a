/* SPDX-License-Identifier: MIT */
/*
 * An import as a replay needs it: each read and write with a descriptor that an
 * open gave. Darshan's DXT has no opens, fio's logs have opens without numbers, DFTracer
 * has numbers only.
 */
#ifndef ANALYZER_RUN_PLAYABLE_H
#define ANALYZER_RUN_PLAYABLE_H

#include <stdint.h>

struct reel_buf;
struct reel_error;
struct reel_store;

/* Calls that a replay cannot make, by reason. */
enum run_left_out {
	RUN_NO_FILE,   /* neither path nor descriptor is known */
	RUN_NO_STREAM, /* of stdio, without its fopen */
	RUN_NO_ERRNO,  /* failed, the error is not known */
	RUN_OF_MPI_IO, /* its POSIX calls are replayed, if recorded */
	RUN_LEFT_OUT
};

struct run_playable {
	uint64_t left_out[RUN_LEFT_OUT];
	uint64_t opened;  /* files that the replay opens by itself */
	uint64_t assumed; /* reads and writes at offsets taken in order */
};

/*
 * If the events of the import @st have no open files, or such without a descriptor,
 * give a temporary store with them in *@out, for reel_store_close(); else *@out is
 * NULL. 0, or -1 with @err.
 */
int reel_run_playable(struct reel_store **out, struct run_playable *counts,
		      struct reel_store *st, struct reel_error *err);
/* Append a sentence on @counts; nothing when it is all 0. */
void reel_run_playable_words(const struct run_playable *counts,
			     struct reel_buf *out);

#endif

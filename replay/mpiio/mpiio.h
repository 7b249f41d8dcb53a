/* SPDX-License-Identifier: MIT */
/* Readers by MPI-IO, in place of a format's own: alone, or all ranks together. */
#ifndef REPLAY_MPIIO_MPIIO_H
#define REPLAY_MPIIO_MPIIO_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/dataset/dataset.h"
#include "replay/dataset/format.h"

struct io;
struct mpiio_shared;
struct reel_error;

#define MPIIO_NONE UINT64_MAX /* in place of a sample */

/* Each rank reads alone. */
extern const struct format format_mpiio;

/* Files that are open on all ranks. Borrows @d and @io; gives *@out for
 * mpiio_shared_free(). 0, or -1 with @err. */
int mpiio_shared_new(struct mpiio_shared **out, const struct dataset *d,
		     struct io *io, struct reel_error *err);
/*
 * Each rank reads one sample: collective, with the same @sample[@ranks], of which
 * this rank's is sample[@rank]. All ranks make as many calls for each file; those
 * with nothing to read in it read no bytes. MPIIO_NONE: the rank has no sample. 0,
 * or -1 with @err, when all calls are made.
 */
int mpiio_shared_read(struct mpiio_shared *s, const uint64_t *sample, int ranks,
		      int rank, struct format_sample *out,
		      struct reel_error *err);
/* Collective. NULL too. 0, or -1 with @err. */
int mpiio_shared_free(struct mpiio_shared *s, struct reel_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Where samples are in their files, for readers that are not those of the format. */
#ifndef REPLAY_DATASET_PLACE_H
#define REPLAY_DATASET_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/dataset/dataset.h"

struct io;
struct reel_error;

/* Do the samples of @d have a place in their files? */
bool dataset_has_places(const struct workload_dataset *d);

/* Samples are of any size: offsets are added up from the last one. Zeroed: none. */
struct dataset_place {
	uint64_t sample, offset;
};

/* The offset of @sample in its file. @offsets: of the samples of the file, or NULL. */
uint64_t dataset_place_of(const struct dataset *d, struct dataset_place *p,
			  const uint64_t *offsets, uint64_t sample);

/* The places of the samples of @file, where the file itself has to say them, for
 * free(): *@out is NULL where not. 0, or -1 with @err, which names the file. */
int dataset_offsets(const struct dataset *d, uint64_t file, struct io *io,
		    uint64_t **out, struct reel_error *err);

#endif

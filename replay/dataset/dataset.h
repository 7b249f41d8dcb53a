/* SPDX-License-Identifier: MIT */
/*
 * A data set as its workload defines it: which files there are, which samples lie
 * in each, how large each sample is, and its bytes. All of it follows from the
 * workload alone, in constant time and memory, so that each rank can make or check
 * any part of it.
 *
 * Samples count from 0 over all files; file i holds the samples
 * [i * samples_per_file, (i + 1) * samples_per_file).
 */
#ifndef REPLAY_DATASET_DATASET_H
#define REPLAY_DATASET_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "replay/workload/workload.h"

struct reel_buf;
struct reel_error;

enum dataset_part { DATASET_TRAIN, DATASET_EVALUATION };

struct dataset {
	const struct workload_dataset *is; /* borrowed */
	enum dataset_part part;
	const struct quantiles *sample_bytes; /* of the part; borrowed */
	uint64_t files, samples_per_file, samples;
};

/* Borrows @w. */
void dataset_init(struct dataset *d, const struct workload *w,
		  enum dataset_part part);

/*
 * Append the path of file @file below the folder of the data set:
 * "train/000/sample_0000017_of_0001024.npz", without folders "train/sample_...".
 * The evaluation's are below "valid". 0, or -1 (REEL_E_MEMORY).
 */
int dataset_path(const struct dataset *d, uint64_t file, struct reel_buf *out,
		 struct reel_error *err);
/*
 * Give @err the failure @why of reading @file below the folder @root: one of
 * REEL_E_FORMAT says of "it" what is wrong, and gets the name of the file. -1.
 */
int dataset_fault(const struct dataset *d, const char *root, uint64_t file,
		  const struct reel_error *why, struct reel_error *err);
/* Bytes of the payload of @sample. */
uint64_t dataset_sample_bytes(const struct dataset *d, uint64_t sample);
/* Those of all samples of @file. */
uint64_t dataset_file_bytes(const struct dataset *d, uint64_t file);

/*
 * Bytes [@offset, @offset + @n) of the payload of @sample, into @to. The first 8
 * are its number, little-endian, the rest depends on the seed and the number alone;
 * the share compressibility of each 4 KiB is zero.
 */
void dataset_payload(const struct dataset *d, uint64_t sample, uint64_t offset,
		     void *to, size_t n);
/* The number in the first bytes of a payload; UINT64_MAX: fewer than 8 bytes. */
uint64_t dataset_payload_number(const void *payload, size_t n);

#endif

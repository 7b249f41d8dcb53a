/* SPDX-License-Identifier: MIT */
/* NumPy's array files, as they stand alone (npy) and in a zip archive (npz). */
#ifndef REPLAY_DATASET_NUMPY_H
#define REPLAY_DATASET_NUMPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/dataset/dataset.h"

struct format_sample;
struct io;
struct reel_error;

#define NUMPY_HEADER 128 /* bytes, for the shapes that we write */

/*
 * The array of all samples of @file: bytes, of shape (samples, bytes) when there
 * are several of one size, else of one dimension.
 */
void numpy_header_of_file(const struct dataset *d, uint64_t file,
			  char out[static NUMPY_HEADER]);
/* An array of @n little-endian int64. */
void numpy_header_of_numbers(uint64_t n, char out[static NUMPY_HEADER]);

/* An array of @rows of @bytes each. */
void numpy_header_of_rows(uint64_t rows, uint64_t bytes,
			  char out[static NUMPY_HEADER]);

/* A loaded array: its samples come from memory. */
struct numpy_array {
	const struct dataset *d;
	struct io *io;
	uint64_t sample, offset; /* the next sample, where it lies */
	uint64_t bytes;
	uint8_t *array;
	bool null;
};

/*
 * The functions of struct format that both share. @load makes the calls and fills
 * the array from the file @path.
 */
int numpy_open(void **state, const struct dataset *d, uint64_t file,
	       struct io *io,
	       int (*load)(struct numpy_array *, const char *path,
			   struct reel_error *),
	       struct reel_error *err);
int numpy_read(void *state, uint64_t sample, struct format_sample *out,
	       struct reel_error *err);
int numpy_close(void *state, struct reel_error *err);

/* inspect() of struct format: a row of the array is a sample. */
int npy_inspect(const char *path, int64_t **sizes, uint32_t *n, uint32_t *room,
		struct reel_error *err);

/* The calls of np.load(@path) of an npy: @a->bytes into @a->array, by @a->io. 0, or
 * -1 with @err. */
int numpy_load(struct numpy_array *a, const char *path, struct reel_error *err);

#endif

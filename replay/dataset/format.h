/* SPDX-License-Identifier: MIT */
/*
 * A format of data sets: how a file of it is written, and the calls by which its
 * usual reader reads a sample. A format is a file of this room and a row in the
 * table of formats.c. docs/add-a-format.md shows how.
 *
 * Layouts follow from the data set, not from the bytes read: so a reader makes the
 * same calls on null storage. Where a reader gets bytes, it takes the number of
 * the sample from them, and the benchmark checks it.
 */
#ifndef REPLAY_DATASET_FORMAT_H
#define REPLAY_DATASET_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/dataset/dataset.h"

struct io;
struct reel_error;

/* A sample as a reader gives it. */
struct format_sample {
	uint64_t number; /* as the bytes say; UINT64_MAX: they do not */
	uint64_t bytes;	 /* of its payload */
};

/* The storage of a file that exists. */
struct format_storage {
	bool gzip;
	bool labels;	     /* there is more than one array, of npz and hdf5 */
	int64_t level;	     /* of gzip; 0: the file does not say */
	int64_t chunk_bytes; /* 0: contiguous */
	int64_t chunk_samples;	/* that have a part in a chunk; 0: whole ones */
	int64_t payload_bytes;	/* decompressed; 0: the file does not say */
	int64_t row_group_rows; /* of parquet; 0: the file does not say */
	int64_t arrays_bytes;	/* of all arrays of hdf5, decompressed */
	int64_t chunks;		/* of all of them */
};

#define FORMAT_PLACES 16

/* An array of rows of a file that exists. */
struct format_array {
	int64_t rows, row_bytes;
	int64_t chunk_bytes; /* decompressed; 0: contiguous */
	int64_t chunk_rows;  /* of which a chunk has all, or a part of each */
	/* It is at [@from, @to) of the file; of chunks: those at @place. */
	int64_t from, to;
	int64_t place[FORMAT_PLACES]; /* of some chunks */
	uint32_t places;
};

struct format {
	const char *name;   /* as in workload.json */
	const char *suffix; /* "npz" */
	/*
	 * Any sample in any order, as a reader of arrays does; false: from the
	 * first to the last sample of a file, as a reader of streams does.
	 */
	bool any_order;
	/* dataset.compression makes a gzip file of the whole: ".gz" follows the
	 * suffix. */
	bool gzip;

	/*
	 * Write file @file at @path, an absolute name that does not exist; it is
	 * renamed when it is complete. Files beside it (an index) have its name
	 * and end in ".idx". 0, or -1 with @err.
	 */
	int (*write)(const struct dataset *d, uint64_t file, const char *path,
		     struct reel_error *err);
	/* Bytes that write() needs on disk, at most. */
	uint64_t (*disk_bytes)(const struct dataset *d, uint64_t file);
	/* The exact size of the file, without those beside it. NULL: it is known only
	 * when the file is written, and is that of the payload at least. */
	uint64_t (*file_bytes)(const struct dataset *d, uint64_t file);

	/* For fit; both may be NULL. Payload of all samples of a file of @size bytes
	 * with @samples samples. */
	uint64_t (*payload)(uint64_t size, uint64_t samples);
	/* Add the sizes of the samples of an existing file, made by anyone, to
	 * the array *@sizes; none when it cannot be read. 0, or -1 (memory). */
	int (*inspect)(const char *path, int64_t **sizes, uint32_t *n,
		       uint32_t *room, struct reel_error *err);

	/*
	 * Where the samples of an uncompressed, unchunked @file are in it, read
	 * from it through @io, into @offset[samples_per_file]. NULL: it follows
	 * from the layout, or samples have no such place. 0, or -1 with @err.
	 */
	int (*offsets)(const struct dataset *d, uint64_t file, struct io *io,
		       uint64_t *offset, struct reel_error *err);

	/* Find the storage of a file, for fit. NULL where there is one way only.
	 * 1; 0 when it cannot be read. */
	int (*storage)(const char *path, struct format_storage *out);

	/* Add the arrays of an existing file that are on storage to the array *@out;
	 * none when it cannot be read. NULL: it has no others. 0, or -1 (memory). */
	int (*arrays)(const char *path, struct format_array **out, uint32_t *n,
		      uint32_t *room, struct reel_error *err);

	/* Begin to read @file through @io. Gives *@state for close(). */
	int (*open)(void **state, const struct dataset *d, uint64_t file,
		    struct io *io, struct reel_error *err);
	/*
	 * Read one sample: @sample (counted over all files) in any order, or the
	 * next one of a stream, which @sample is. 0, or -1 with @err: REEL_E_IO,
	 * REEL_E_FORMAT when the file is not as write() makes it, without the
	 * name of the file, which the caller knows (dataset_fault()); so in open()
	 * and close() too.
	 */
	int (*read)(void *state, uint64_t sample, struct format_sample *out,
		    struct reel_error *err);
	/* Read what a reader reads behind the last sample, and close. NULL too. */
	int (*close)(void *state, struct reel_error *err);
};

/* storage() where compression makes a gzip file of the whole. */
int gzip_storage(const char *path, struct format_storage *out);

/* The row of enum workload_format @format; NULL: not in this build. */
const struct format *format_of(int format);

#endif

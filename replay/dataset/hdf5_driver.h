/* SPDX-License-Identifier: MIT */
/*
 * The driver by which libhdf5 opens, reads and writes files of a data set: so the
 * library makes the calls that it makes for any program, and each is counted.
 *
 * libhdf5 is not safe for threads, as Debian builds it: hold hdf5_lock() around
 * every use of it.
 */
#ifndef REPLAY_DATASET_HDF5_DRIVER_H
#define REPLAY_DATASET_HDF5_DRIVER_H

#include <hdf5.h>

#include "lib/error.h"

#include "replay/dataset/dataset.h"

struct format_array;
struct format_storage;
struct io;

/* An open file; it must outlive the library's one. */
struct hdf5_use {
	struct io *io;	  /* reads go through it; NULL: the file is written */
	const char *path; /* below the root of io, or absolute when it is
			   * written; borrowed */
	/* The first call that failed. A write that fails does so for the caller
	 * alone: the library, which cannot close a file it cannot write, goes
	 * on without effect. */
	struct reel_error err;
};

/* struct format's inspect(), storage() and arrays(). */
int hdf5_inspect(const char *path, int64_t **sizes, uint32_t *n, uint32_t *room,
		 struct reel_error *err);
int hdf5_storage(const char *path, struct format_storage *out);
int hdf5_arrays(const char *path, struct format_array **out, uint32_t *n,
		uint32_t *room, struct reel_error *err);

/* struct format's offsets(). */
int hdf5_offsets(const struct dataset *d, uint64_t file, struct io *io,
		 uint64_t *offset, struct reel_error *err);

void hdf5_lock(void);
void hdf5_unlock(void);

/* Open @use->path to read it, or make it. The library's file, or negative with
 * @err. */
hid_t hdf5_open(struct hdf5_use *use, struct reel_error *err);
/* Report why a call of the library failed: the call of the system, or else the
 * library's own words. Returns -1. */
int hdf5_failed(const struct hdf5_use *use, struct reel_error *err);

#endif

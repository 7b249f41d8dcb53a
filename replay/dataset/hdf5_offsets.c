/* SPDX-License-Identifier: MIT */
/*
 * The places of samples in a contiguous HDF5 file, as a parallel program learns them:
 * each process reads the metadata, and then the data without the library.
 *
 * Source: HDF5's reference manual, H5Dget_offset.
 */
#include <stdio.h>

#include "lib/buf.h"

#include "replay/dataset/hdf5_driver.h"
#include "replay/io/io.h"

/* The place of the array @name; HADDR_UNDEF: there is none. */
static haddr_t place_of(hid_t file, const char *name)
{
	hid_t array = H5Dopen2(file, name, H5P_DEFAULT);
	haddr_t at = HADDR_UNDEF;

	if (array >= 0) {
		at = H5Dget_offset(array);
		H5Dclose(array);
	}
	return at;
}

static int take_places(const struct dataset *d, uint64_t first, hid_t file,
		       uint64_t *offset)
{
	bool equal = d->sample_bytes->n == 1;
	haddr_t at = equal ? place_of(file, "records") : 0;
	char name[32];

	for (uint64_t i = 0; i < d->samples_per_file; i++) {
		if (!equal) {
			snprintf(name, sizeof(name), "sample_%08llu",
				 (unsigned long long)i);
			at = place_of(file, name);
		}
		if (at == HADDR_UNDEF)
			return -1;
		offset[i] = at;
		if (equal)
			at += dataset_sample_bytes(d, first + i);
	}
	return 0;
}

int hdf5_offsets(const struct dataset *d, uint64_t file, struct io *io,
		 uint64_t *offset, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct hdf5_use use = {.io = io};
	int rc = -1;
	hid_t f;

	if (dataset_path(d, file, &path, err))
		goto out;
	use.path = reel_buf_text(&path);
	hdf5_lock();
	f = hdf5_open(&use, err);
	if (f >= 0) {
		rc = take_places(d, file * d->samples_per_file, f, offset);
		if (rc)
			reel_fail(err, REEL_E_FORMAT,
				  "it is not as it was made: a sample has no "
				  "place "
				  "in it");
		if (H5Fclose(f) < 0 && !rc)
			rc = hdf5_failed(&use, err);
	}
	hdf5_unlock();
out:
	reel_buf_fini(&path);
	return rc;
}

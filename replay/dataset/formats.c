/* SPDX-License-Identifier: MIT */
/* The table of formats: a new one is a file and a row. */
#include "replay/dataset/formats.h"

#include <stdio.h>
#include <string.h>

int gzip_storage(const char *path, struct format_storage *out)
{
	FILE *f = fopen(path, "re");
	uint8_t magic[2] = {0};

	memset(out, 0, sizeof(*out));
	if (!f)
		return 0;
	out->gzip = fread(magic, sizeof(magic), 1, f) == 1 &&
		    magic[0] == 0x1f && magic[1] == 0x8b;
	fclose(f);
	return 1;
}

const struct format *format_of(int format)
{
	static const struct format *const table[WORKLOAD_FORMATS] = {
		[WORKLOAD_RAW] = &format_raw,
		[WORKLOAD_NPY] = &format_npy,
		[WORKLOAD_NPZ] = &format_npz,
		[WORKLOAD_CSV] = &format_csv,
		[WORKLOAD_INDEXED] = &format_indexed,
		[WORKLOAD_PARQUET] = &format_parquet,
		[WORKLOAD_SAFETENSORS] = &format_safetensors,
		[WORKLOAD_TAR] = &format_tar,
		[WORKLOAD_TFRECORD] = &format_tfrecord,
#ifdef REEL_HAVE_HDF5
		[WORKLOAD_HDF5] = &format_hdf5,
#endif
#ifdef REEL_HAVE_JPEG
		[WORKLOAD_JPEG] = &format_jpeg,
#endif
#ifdef REEL_HAVE_PNG
		[WORKLOAD_PNG] = &format_png,
#endif
	};

	return table[format];
}

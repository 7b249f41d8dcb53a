/* SPDX-License-Identifier: MIT */
/* The layout of an npz archive, which its writer (npz.c) and its reader (npz_read.c)
 * share. */
#ifndef REPLAY_DATASET_NPZ_H
#define REPLAY_DATASET_NPZ_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/dataset/numpy.h"

#define NPZ_NAME 5 /* bytes of "x.npy" */
#define NPZ_LOCAL_HEADER 30
#define NPZ_EXTRA 20 /* zip64 */
#define NPZ_MEMBER_HEADER (NPZ_LOCAL_HEADER + NPZ_NAME + NPZ_EXTRA)
#define NPZ_CENTRAL_HEADER 46
#define NPZ_END 22
#define NPZ_LOCATOR 20
#define NPZ_ZIP64_END (56 + NPZ_LOCATOR)

struct npz_member {
	const char *name;
	uint64_t offset; /* of its local header */
	uint64_t bytes;	 /* of the npy in it */
	uint64_t packed; /* of these in the archive */
	bool deflated;
	uint32_t crc; /* when it is written */
};

#define NPZ_MEMBERS 3

/* x.npy of @file, y.npy where there are labels, and z.npy where there is what no one
 * reads; behind them in @m where the directory begins. Gives their number. */
int npz_members(const struct dataset *d, uint64_t file,
		struct npz_member m[static NPZ_MEMBERS + 1]);
bool npz_needs_zip64(const struct npz_member *m);

/* The calls of np.load(@path), for numpy_open(). */
int npz_load(struct numpy_array *a, const char *path, struct reel_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* The ends of a Parquet file, and its rows as the footer has them. */
#ifndef REPLAY_DATASET_PARQUET_H
#define REPLAY_DATASET_PARQUET_H

#include <stdint.h>

struct reel_error;

#define PARQUET_MAGIC "PAR1" /* at both ends of a file */
#define PARQUET_TAIL 8	     /* length of the footer, and the magic */

/* As inspect() of struct format: each row has its share of its row group. */
int parquet_inspect(const char *path, int64_t **sizes, uint32_t *n,
		    uint32_t *room, struct reel_error *err);

#endif

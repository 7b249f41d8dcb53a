/* SPDX-License-Identifier: MIT */
/* The pickle of a dictionary of tensors, and numbers in little-endian order. */
#ifndef REPLAY_PIPELINE_CHECKPOINT_PICKLE_H
#define REPLAY_PIPELINE_CHECKPOINT_PICKLE_H

#include <stddef.h>
#include <stdint.h>

struct reel_buf;
struct reel_error;

/* Append the pickle of @n tensors of @bytes[] each, with a longer key where it has
 * less than @least bytes. 0 or -1. */
int torch_pickle(struct reel_buf *to, const int64_t *bytes, int64_t n,
		 int64_t least, struct reel_error *err);

/* The @n low bytes of @v. */
static inline void put_little(uint8_t *p, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

#endif

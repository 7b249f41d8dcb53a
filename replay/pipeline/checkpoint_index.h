/* SPDX-License-Identifier: MIT */
/* The index of a checkpoint of TensorFlow. */
#ifndef REPLAY_PIPELINE_CHECKPOINT_INDEX_H
#define REPLAY_PIPELINE_CHECKPOINT_INDEX_H

#include <stdint.h>

#include "lib/buf.h"

struct checkpoint_source;
struct reel_error;

/* Bytes that are put together; the first failure stays in @rc. */
struct index_text {
	struct reel_buf b;
	struct reel_error *err;
	int rc;
};

struct tensorflow_index {
	struct index_text table;
	/* Sizes of the block of entries, and of the one that has its place. */
	uint64_t data, middle;
};

/* Append the graph of @n variables and a counter. */
void tensorflow_graph(struct index_text *t, int64_t n);
/* Append @graph as a tensor of one string. Gives its checksum. */
uint32_t tensorflow_string(struct index_text *t,
			   const struct index_text *graph);
/* The table of @n variables of @bytes[] each and of the string of the graph. */
void tensorflow_index(struct tensorflow_index *x, struct checkpoint_source *s,
		      const int64_t *bytes, int64_t n, uint64_t graph_bytes,
		      uint32_t graph_crc);

#endif

/* SPDX-License-Identifier: MIT */
/* A YAML file as a list of scalars, each with the path of its key. */
#ifndef REPLAY_WORKLOAD_DLIO_YAML_H
#define REPLAY_WORKLOAD_DLIO_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;

struct yaml_scalar {
	char *key;  /* "dataset.num_files_train", "model.layer_parameters[1]" */
	char *text; /* as in the file, without quotes */
	size_t line;
};

struct yaml_scalars {
	struct yaml_scalar *at;
	uint32_t n, room;
};

/*
 * Read the first document of @path. Gives memory to @y for
 * yaml_scalars_fini(), even on failure. 0, or -1 with @err: REEL_E_IO,
 * REEL_E_FORMAT (file and line), REEL_E_MEMORY.
 */
int yaml_scalars_read(struct yaml_scalars *y, const char *path,
		      struct reel_error *err);
void yaml_scalars_fini(struct yaml_scalars *y);
/* The scalar at @key, the last where there are several; NULL: none. */
const struct yaml_scalar *yaml_scalar_of(const struct yaml_scalars *y,
					 const char *key);

#endif

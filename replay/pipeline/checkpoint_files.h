/* SPDX-License-Identifier: MIT */
/* The files that a rank saves in a checkpoint. */
#ifndef REPLAY_PIPELINE_CHECKPOINT_FILES_H
#define REPLAY_PIPELINE_CHECKPOINT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/pipeline/checkpoint_layout.h"

struct comm;
struct reel_error;
struct workload_checkpoint;
struct workload_checkpoint_file;

/* A file that this rank saves, and its copies. */
struct checkpoint_file {
	const struct workload_checkpoint_file
		*as;	 /* NULL: of the transformer */
	uint32_t number; /* in the list */
	char name[64];	 /* of the transformer */
	int layout;
	bool fsync, rename;
	int64_t copies, bytes;
	int64_t *tensor, tensors; /* bytes of each */
	struct torch_form form;
};

struct checkpoint_files {
	struct checkpoint_file *file;
	uint32_t n, room;
};

/* Fill @list, all zero, with the files of the rank of @comm. Borrows @is. 0 or -1;
 * @list is for checkpoint_files_fini() either way. */
int checkpoint_files_of(struct checkpoint_files *list,
			const struct workload_checkpoint *is,
			const struct comm *comm, struct reel_error *err);
void checkpoint_files_fini(struct checkpoint_files *list);

#endif

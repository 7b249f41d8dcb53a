/* SPDX-License-Identifier: MIT */
/* The files of checkpoints, in groups, and how many checkpoints they are. */
#ifndef REPLAY_FIT_SAVES_H
#define REPLAY_FIT_SAVES_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/workload/workload.h"

struct fit;

#define FIT_NAME_MOST 256

/* Files of checkpoints that have one name without its numbers, and of those with a
 * hash in their name, similar sizes. */
struct fit_group {
	char name[FIT_NAME_MOST];
	bool hashed;		     /* its files have a hash in their names */
	char archive[WORKLOAD_NAME]; /* of the first file in torch's layout */
	int64_t process_id, open_id; /* of that file, or of the first */
	int64_t files, own;	     /* @own: those of that process */
	int64_t writers;	     /* processes */
	int64_t bytes, writes;
	int64_t torch, tensorflow; /* of @files */
	int64_t renames, syncs;	   /* likewise */
	bool rare;		   /* less than one in each second checkpoint */
	int64_t *process;
	uint32_t room;
};

struct fit_saves {
	struct fit_group *group;
	uint32_t groups, room;
	int64_t files, syncs, renames;
	int64_t saves; /* checkpoints */
	int64_t *step; /* steps before each of @steps checkpoints */
	uint32_t steps, steps_room;
	int64_t background; /* of which steps began before the last file */
	int64_t evaluated;  /* with an evaluation since the last step */
	int64_t work_ns; /* of a marked checkpoint besides its calls; -1: unknown */
	/* Files that are in less than half of the checkpoints, and in no group. */
	int64_t seldom, seldom_bytes;
	char seldom_name[FIT_NAME_MOST]; /* of the first of them */
};

/* Fill @s, which is zero; without files it has no group. For fit_saves_fini() after a
 * failure, too. 0 or -1. */
int fit_find_saves(struct fit *f, struct fit_saves *s);

void fit_saves_fini(struct fit_saves *s);

#endif

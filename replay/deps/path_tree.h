/* SPDX-License-Identifier: MIT */
/*
 * Which directory a path is in, and which paths below a directory were used:
 * each is told once, whatever the directory's depth, until it is used again.
 */
#ifndef REPLAY_DEPS_PATH_TREE_H
#define REPLAY_DEPS_PATH_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct reel_error;

struct tree_node {
	uint32_t above;	      /* the nearest directory that has an id, or 0 */
	uint32_t first, next; /* of the used ones in it; of those above */
	bool known;	      /* above is */
	bool listed;	      /* in the list of above, and so are those above */
};

struct tree {
	const struct job *job;
	struct tree_node *node; /* by file id */
};

/* Borrows @job for its life. 0, or -1 with @err (REEL_E_MEMORY). */
int tree_init(struct tree *t, const struct job *job, struct reel_error *err);
void tree_fini(struct tree *t);

/* The nearest directory above @file that has an id, or 0. */
uint32_t tree_above(struct tree *t, uint32_t file);

void tree_used(struct tree *t, uint32_t file);

/* One that was used below @dir, which is not told again; 0: no more. */
uint32_t tree_take(struct tree *t, uint32_t dir);

#endif

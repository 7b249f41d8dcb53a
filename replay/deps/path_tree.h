/* SPDX-License-Identifier: MIT */
/*
 * The used paths as a tree: the nearest known directory above a path, and the
 * paths below a directory that were used since they were last taken.
 */
#ifndef REPLAY_DEPS_PATH_TREE_H
#define REPLAY_DEPS_PATH_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct reel_error;

struct path_tree_node {
	uint32_t above;	      /* the nearest directory that has an id, or 0 */
	uint32_t first, next; /* used path in it; next one in `above` */
	bool known;	      /* `above` is computed */
	bool listed;	      /* in the list of `above`, like all above it */
};

struct path_tree {
	const struct job *job;
	struct path_tree_node *node; /* by file id */
};

/* Borrows @job for its life. 0, or -1 with @err (REEL_E_MEMORY). */
int path_tree_init(struct path_tree *t, const struct job *job,
		   struct reel_error *err);
void path_tree_fini(struct path_tree *t);

/* The nearest directory above @file that has an id, or 0. */
uint32_t path_tree_above(struct path_tree *t, uint32_t file);

/* Note the use of @file. */
void path_tree_add(struct path_tree *t, uint32_t file);

/* Remove a used path from the tree below @dir and return it; 0: none left. */
uint32_t path_tree_take(struct path_tree *t, uint32_t dir);

#endif

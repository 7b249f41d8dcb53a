/* SPDX-License-Identifier: MIT */
/*
 * The used paths as a tree of lists. A use costs nothing while the path is in
 * its list. A path that is taken leaves it, so that all takes together cost no
 * more than the uses.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/deps/internal.h"

int path_tree_init(struct path_tree *t, const struct job *job,
		   struct reel_error *err)
{
	t->job = job;
	t->node = reel_alloc(job->files, sizeof(*t->node), err);
	return t->node ? 0 : -1;
}

void path_tree_fini(struct path_tree *t)
{
	free(t->node);
	t->node = NULL;
}

/* The directory of a path may have no id; take the next one above it. */
static uint32_t find_above(const struct job *job, uint32_t file)
{
	const char *path = job->file[file].path;
	uint32_t above = job->file[file].parent;
	size_t n = path && path[0] == '/' ? strlen(path) : 0;

	while (!above && (n = job_dir_bytes(path, n)))
		above = job_find(job, path, n);
	return above;
}

uint32_t path_tree_above(struct path_tree *t, uint32_t file)
{
	struct path_tree_node *n = &t->node[file];

	if (!n->known) {
		n->above = find_above(t->job, file);
		n->known = true;
	}
	return n->above;
}

void path_tree_add(struct path_tree *t, uint32_t file)
{
	while (file && !t->node[file].listed) {
		struct path_tree_node *n = &t->node[file];
		uint32_t above = path_tree_above(t, file);

		n->listed = true;
		n->next = t->node[above].first;
		t->node[above].first = file;
		file = above;
	}
}

uint32_t path_tree_take(struct path_tree *t, uint32_t dir)
{
	struct path_tree_node *d = &t->node[dir], *n;
	uint32_t file = d->first, below;

	if (!file)
		return 0;
	n = &t->node[file];
	d->first = n->next;
	n->listed = false;
	while ((below = n->first)) {
		n->first = t->node[below].next;
		t->node[below].next = d->first;
		d->first = below;
	}
	return file;
}

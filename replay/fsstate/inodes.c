/* SPDX-License-Identifier: MIT */
/* Names of contents (contents.h): tables by file, by open file, by content. */
#include "replay/fsstate/inodes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"

#include "replay/model/recorded_job.h"

int inodes_init(struct inodes *c, const struct job *job, struct reel_error *err)
{
	c->job = job;
	c->n = 1;
	c->of_file = reel_alloc(job->files, sizeof(*c->of_file), err);
	c->of_open = reel_alloc(job->opens, sizeof(*c->of_open), err);
	return c->of_file && c->of_open ? 0 : -1;
}

void inodes_fini(struct inodes *c)
{
	free(c->of_file);
	free(c->of_open);
	free(c->name);
	memset(c, 0, sizeof(*c));
}

uint32_t inodes_named(struct inodes *c, uint32_t file, struct reel_error *err)
{
	if (c->of_file[file])
		return c->of_file[file];
	if (reel_array_reach(&c->name, &c->room, c->n, sizeof(*c->name), err))
		return 0;
	c->name[c->n] = file;
	return c->of_file[file] = c->n++;
}

uint32_t inodes_opened(struct inodes *c, uint32_t open, uint32_t file,
		       struct reel_error *err)
{
	if (!c->of_open[open])
		c->of_open[open] = inodes_named(c, file, err);
	return c->of_open[open];
}

uint32_t inodes_name(const struct inodes *c, uint32_t open, uint32_t file)
{
	uint32_t content = c->of_open[open];

	if (!content)
		return file;
	/* The last name of what has none tells of it, until another has it. */
	if (!c->name[content])
		return c->of_file[file] ? 0 : file;
	return c->name[content];
}

void inodes_gone(struct inodes *c, uint32_t file)
{
	uint32_t content = c->of_file[file];

	c->of_file[file] = 0;
	if (content && c->name[content] == file)
		c->name[content] = 0;
}

void inodes_moved(struct inodes *c, uint32_t file, uint32_t to, bool link)
{
	uint32_t content = c->of_file[file];

	if (file == to)
		return;
	inodes_gone(c, to);
	c->of_file[to] = content;
	if (link)
		return;
	c->of_file[file] = 0;
	if (content)
		c->name[content] = to;
}

void inodes_swapped(struct inodes *c, uint32_t file, uint32_t with)
{
	uint32_t a = c->of_file[file], b = c->of_file[with];

	c->of_file[file] = b;
	c->of_file[with] = a;
	if (a)
		c->name[a] = with;
	if (b)
		c->name[b] = file;
}

/* SPDX-License-Identifier: MIT */
/* Inodes and their paths: tables by file id, by open id, by inode. */
#include "replay/fsstate/inodes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"

#include "replay/model/recorded_job.h"

int inodes_init(struct inodes *in, const struct job *job,
		struct reel_error *err)
{
	in->job = job;
	in->n = 1;
	in->of_file = reel_alloc(job->files, sizeof(*in->of_file), err);
	in->of_open = reel_alloc(job->opens, sizeof(*in->of_open), err);
	return in->of_file && in->of_open ? 0 : -1;
}

void inodes_fini(struct inodes *in)
{
	free(in->of_file);
	free(in->of_open);
	free(in->path);
	memset(in, 0, sizeof(*in));
}

uint32_t inodes_of_file(struct inodes *in, uint32_t file,
			struct reel_error *err)
{
	if (in->of_file[file])
		return in->of_file[file];
	if (reel_array_reach(&in->path, &in->room, in->n, sizeof(*in->path),
			     err))
		return 0;
	in->path[in->n] = file;
	return in->of_file[file] = in->n++;
}

uint32_t inodes_of_open(struct inodes *in, uint32_t open, uint32_t file,
			struct reel_error *err)
{
	if (!in->of_open[open])
		in->of_open[open] = inodes_of_file(in, file, err);
	return in->of_open[open];
}

uint32_t inodes_path(const struct inodes *in, uint32_t open, uint32_t file)
{
	uint32_t inode = in->of_open[open];

	if (!inode)
		return file;
	/* An unlinked inode keeps its last path until another has it. */
	if (!in->path[inode])
		return in->of_file[file] ? 0 : file;
	return in->path[inode];
}

void inodes_unlink(struct inodes *in, uint32_t file)
{
	uint32_t inode = in->of_file[file];

	in->of_file[file] = 0;
	if (inode && in->path[inode] == file)
		in->path[inode] = 0;
}

void inodes_rename(struct inodes *in, uint32_t file, uint32_t to, bool link)
{
	uint32_t inode = in->of_file[file];

	if (file == to)
		return;
	inodes_unlink(in, to);
	in->of_file[to] = inode;
	if (link)
		return;
	in->of_file[file] = 0;
	if (inode)
		in->path[inode] = to;
}

void inodes_exchange(struct inodes *in, uint32_t file, uint32_t with)
{
	uint32_t a = in->of_file[file], b = in->of_file[with];

	in->of_file[file] = b;
	in->of_file[with] = a;
	if (a)
		in->path[a] = with;
	if (b)
		in->path[b] = file;
}

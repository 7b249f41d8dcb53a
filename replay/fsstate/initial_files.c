/* SPDX-License-Identifier: MIT */
/*
 * The initial files: all paths that must exist before the replay begins. They
 * are known after the last event.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/internal.h"
#include "replay/model/recorded_job.h"

bool fsstate_below_new(struct fsstate *fs, const char *path, size_t n)
{
	while ((n = job_dir_bytes(path, n))) {
		uint32_t dir = job_find(fs->job, path, n);

		if (dir && fs->path[dir].before == ABSENT)
			return true;
	}
	return false;
}

static int64_t initial_size(const struct job_file *f,
			    const struct path_state *p)
{
	int64_t size = p->size;

	if (p->exact)
		return size;
	if (p->map_end > size)
		size = p->map_end;
	if (!p->changed && f->size_bytes > size)
		size = f->size_bytes;
	return size;
}

/* A path that the job made a directory may have been a file before. */
static bool was_initial_dir(const struct path_state *p)
{
	return p->was_dir || (p->is_dir && !p->created);
}

struct receiver {
	int (*each)(void *arg, const struct initial_file *f,
		    struct reel_error *err);
	void *arg;
};

static int give_file(struct fsstate *fs, const struct receiver *to, uint32_t i,
		     struct reel_error *err)
{
	const struct path_state *p = &fs->path[i];
	const char *path = fs->job->file[i].path;
	struct initial_file f = {
		.path = path,
		.path_bytes = strlen(path),
		.file = i,
		.dir = was_initial_dir(p),
		.link = p->link,
		.fifo = p->fifo,
		.dangling = p->link && (p->dangling || !p->followed),
		.loop = p->loop,
		.exec = p->exec,
		/* No call ever got past the EACCES. */
		.denied = p->denied && !p->size && !p->changed,
		.size_bytes = was_initial_dir(p)
				      ? 0
				      : initial_size(&fs->job->file[i], p),
		.link_bytes = p->link_bytes,
		.entries = listings_initial_entries(fs->listings, i),
		.line = p->line,
		.lines = p->lines,
	};

	struct plan_hole *hole = NULL;
	int rc;

	if (!f.dir &&
	    extents_holes(p->extents, f.size_bytes, &hole, &f.holes, err))
		return -1;
	f.hole = hole;
	rc = to->each(to->arg, &f, err);
	free(hole);
	return rc;
}

/* A path that was created during the job needs its directory before. */
static int give_parent(struct fsstate *fs, const struct receiver *to,
		       uint32_t i, struct reel_error *err)
{
	const char *path = fs->job->file[i].path;
	struct initial_file f = {.path = path, .dir = true, .entries = -1};
	uint32_t dir = fs->job->file[i].parent;

	f.path_bytes = (size_t)(strrchr(path, '/') - path);
	if (!f.path_bytes || (dir && fs->path[dir].before != UNKNOWN) ||
	    fsstate_below_new(fs, path, f.path_bytes))
		return 0;
	return to->each(to->arg, &f, err);
}

int fsstate_initial_files(struct fsstate *fs,
			  int (*each)(void *arg, const struct initial_file *f,
				      struct reel_error *err),
			  void *arg, struct reel_error *err)
{
	const struct job *job = fs->job;
	const struct receiver to = {each, arg};

	/* A path with entries is a directory, whatever the calls on it say. */
	for (uint32_t i = 1; i < job->files; i++)
		if (job->file[i].path && fs->path[i].before == PRESENT)
			fs->path[job->file[i].parent].was_dir = true;
	for (uint32_t i = 1; i < job->files; i++) {
		const struct path_state *p = &fs->path[i];
		const char *path = job->file[i].path;

		if (!path || path[0] != '/')
			continue;
		if ((p->created || p->appeared) && give_parent(fs, &to, i, err))
			return -1;
		if (p->before == PRESENT &&
		    !fsstate_below_new(fs, path, strlen(path)) &&
		    give_file(fs, &to, i, err))
			return -1;
	}
	return 0;
}

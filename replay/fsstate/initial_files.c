/* SPDX-License-Identifier: MIT */
/*
 * The end of history.c: what has to be there before the replay begins. It is
 * asked once, after the last event.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/internal.h"
#include "replay/fsstate/used_extents.h"
#include "replay/model/recorded_job.h"

bool fsstate_below_new(struct fsstate *h, const char *path, size_t n)
{
	while (n > 1) {
		uint32_t up;

		while (n > 1 && path[n - 1] != '/')
			n--;
		if (n <= 1)
			return false;
		up = job_find(h->job, path, --n);
		if (up && h->path[up].before == NO)
			return true;
	}
	return false;
}

static int64_t size_of(const struct job_file *f, const struct path *p)
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

/* What the job made a directory of may have been a file. */
static bool was_dir(const struct path *p)
{
	return p->was_dir || (p->is_dir && !p->made);
}

struct giving {
	int (*each)(void *arg, const struct initial_file *b,
		    struct reel_error *err);
	void *arg;
};

static int give(struct fsstate *h, const struct giving *to, uint32_t i,
		struct reel_error *err)
{
	const struct path *p = &h->path[i];
	const char *path = h->job->file[i].path;
	struct initial_file b = {
		.path = path,
		.path_bytes = strlen(path),
		.file = i,
		.dir = was_dir(p),
		.link = p->link,
		.fifo = p->fifo,
		.dangling = p->link && (p->dangling || !p->followed),
		.loop = p->loop,
		.exec = p->exec,
		/* Refused once, and never let in. */
		.denied = p->denied && !p->size && !p->changed,
		.size_bytes = was_dir(p) ? 0 : size_of(&h->job->file[i], p),
		.link_bytes = p->link_bytes,
		.entries = listings_before(h->listings, i),
		.line = p->line,
		.lines = p->lines,
	};

	struct plan_hole *hole = NULL;
	int rc;

	if (!b.dir &&
	    extents_holes(p->used, b.size_bytes, &hole, &b.holes, err))
		return -1;
	b.hole = hole;
	rc = to->each(to->arg, &b, err);
	free(hole);
	return rc;
}

/* What the job, or others, made needs the directory that it was made in. */
static int give_parent(struct fsstate *h, const struct giving *to, uint32_t i,
		       struct reel_error *err)
{
	const char *path = h->job->file[i].path;
	struct initial_file b = {.path = path, .dir = true, .entries = -1};
	uint32_t up = h->job->file[i].parent;

	b.path_bytes = (size_t)(strrchr(path, '/') - path);
	if (!b.path_bytes || (up && h->path[up].before != UNKNOWN) ||
	    fsstate_below_new(h, path, b.path_bytes))
		return 0;
	return to->each(to->arg, &b, err);
}

int fsstate_initial_files(struct fsstate *h,
			  int (*each)(void *arg, const struct initial_file *b,
				      struct reel_error *err),
			  void *arg, struct reel_error *err)
{
	const struct job *job = h->job;
	const struct giving to = {each, arg};

	/* Who has children is a directory, whatever was seen of it. */
	for (uint32_t i = 1; i < job->files; i++)
		if (job->file[i].path && h->path[i].before == YES)
			h->path[job->file[i].parent].was_dir = true;
	for (uint32_t i = 1; i < job->files; i++) {
		const struct path *p = &h->path[i];
		const char *path = job->file[i].path;

		if (!path || path[0] != '/')
			continue;
		if ((p->made || p->came) && give_parent(h, &to, i, err))
			return -1;
		if (p->before == YES &&
		    !fsstate_below_new(h, path, strlen(path)) &&
		    give(h, &to, i, err))
			return -1;
	}
	return 0;
}

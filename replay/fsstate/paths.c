/* SPDX-License-Identifier: MIT */
/*
 * Whether each path existed before the job, and exists now. The first call
 * whose result depends on it decides, for the directories above the path too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/store/event.h"

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/internal.h"
#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

void fsstate_set_dir(struct path_state *p, bool dir)
{
	p->dir = dir;
	if (!p->changed)
		p->was_dir = dir;
}

void fsstate_set_not_dir(struct path_state *p)
{
	if (p->traversed && p->before != ABSENT && !p->changed)
		p->link = true;
	else
		fsstate_set_dir(p, p->is_dir = false);
}

struct path_state *fsstate_path(struct fsstate *fs, uint32_t file)
{
	return &fs->path[file < fs->job->files ? file : 0];
}

static void dir_above(struct fsstate *fs, uint32_t dir, bool existed)
{
	struct path_state *p = &fs->path[dir];

	fsstate_set_dir(p, true);
	p->traversed = p->followed = true;
	if (!existed || p->before != UNKNOWN || p->now != UNKNOWN)
		return;
	p->before = p->now = PRESENT;
	listings_take_initial(fs->listings, fs->job->file[dir].parent);
}

/*
 * The components above a path are directories, or the call had failed with
 * ENOTDIR. They existed before the job if the path did.
 */
static void dirs_above(struct fsstate *fs, uint32_t file, bool existed)
{
	const char *path = fs->job->file[file].path;
	size_t n = path && path[0] == '/' ? strlen(path) : 0;

	while ((n = job_dir_bytes(path, n)))
		dir_above(fs, job_find(fs->job, path, n), existed);
}

/* A call that follows links got ENOENT, and one that does not finds the path:
 * it is a link to nothing. */
static bool is_dangling(struct fsstate *fs, uint32_t file)
{
	struct path_state *p = fsstate_path(fs, file);
	const char *path = fs->job->file[file].path;

	if (!p->missed || !fs->nofollow || p->now != ABSENT ||
	    p->before != ABSENT || p->changed || !path || path[0] != '/' ||
	    fsstate_below_new(fs, path, strlen(path)) ||
	    !listings_take_initial(fs->listings, fs->job->file[file].parent))
		return false;
	p->before = p->now = PRESENT;
	p->found = p->link = p->dangling = true;
	dirs_above(fs, file, true);
	return true;
}

enum effect fsstate_found(struct fsstate *fs, uint32_t file)
{
	struct path_state *p = fsstate_path(fs, file);
	const char *path = fs->job->file[file].path;

	if (is_dangling(fs, file))
		return EFFECT_USE;
	if (p->now == UNKNOWN && p->before == UNKNOWN) {
		bool new = path &&path[0] == '/' &&
			   (fsstate_below_new(fs, path, strlen(path)) ||
			    !listings_take_initial(fs->listings,
						   fs->job->file[file].parent));

		p->before = new ? ABSENT : PRESENT;
		fsstate_external_change(fs, file, new, false);
		dirs_above(fs, file, !new);
	}
	fsstate_external_change(fs, file, p->now == ABSENT, false);
	if (fs->effects->appeared)
		p->changed = p->appeared = true;
	p->now = PRESENT;
	p->found = true;
	p->followed |= !fs->nofollow;
	return EFFECT_USE;
}

/* The call got ENOENT for the path. */
static enum effect path_missing(struct fsstate *fs, uint32_t file)
{
	struct path_state *p = fsstate_path(fs, file);

	if (p->now == UNKNOWN && p->before == UNKNOWN) {
		p->before = ABSENT;
		p->missed = !fs->nofollow;
		dirs_above(fs, file, false);
	}
	if (p->before == PRESENT && p->found && !p->changed && !p->followed &&
	    !fs->nofollow) {
		p->link = p->dangling = true;
		return EFFECT_USE;
	}
	fsstate_external_change(fs, file, false, p->now == PRESENT);
	p->now = ABSENT;
	return EFFECT_USE;
}

void fsstate_count_entry(struct fsstate *fs, uint32_t file, int n)
{
	listings_add_entries(fs->listings, fs->job->file[file].parent, n);
}

void fsstate_add_disk_bytes(struct fsstate *fs, struct path_state *p,
			    int64_t bytes)
{
	if (bytes > INT64_MAX / 4 - fs->disk_bytes)
		return; /* larger than any disk */
	p->disk_bytes += bytes;
	fs->disk_bytes += bytes;
	if (fs->disk_bytes > fs->peak_disk_bytes)
		fs->peak_disk_bytes = fs->disk_bytes;
}

enum effect fsstate_created(struct fsstate *fs, uint32_t file)
{
	struct path_state *p = fsstate_path(fs, file);

	if (p->before == UNKNOWN) {
		p->before = ABSENT;
		dirs_above(fs, file, false);
	}
	if (p->now != PRESENT)
		fsstate_count_entry(fs, file, 1);
	p->now = PRESENT;
	p->changed = p->created = p->fresh = true;
	p->o_creat = false;
	p->written = 0;
	p->target = p->origin = 0;
	fsstate_add_disk_bytes(fs, p, -p->disk_bytes);
	return EFFECT_CREATE;
}

/* A lower bound of the file's size, from the result of the call; 0: none. */
static int64_t size_at_least(const struct reel_event *ev)
{
	if (ev->group == REEL_GROUP_READ && ev->result > 0)
		return ev->offset > 0 && ev->offset < INT64_MAX / 4 &&
				       ev->result < INT64_MAX / 4
			       ? ev->offset + ev->result
			       : ev->result;
	if (ev->group == REEL_GROUP_STAT)
		return ev->pos;
	return ev->call == REEL_CALL_LSEEK && ev->arg == SEEK_END ? ev->result
								  : 0;
}

/* The file's size, from the result of the call; INT64_MAX: not known. */
static int64_t size_exactly(const struct reel_event *ev)
{
	if (ev->group == REEL_GROUP_READ && ev->layer == REEL_LAYER_POSIX &&
	    !is_two_fd_copy(ev->call) && ev->offset >= 0 && ev->result >= 0 &&
	    ev->result < ev->asked && ev->offset < INT64_MAX / 4)
		return ev->offset + ev->result;
	return ev->group == REEL_GROUP_STAT && ev->pos >= 0 ? ev->pos
							    : INT64_MAX;
}

/*
 * Bytes behind all that the job wrote existed before the open. This does not
 * hold once a call found the end of the file where the writing was: then a
 * write has not ended yet.
 */
void fsstate_check_o_creat(struct fsstate *fs, const struct reel_event *ev)
{
	struct path_state *p = fsstate_path(fs, ev->file);

	if (!p->o_creat || ev->err)
		return;
	if (is_resize(ev) || size_exactly(ev) <= p->written)
		p->o_creat = false;
	if (!p->o_creat || size_at_least(ev) <= p->written)
		return;
	p->o_creat = p->fresh = p->created = false;
	p->changed = p->written > 0;
	p->before = PRESENT;
	fsstate_count_entry(fs, ev->file, -1);
	dirs_above(fs, ev->file, true);
}

enum effect fsstate_removed(struct fsstate *fs, uint32_t file)
{
	struct path_state *p = fsstate_path(fs, file);

	fsstate_found(fs, file);
	p->now = ABSENT;
	p->changed = true;
	p->o_creat = false;
	fsstate_add_disk_bytes(fs, p, -p->disk_bytes);
	fsstate_count_entry(fs, file, -1);
	return EFFECT_REMOVE;
}

enum effect fsstate_failed(struct fsstate *fs, uint32_t file, int error,
			   bool creating)
{
	struct path_state *p = fsstate_path(fs, file);
	uint32_t dir = fs->job->file[file].parent;

	if (error == ENOENT && !creating)
		return path_missing(fs, file);
	if (error == EACCES || error == EPERM)
		p->denied = true;
	if (error == EISDIR || error == ENOTEMPTY)
		fsstate_set_dir(p, true);
	if (error == ELOOP && p->before != ABSENT && !p->changed) {
		p->link = true;
		if (!fs->nofollow && !p->followed)
			p->dangling = p->loop = true;
	}
	if (error == EEXIST || error == EACCES || error == EISDIR ||
	    error == ENOTEMPTY || error == EINVAL || error == EBUSY ||
	    error == ELOOP ||
	    (error == ENOTDIR && !creating && fs->path[dir].dir))
		return fsstate_found(fs, file);
	return EFFECT_USE;
}

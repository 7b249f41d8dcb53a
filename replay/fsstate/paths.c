/* SPDX-License-Identifier: MIT */
/*
 * Of every path: was it there before the job, and is it there now? The first
 * call that needs an answer gives it, and what is above the path shares it.
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

void fsstate_dir(struct path *p, bool dir)
{
	p->dir = dir;
	if (!p->changed)
		p->was_dir = dir;
}

void fsstate_no_dir(struct path *p)
{
	if (p->holds && p->before != NO && !p->changed)
		p->link = true;
	else
		fsstate_dir(p, p->is_dir = false);
}

struct path *fsstate_path(struct fsstate *h, uint32_t file)
{
	return &h->path[file < h->job->files ? file : 0];
}

static void dir_above(struct fsstate *h, uint32_t dir, bool there)
{
	struct path *p = &h->path[dir];

	fsstate_dir(p, true);
	p->holds = p->followed = true;
	if (!there || p->before != UNKNOWN || p->now != UNKNOWN)
		return;
	p->before = p->now = YES;
	listings_room(h->listings, h->job->file[dir].parent);
}

/*
 * What is above a path is no file, or the call had said ENOTDIR; and it was
 * there if the path was.
 */
static void dirs_above(struct fsstate *h, uint32_t file, bool there)
{
	const char *path = h->job->file[file].path;
	size_t n = path && path[0] == '/' ? strlen(path) : 0;

	while (n > 1) {
		while (n > 1 && path[n - 1] != '/')
			n--;
		if (n > 1)
			dir_above(h, job_find(h->job, path, --n), there);
	}
}

/* Who followed it found nothing, and then it is there: a link to nothing. */
static bool led_nowhere(struct fsstate *h, uint32_t file)
{
	struct path *p = fsstate_path(h, file);
	const char *path = h->job->file[file].path;

	if (!p->missed || !h->nofollow || p->now != NO || p->before != NO ||
	    p->changed || !path || path[0] != '/' ||
	    fsstate_below_new(h, path, strlen(path)) ||
	    !listings_room(h->listings, h->job->file[file].parent))
		return false;
	p->before = p->now = YES;
	p->looked = p->link = p->dangling = true;
	dirs_above(h, file, true);
	return true;
}

enum effect fsstate_exists(struct fsstate *h, uint32_t file)
{
	struct path *p = fsstate_path(h, file);
	const char *path = h->job->file[file].path;

	if (led_nowhere(h, file))
		return EFFECT_USE;
	if (p->now == UNKNOWN && p->before == UNKNOWN) {
		bool new = path &&path[0] == '/' &&
			   (fsstate_below_new(h, path, strlen(path)) ||
			    !listings_room(h->listings,
					   h->job->file[file].parent));

		p->before = new ? NO : YES;
		fsstate_met(h, file, new, false);
		dirs_above(h, file, !new);
	}
	fsstate_met(h, file, p->now == NO, false);
	if (h->now->appeared)
		p->changed = p->came = true;
	p->now = YES;
	p->looked = true;
	p->followed |= !h->nofollow;
	return EFFECT_USE;
}

/* The call did not find it. */
static enum effect missing(struct fsstate *h, uint32_t file)
{
	struct path *p = fsstate_path(h, file);

	if (p->now == UNKNOWN && p->before == UNKNOWN) {
		p->before = NO;
		p->missed = !h->nofollow;
		dirs_above(h, file, false);
	}
	if (p->before == YES && p->looked && !p->changed && !p->followed &&
	    !h->nofollow) {
		p->link = p->dangling = true;
		return EFFECT_USE;
	}
	fsstate_met(h, file, false, p->now == YES);
	p->now = NO;
	return EFFECT_USE;
}

void fsstate_count_entry(struct fsstate *h, uint32_t file, int n)
{
	listings_change(h->listings, h->job->file[file].parent, n);
}

void fsstate_take_room(struct fsstate *h, struct path *p, int64_t bytes)
{
	if (bytes > INT64_MAX / 4 - h->room)
		return; /* of no disk */
	p->room += bytes;
	h->room += bytes;
	if (h->room > h->most_room)
		h->most_room = h->room;
}

enum effect fsstate_created(struct fsstate *h, uint32_t file)
{
	struct path *p = fsstate_path(h, file);

	if (p->before == UNKNOWN) {
		p->before = NO;
		dirs_above(h, file, false);
	}
	if (p->now != YES)
		fsstate_count_entry(h, file, 1);
	p->now = YES;
	p->changed = p->made = p->fresh = true;
	p->guessed = false;
	p->written = 0;
	p->target = p->origin = 0;
	fsstate_take_room(h, p, -p->room);
	return EFFECT_CREATE;
}

/* How far the file reaches, by what the call found; 0: it does not say. */
static int64_t found_end(const struct reel_event *ev)
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

/* Where the file ends, as the call found it; INT64_MAX: it does not say. */
static int64_t exact_end(const struct reel_event *ev)
{
	if (ev->group == REEL_GROUP_READ && ev->layer == REEL_LAYER_POSIX &&
	    !is_two_fd_copy(ev->call) && ev->offset >= 0 && ev->result >= 0 &&
	    ev->result < ev->asked && ev->offset < INT64_MAX / 4)
		return ev->offset + ev->result;
	return ev->group == REEL_GROUP_STAT && ev->pos >= 0 ? ev->pos
							    : INT64_MAX;
}

/*
 * What is found behind all that was written was there before the open. Not when
 * the end had been found where the writing stood: then a write is still on its
 * way.
 */
void fsstate_check_guess(struct fsstate *h, const struct reel_event *ev)
{
	struct path *p = fsstate_path(h, ev->file);

	if (!p->guessed || ev->err)
		return;
	if (ev->call == REEL_CALL_FTRUNCATE ||
	    ev->call == REEL_CALL_FALLOCATE ||
	    ev->call == REEL_CALL_POSIX_FALLOCATE ||
	    exact_end(ev) <= p->written)
		p->guessed = false;
	if (!p->guessed || found_end(ev) <= p->written)
		return;
	p->guessed = p->fresh = p->made = false;
	p->changed = p->written > 0;
	p->before = YES;
	fsstate_count_entry(h, ev->file, -1);
	dirs_above(h, ev->file, true);
}

enum effect fsstate_removed(struct fsstate *h, uint32_t file)
{
	struct path *p = fsstate_path(h, file);

	fsstate_exists(h, file);
	p->now = NO;
	p->changed = true;
	p->guessed = false;
	fsstate_take_room(h, p, -p->room);
	fsstate_count_entry(h, file, -1);
	return EFFECT_REMOVE;
}

enum effect fsstate_failed(struct fsstate *h, uint32_t file, int err,
			   bool creating)
{
	struct path *p = fsstate_path(h, file);
	uint32_t up = h->job->file[file].parent;

	if (err == ENOENT && !creating)
		return missing(h, file);
	if (err == EACCES || err == EPERM)
		p->denied = true;
	if (err == EISDIR || err == ENOTEMPTY)
		fsstate_dir(p, true);
	if (err == ELOOP && p->before != NO && !p->changed) {
		p->link = true;
		if (!h->nofollow && !p->followed)
			p->dangling = p->loop = true;
	}
	if (err == EEXIST || err == EACCES || err == EISDIR ||
	    err == ENOTEMPTY || err == EINVAL || err == EBUSY || err == ELOOP ||
	    (err == ENOTDIR && !creating && h->path[up].dir))
		return fsstate_exists(h, file);
	return EFFECT_USE;
}

/* SPDX-License-Identifier: MIT */
/*
 * Infers the state of the file system before the job from what the job saw.
 *
 * This is the way of one event and the calls by path; fsstate_paths.c knows
 * what is there, fsstate_data.c the bytes behind descriptors, fsstate_names.c
 * renames and links. Sizes are believed only while the job has not changed the
 * file itself.
 */
#include "replay/fsstate/fsstate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/inodes.h"
#include "replay/fsstate/internal.h"
#include "replay/fsstate/line_ends.h"
#include "replay/fsstate/used_extents.h"
#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

int fsstate_new(struct fsstate **out, const struct job *job,
		struct listings *listings, struct inodes *inodes,
		struct reel_error *err)
{
	struct fsstate *h = reel_alloc(1, sizeof(*h), err);

	if (!h)
		return -1;
	h->job = job;
	h->listings = listings;
	h->inodes = inodes;
	h->path = reel_alloc(job->files, sizeof(*h->path), err);
	h->reached = reel_alloc(job->opens, sizeof(*h->reached), err);
	if (!h->path || !h->reached || lines_new(&h->lines, job, err)) {
		fsstate_free(h);
		return -1;
	}
	for (uint32_t i = 0; i < job->files; i++)
		h->path[i].dir = h->path[i].is_dir =
			job->file[i].kind == REEL_KIND_DIR ||
			(job->file[i].path && !strcmp(job->file[i].path, "/"));
	*out = h;
	return 0;
}

void fsstate_free(struct fsstate *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; h->path && i < h->job->files; i++) {
		free(h->path[i].line);
		extents_free(h->path[i].used);
	}
	lines_free(h->lines);
	free(h->path);
	free(h->reached);
	free(h);
}

static enum effect opened(struct fsstate *h, const struct reel_event *ev)
{
	struct path *p = fsstate_path(h, ev->file);
	int64_t flags = ev->arg == REEL_NO_OFFSET ? 0 : ev->arg;
	bool creating = (flags & O_CREAT) || ev->call == REEL_CALL_MKSTEMP;
	bool appended = (flags & O_APPEND) && ev->pos > 0, guessed;

	if ((flags & O_TMPFILE) == O_TMPFILE) {
		/* Never in the directory; but the directory was there. */
		if (!ev->err) {
			p->made = p->fresh = p->changed = true;
			p->before = NO;
			p->now = YES;
		}
		return EFFECT_NONE;
	}
	if (flags & O_DIRECTORY && !ev->err)
		fsstate_dir(p, true);
	if (flags & O_ACCMODE && !(flags & O_PATH) && !ev->err)
		fsstate_no_dir(p);
	if (ev->err)
		return fsstate_failed(h, ev->file, ev->err, creating);
	if (appended && p->now == UNKNOWN)
		fsstate_exists(h, ev->file);
	/* Two at one time: what the other found, it had been appended. */
	if (flags & O_APPEND && !ev->pos && p->exact && !p->changed)
		p->size = 0;
	if (creating && (p->now != YES || flags & O_EXCL ||
			 ev->call == REEL_CALL_MKSTEMP)) {
		fsstate_met(h, ev->file, false, p->now == YES);
		guessed = !p->before &&
			  !(flags & (O_EXCL | O_TRUNC | O_APPEND)) &&
			  ev->call != REEL_CALL_MKSTEMP;
		fsstate_created(h, ev->file);
		p->guessed = guessed;
		return EFFECT_CREATE;
	}
	fsstate_exists(h, ev->file);
	if (appended)
		fsstate_saw_size(h, p, ev->pos, true);
	if (!(flags & O_TRUNC))
		return EFFECT_USE;
	p->changed = p->fresh = true;
	p->guessed = false;
	p->written = 0;
	p->origin = 0;
	fsstate_take_room(h, p, -p->room);
	return EFFECT_TRUNCATE;
}

static enum effect looked(struct fsstate *h, const struct reel_event *ev,
			  struct reel_error *err)
{
	struct path *p = fsstate_path(h, ev->file);
	bool link = ev->call == REEL_CALL_READLINK ||
		    ev->call == REEL_CALL_READLINKAT;

	if (ev->err)
		return fsstate_failed(h, ev->file, ev->err, false);
	fsstate_exists(h, ev->file);
	if (link && p->before == YES && !p->changed) {
		p->link = true;
		p->link_bytes = ev->result;
	}
	/* The size of what is no regular file is not recorded. */
	if (ev->call == REEL_CALL_SCANDIR || ev->call == REEL_CALL_CHDIR ||
	    (ev->call == REEL_CALL_STAT && ev->pos == REEL_NO_OFFSET))
		fsstate_dir(p, true);
	if ((ev->call == REEL_CALL_ACCESS || ev->call == REEL_CALL_FACCESSAT) &&
	    ev->arg != REEL_NO_OFFSET && ev->arg & X_OK)
		p->exec = true;
	if (ev->call == REEL_CALL_SCANDIR && ev->result >= 0)
		listings_read(h->listings, ev, h->me, err);
	if (ev->pos != REEL_NO_OFFSET && !p->holds)
		fsstate_no_dir(p); /* it was guessed to be one */
	if (ev->pos != REEL_NO_OFFSET && !p->dir)
		fsstate_saw_size(h, p, ev->pos, true);
	return EFFECT_USE;
}

static enum effect made(struct fsstate *h, const struct reel_event *ev)
{
	struct path *p = fsstate_path(h, ev->file);
	bool dir = ev->call == REEL_CALL_MKDIR || ev->call == REEL_CALL_MKDIRAT;

	if (ev->err) {
		/* It mostly is one, until more is known of it. */
		if (dir && !p->now && !p->before)
			fsstate_dir(p, true);
		return fsstate_failed(h, ev->file, ev->err, true);
	}
	fsstate_created(h, ev->file);
	p->dir = dir;
	if (dir)
		listings_made(h->listings, ev->file);
	if (ev->call == REEL_CALL_SYMLINK || ev->call == REEL_CALL_SYMLINKAT)
		p->target = ev->file2;
	return EFFECT_CREATE;
}

/* The file that the call was about: through a link that the job made. */
static uint32_t behind_link(struct fsstate *h, const struct reel_event *ev)
{
	uint32_t target = fsstate_path(h, ev->file)->target;

	return !target || target >= h->job->files || ev->file2 ||
			       is_nofollow(ev)
		       ? ev->file
		       : target;
}

/* What others did to the file of a call by path is done before the call. */
static void count_others(struct fsstate *h, const struct reel_event *ev)
{
	const struct effects *now = h->now;

	if (ev->fd >= 0 && ev->group != REEL_GROUP_OPEN)
		return;
	if (now->appeared || now->vanished)
		fsstate_count_entry(h, now->met, now->appeared - now->vanished);
	if (now->appeared && fsstate_path(h, now->met)->dir)
		listings_made(h->listings, now->met);
}

/* An empty directory goes; one that stood in for a file's, too. */
static bool removes_dir(struct fsstate *h, const struct reel_event *ev)
{
	return !ev->err && fsstate_path(h, ev->file)->dir &&
	       (ev->call == REEL_CALL_RMDIR || ev->call == REEL_CALL_REMOVE ||
		(ev->call == REEL_CALL_UNLINKAT && ev->arg & AT_REMOVEDIR));
}

/* What was taken for a directory, having no size: a fifo, a socket. */
static bool removes_other(const struct reel_event *ev)
{
	return !ev->err &&
	       (ev->call == REEL_CALL_UNLINK ||
		(ev->call == REEL_CALL_UNLINKAT &&
		 (ev->arg == REEL_NO_OFFSET || !(ev->arg & AT_REMOVEDIR))));
}

/* Messages, and memory that was never in a directory. */
static bool nameless(const struct fsstate *h, const struct reel_event *ev)
{
	static const char shared[] = "/dev/shm/";
	const char *path = h->job->file[ev->file].path;

	if (ev->kind == REEL_KIND_MEMORY)
		return !path || strncmp(path, shared, sizeof(shared) - 1);
	return ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET;
}

/* One that is opened by a path was there, or has been made. */
static void named_pipe(struct fsstate *h, const struct reel_event *ev)
{
	struct path *p = fsstate_path(h, ev->file);
	const char *path = h->job->file[ev->file].path;

	if (ev->kind != REEL_KIND_PIPE || !path || path[0] != '/' || ev->err)
		return;
	if (ev->call == REEL_CALL_MKFIFO || ev->call == REEL_CALL_MKFIFOAT ||
	    ev->call == REEL_CALL_MKNOD || ev->call == REEL_CALL_MKNODAT) {
		h->now->file = fsstate_created(h, ev->file);
	} else if (ev->group == REEL_GROUP_OPEN) {
		h->now->file = fsstate_exists(h, ev->file);
		p->fifo |= p->before == YES && !p->made;
	} else if (removes_other(ev)) {
		h->now->file = fsstate_removed(h, ev->file);
	}
}

uint64_t fsstate_room(const struct fsstate *h)
{
	return (uint64_t)h->most_room;
}

size_t fsstate_lines(const struct fsstate *h, const struct reel_event *ev,
		     const int64_t **at)
{
	if (ev->group != REEL_GROUP_WRITE || ev->err ||
	    is_mapped_access(ev->call) || is_two_fd_copy(ev->call) ||
	    ev->offset < 0 || ev->result <= 0 || ev->offset > INT64_MAX / 4 ||
	    ev->result > INT64_MAX / 4)
		return 0;
	return lines_of(h->lines, ev->open, ev->offset, ev->offset + ev->result,
			at);
}

bool fsstate_used(const struct fsstate *h, uint32_t file)
{
	return h->path[file].handled;
}

bool fsstate_not_dir(const struct fsstate *h, uint32_t file)
{
	return h->path[file].other;
}

/* What the call is on, but for one that opens: that is told afterwards. */
static uint32_t content_of(const struct fsstate *h, const struct reel_event *ev,
			   struct reel_error *err)
{
	struct inodes *c = h->inodes;

	if (!ev->file)
		return 0;
	if (ev->open && ev->group != REEL_GROUP_OPEN)
		return inodes_opened(c, ev->open, ev->file, err);
	return ev->call == REEL_CALL_TRUNCATE || ev->call == REEL_CALL_LINK ||
			       ev->call == REEL_CALL_LINKAT
		       ? inodes_named(c, ev->file, err)
		       : c->of_file[ev->file];
}

/* What the call did to the names of contents. */
static int name_contents(struct fsstate *h, const struct reel_event *ev,
			 struct effects *out, struct reel_error *err)
{
	struct inodes *c = h->inodes;

	if (ev->file2 && out->file2 == EFFECT_CREATE) {
		if (out->file == EFFECT_CREATE)
			inodes_swapped(c, ev->file, ev->file2);
		else
			inodes_moved(c, ev->file, ev->file2,
				     out->file != EFFECT_REMOVE);
		return 0;
	}
	if (out->file == EFFECT_CREATE || out->file == EFFECT_REMOVE ||
	    out->appeared || out->vanished)
		inodes_gone(c, ev->file);
	if (ev->group == REEL_GROUP_OPEN && ev->open && !ev->err) {
		c->of_open[ev->open] = 0;
		out->content = inodes_opened(c, ev->open, ev->file, err);
	}
	return err->code ? -1 : 0;
}

static enum effect unlinked(struct fsstate *h, const struct reel_event *ev,
			    struct reel_error *err)
{
	struct path *p = fsstate_path(h, ev->file);

	if (removes_dir(h, ev))
		listings_removed(h->listings, ev->file, h->me, err);
	if (removes_other(ev)) {
		p->other |= p->dir;
		fsstate_no_dir(p);
	}
	return ev->err ? fsstate_failed(h, ev->file, ev->err, false)
		       : fsstate_removed(h, ev->file);
}

static enum effect truncated(struct fsstate *h, const struct reel_event *ev,
			     struct reel_error *err)
{
	enum effect effect = looked(h, ev, err);
	struct path *p = fsstate_path(h, ev->file);

	if (!ev->err)
		fsstate_no_dir(p);
	p->changed |= !ev->err;
	p->guessed &= !!ev->err;
	p->intact &= !!ev->err;
	return effect;
}

int fsstate_event(struct fsstate *h, const struct reel_event *given,
		  const struct call_ref *me, struct effects *out,
		  struct reel_error *err)
{
	struct reel_event at = *given;
	const struct reel_event *ev = &at;

	at.offset = fsstate_offset(h, given);
	at.file = behind_link(h, given);
	*out = (struct effects){.file = EFFECT_NONE, .file2 = EFFECT_NONE};
	h->now = out;
	h->me = me;
	h->nofollow = is_nofollow(ev);
	out->content = content_of(h, ev, err);
	if (ev->open && ev->group != REEL_GROUP_OPEN &&
	    ev->kind == REEL_KIND_FILE)
		at.file = inodes_name(h->inodes, ev->open, ev->file);
	if (!ev->file || nameless(h, ev)) {
		if (ev->file)
			named_pipe(h, ev);
		return name_contents(h, ev, out, err);
	}
	if (!is_probe(ev->call))
		fsstate_path(h, given->file)->handled = true;
	switch (ev->call) {
	case REEL_CALL_RENAME:
	case REEL_CALL_RENAMEAT:
	case REEL_CALL_RENAMEAT2:
	case REEL_CALL_LINK:
	case REEL_CALL_LINKAT:
		fsstate_renamed(h, ev, out);
		break;
	case REEL_CALL_MKDIR:
	case REEL_CALL_MKDIRAT:
	case REEL_CALL_SYMLINK:
	case REEL_CALL_SYMLINKAT:
	case REEL_CALL_MKFIFO:
	case REEL_CALL_MKFIFOAT:
	case REEL_CALL_MKNOD:
	case REEL_CALL_MKNODAT:
		out->file = made(h, ev);
		break;
	case REEL_CALL_UNLINKAT:
	case REEL_CALL_UNLINK:
	case REEL_CALL_REMOVE:
	case REEL_CALL_RMDIR:
	case REEL_CALL_SHM_UNLINK:
		out->file = unlinked(h, ev, err);
		break;
	case REEL_CALL_TRUNCATE:
		out->file = truncated(h, ev, err);
		break;
	default:
		if (ev->group == REEL_GROUP_OPEN)
			out->file = opened(h, ev);
		else if (ev->fd >= 0)
			fsstate_on_descriptor(h, ev, err);
		else
			out->file = looked(h, ev, err);
	}
	out->dir = fsstate_path(h, ev->file)->dir;
	count_others(h, ev);
	if (name_contents(h, ev, out, err))
		return -1;
	if (out->appeared ||
	    (ev->group == REEL_GROUP_OPEN &&
	     (out->file == EFFECT_CREATE || out->file == EFFECT_TRUNCATE)))
		lines_fresh(h->lines, ev->file);
	return err->code || lines_event(h->lines, ev,
					fsstate_path(h, ev->file)->changed, err)
		       ? -1
		       : 0;
}

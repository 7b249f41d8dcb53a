/* SPDX-License-Identifier: MIT */
/*
 * Rules for paths: a path is used between its creation and its removal, a
 * directory is created before its entries and removed after them, and a
 * listing waits for the changes of entries before it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/store/event.h"

#include "replay/deps/internal.h"
#include "replay/fsstate/inodes.h"

/* Drop the uses that were over at @at_ns. */
static void drop_users_until(struct users *u, int64_t at_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->n; i++)
		if (u->more[i].end_ns > at_ns)
			u->more[n++] = u->more[i];
	u->n = n;
	if (u->one.stream != JOB_NONE && u->one.end_ns <= at_ns)
		u->one = n ? u->more[--u->n] : NO_CALL;
}

/*
 * A path below a directory is used after the directory is created or renamed.
 * If the two overlapped: only when the result proves the order, because the
 * call found the path, or missed one that was removed.
 */
static int after_dirs_above(struct deps *d, const struct reel_event *ev,
			    uint32_t file, const struct call_ref *call,
			    struct reel_error *err)
{
	while ((file = path_tree_above(&d->tree, file))) {
		const struct path_uses *dir = &d->path[file];
		bool proven = dir->removed ? ev->err == ENOENT : !ev->err;
		int64_t until_ns = call->end_ns - (proven ? 0 : ev->dur_ns);

		if (dir->change.stream != JOB_NONE &&
		    dir->change.end_ns <= until_ns &&
		    deps_add(d, &dir->change, call, err) < 0)
			return -1;
	}
	return 0;
}

/* @file is below the directory @dir, which is renamed to @to: the inode of
 * @file has another path from now on. */
static void rename_below(struct deps *d, uint32_t file, uint32_t dir,
			 uint32_t to)
{
	const char *path = d->job->file[file].path;
	const char *from = d->job->file[dir].path;
	char name[PATH_MAX];
	uint32_t new_file;
	int n;

	if (!d->inodes->of_file[file] || !path || !from ||
	    !d->job->file[to].path)
		return;
	n = snprintf(name, sizeof(name), "%s%s", d->job->file[to].path,
		     path + strlen(from));
	if (n < 0 || (size_t)n >= sizeof(name))
		return;
	new_file = job_find(d->job, name, (size_t)n);
	if (new_file)
		inodes_rename(d->inodes, file, new_file, false);
}

/* A directory is changed after all uses of paths below it. @to: it is renamed
 * to that, or 0. */
static int after_uses_below(struct deps *d, const struct reel_event *ev,
			    uint32_t dir, uint32_t to,
			    const struct call_ref *call, struct reel_error *err)
{
	uint32_t file;

	while ((file = path_tree_take(&d->tree, dir))) {
		const struct path_uses *p = &d->path[file];
		uint32_t inode = d->inodes->of_file[file];
		const struct inode_uses *c = NULL;

		if (inode && !(c = deps_inode(d, inode, file, err)))
			return -1;
		if (deps_after(d, &p->change, ev, call, err) ||
		    deps_after_users(d, &p->users, JOB_NONE, ev, call, err) ||
		    (c && deps_after_writers(d, c, ev, call, err)))
			return -1;
		if (to)
			rename_below(d, file, dir, to);
	}
	return 0;
}

/* Remember the uses before an external change: if an overlapping call proves
 * to be the cause, it waits for them. */
static void save_old_uses(struct path_uses *p)
{
	struct users old = p->old_users;

	p->old_change = p->change;
	p->old_users = p->users;
	p->users = old;
}

int deps_after_old_uses(struct deps *d, const struct reel_event *ev,
			uint32_t file, const struct call_ref *call,
			struct reel_error *err)
{
	const struct path_uses *p = &d->path[file];

	return deps_after(d, &p->old_change, ev, call, err) ||
			       deps_after_users(d, &p->old_users, JOB_NONE, ev,
						call, err)
		       ? -1
		       : 0;
}

/* @ev changes the path: it waits for the uses before it. */
static int on_change(struct deps *d, const struct reel_event *ev,
		     const struct path_use *use, const struct call_ref *call,
		     struct reel_error *err)
{
	struct path_uses *p = &d->path[use->file];
	struct path_uses *dir = &d->path[d->job->file[use->file].parent];

	if (deps_after_users(d, &p->users, JOB_NONE, ev, call, err) ||
	    (dir != d->path &&
	     deps_after_users(d, &dir->listers, JOB_NONE, ev, call, err)) ||
	    after_uses_below(d, ev, use->file, use->renamed_to, call, err))
		return -1;
	if (use->external)
		save_old_uses(p);
	/* The next change waits for the uses that overlap with this one. */
	drop_users_until(&p->users, ev->start_ns);
	if (p->change.stream != JOB_NONE && p->change.end_ns > ev->start_ns &&
	    users_add(&p->users, &p->change, err))
		return -1;
	p->change = *call;
	p->removed = use->effect == EFFECT_REMOVE || ev->err == ENOENT;
	if (use->effect != EFFECT_TRUNCATE)
		dir->entry_change = *call;
	return 0;
}

int deps_on_path(struct deps *d, const struct reel_event *ev,
		 const struct path_use *use, const struct call_ref *call,
		 struct reel_error *err)
{
	struct path_uses *p = &d->path[use->file];
	struct inode_uses *inode = use->inode;

	if (use->effect == EFFECT_NONE)
		return 0;
	path_tree_add(&d->tree, use->file);
	if (deps_after(d, &p->change, ev, call, err) ||
	    after_dirs_above(d, ev, use->file, call, err))
		return -1;
	/* A directory is listed or removed after the changes of its entries. */
	if ((use->effect == EFFECT_REMOVE || ev->call == REEL_CALL_OPENDIR ||
	     ev->call == REEL_CALL_SCANDIR) &&
	    deps_after(d, &p->entry_change, ev, call, err))
		return -1;
	if (ev->group == REEL_GROUP_STAT && inode &&
	    deps_after_writers(d, inode, ev, call, err))
		return -1;
	if (ev->call == REEL_CALL_SCANDIR && users_add(&p->listers, call, err))
		return -1;
	if ((use->effect == EFFECT_TRUNCATE ||
	     ev->call == REEL_CALL_TRUNCATE) &&
	    inode && deps_on_truncate(d, ev, inode, call, err))
		return -1;
	if (use->effect == EFFECT_USE && !use->external)
		return users_add(&p->users, call, err);
	return on_change(d, ev, use, call, err);
}

int deps_on_entries(struct deps *d, const struct reel_event *ev,
		    const struct call_ref *call, struct reel_error *err)
{
	struct path_uses *p = &d->path[ev->file];

	return deps_after(d, &p->entry_change, ev, call, err) ||
			       users_add(&p->listers, call, err)
		       ? -1
		       : 0;
}

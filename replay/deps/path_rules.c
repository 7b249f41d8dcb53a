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
static void after_dirs_above(struct deps *d, uint32_t file)
{
	const struct reel_event *ev = d->ev;

	while ((file = path_tree_above(&d->tree, file))) {
		const struct path_uses *dir = &d->path[file];
		bool proven = dir->removed ? ev->err == ENOENT : !ev->err;

		if (dir->change.stream != JOB_NONE &&
		    dir->change.end_ns <=
			    d->call->end_ns - (proven ? 0 : ev->dur_ns))
			deps_add(d, &dir->change, d->call, d->err);
	}
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
static void after_uses_below(struct deps *d, uint32_t dir, uint32_t to)
{
	uint32_t file;

	while ((file = path_tree_take(&d->tree, dir))) {
		const struct path_uses *p = &d->path[file];
		uint32_t inode = d->inodes->of_file[file];
		const struct inode_uses *c =
			inode ? deps_inode(d, inode, file) : NULL;

		deps_after(d, &p->change);
		deps_after_users(d, &p->users, JOB_NONE);
		if (c)
			deps_after_writers(d, c);
		if (to)
			rename_below(d, file, dir, to);
	}
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

void deps_after_old_uses(struct deps *d, uint32_t file)
{
	deps_after(d, &d->path[file].old_change);
	deps_after_users(d, &d->path[file].old_users, JOB_NONE);
}

/* The call changes the path: it waits for the uses before it. */
static void on_change(struct deps *d, const struct path_use *use)
{
	struct path_uses *p = &d->path[use->file];
	struct path_uses *dir = &d->path[d->job->file[use->file].parent];

	deps_after_users(d, &p->users, JOB_NONE);
	if (dir != d->path)
		deps_after_users(d, &dir->listers, JOB_NONE);
	after_uses_below(d, use->file, use->renamed_to);
	if (use->external)
		save_old_uses(p);
	/* The next change waits for the uses that overlap with this one. */
	drop_users_until(&p->users, d->since_ns);
	if (p->change.stream != JOB_NONE && p->change.end_ns > d->since_ns)
		users_add(&p->users, &p->change, d->err);
	p->change = *d->call;
	p->removed = use->effect == EFFECT_REMOVE || d->ev->err == ENOENT;
	if (use->effect != EFFECT_TRUNCATE)
		dir->entry_change = *d->call;
}

void deps_on_path(struct deps *d, const struct path_use *use)
{
	const struct reel_event *ev = d->ev;
	struct path_uses *p = &d->path[use->file];
	struct inode_uses *inode = use->inode;
	bool scans = ev->call == REEL_CALL_SCANDIR;

	if (use->effect == EFFECT_NONE)
		return;
	path_tree_add(&d->tree, use->file);
	deps_after(d, &p->change);
	after_dirs_above(d, use->file);
	/* A directory is listed or removed after the changes of its entries. */
	if (use->effect == EFFECT_REMOVE || ev->call == REEL_CALL_OPENDIR ||
	    scans)
		deps_after(d, &p->entry_change);
	if (ev->group == REEL_GROUP_STAT && inode)
		deps_after_writers(d, inode);
	if (scans)
		users_add(&p->listers, d->call, d->err);
	if ((use->effect == EFFECT_TRUNCATE ||
	     ev->call == REEL_CALL_TRUNCATE) &&
	    inode)
		deps_on_truncate(d, inode);
	if (use->effect == EFFECT_USE && !use->external)
		users_add(&p->users, d->call, d->err);
	else
		on_change(d, use);
}

void deps_on_entries(struct deps *d)
{
	struct path_uses *p = &d->path[d->ev->file];

	deps_after(d, &p->entry_change);
	users_add(&p->listers, d->call, d->err);
}

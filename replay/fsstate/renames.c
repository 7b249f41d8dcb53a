/* SPDX-License-Identifier: MIT */
/*
 * Renames and hard links: the path that gets a file's bytes remembers the
 * initial path of these bytes as its origin.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/store/event.h"

#include "replay/fsstate/internal.h"
#include "replay/model/recorded_job.h"

static bool is_exchange(const struct reel_event *ev)
{
	return ev->call == REEL_CALL_RENAMEAT2 && ev->arg & RENAME_EXCHANGE;
}

/* @q now has the bytes that @file had, whose state was @p. */
static void take_bytes(struct path_state *q, const struct path_state *p,
		       uint32_t file)
{
	q->changed = true;
	q->fresh = true;
	q->origin = p->origin ? p->origin : p->fresh ? 0 : file;
	q->intact = q->origin && (p->origin ? p->intact : !p->changed);
	q->dir = p->dir;
	q->written = p->written;
	q->target = p->target;
}

/* RENAME_EXCHANGE: both paths existed, and still do. */
static void exchange_paths(struct fsstate *fs, const struct reel_event *ev,
			   struct effects *out)
{
	struct path_state *p = fsstate_path(fs, ev->file),
			  *q = fsstate_path(fs, ev->file2);
	struct path_state a, b;

	fsstate_found(fs, ev->file);
	fsstate_found(fs, ev->file2);
	a = *p;
	b = *q;
	take_bytes(p, &b, ev->file2);
	take_bytes(q, &a, ev->file);
	p->disk_bytes = b.disk_bytes;
	q->disk_bytes = a.disk_bytes;
	out->file = out->file2 = EFFECT_CREATE;
}

static bool same_dir(const struct fsstate *fs, uint32_t file, uint32_t file2)
{
	const char *a = fs->job->file[file].path,
		   *b = fs->job->file[file2].path;
	const char *end = a ? strrchr(a, '/') : NULL;
	const char *end2 = b ? strrchr(b, '/') : NULL;

	return end && end2 && end - a == end2 - b &&
	       !memcmp(a, b, (size_t)(end - a));
}

/* The kernel checks for an existing target last. ENOENT may be about either
 * path. */
static void rename_failed(struct fsstate *fs, const struct reel_event *ev)
{
	uint32_t dir = fs->job->file[ev->file2].parent;
	bool either = is_exchange(ev) || (fs->path[dir].now != PRESENT &&
					  !same_dir(fs, ev->file, ev->file2));

	if (ev->err == EEXIST || ev->err == ENOTEMPTY || ev->err == EISDIR) {
		fsstate_found(fs, ev->file);
		fsstate_failed(fs, ev->file2, ev->err, true);
	} else if (ev->err != ENOENT || !either ||
		   fsstate_path(fs, ev->file)->now != PRESENT) {
		fsstate_failed(fs, ev->file, ev->err, false);
	}
}

void fsstate_rename(struct fsstate *fs, const struct reel_event *ev,
		    struct effects *out)
{
	bool link = reel_call_traits(ev->call) & REEL_TRAIT_LINKS;
	struct path_state *p = fsstate_path(fs, ev->file),
			  *q = fsstate_path(fs, ev->file2);
	struct path_state old;

	out->file = out->file2 = EFFECT_USE;
	if (ev->err) {
		rename_failed(fs, ev);
		return;
	}
	if (is_exchange(ev)) {
		exchange_paths(fs, ev, out);
		return;
	}
	if (!link && !p->dir)
		fsstate_set_not_dir(q);
	old = *p;
	out->file = link ? fsstate_found(fs, ev->file)
			 : fsstate_removed(fs, ev->file);
	out->file2 = fsstate_created(fs, ev->file2);
	fsstate_add_disk_bytes(fs, q, link ? 0 : old.disk_bytes);
	take_bytes(q, &old, ev->file);
	lines_rename(fs->lines, ev->file, ev->file2, link);
}

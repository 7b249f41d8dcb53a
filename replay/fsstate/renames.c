/* SPDX-License-Identifier: MIT */
/*
 * Renames and hard links: bytes that were there before the job go by another
 * name, the origin, from then on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/store/event.h"

#include "replay/fsstate/internal.h"
#include "replay/fsstate/line_ends.h"
#include "replay/model/recorded_job.h"

static bool swaps(const struct reel_event *ev)
{
	return ev->call == REEL_CALL_RENAMEAT2 && ev->arg & RENAME_EXCHANGE;
}

/* @q is now what @p, as it was, is another name of: of @file. */
static void take_content(struct path *q, const struct path *p, uint32_t file)
{
	q->changed = true;
	q->fresh = true;
	q->origin = p->origin ? p->origin : p->fresh ? 0 : file;
	q->intact = q->origin && (p->origin ? p->intact : !p->changed);
	q->dir = p->dir;
	q->written = p->written;
	q->target = p->target;
}

/* RENAME_EXCHANGE: both were there, and are. */
static void exchanged(struct fsstate *h, const struct reel_event *ev,
		      struct effects *out)
{
	struct path *p = fsstate_path(h, ev->file),
		    *q = fsstate_path(h, ev->file2);
	struct path a, b;

	fsstate_exists(h, ev->file);
	fsstate_exists(h, ev->file2);
	a = *p;
	b = *q;
	take_content(p, &b, ev->file2);
	take_content(q, &a, ev->file);
	p->room = b.room;
	q->room = a.room;
	out->file = out->file2 = EFFECT_CREATE;
}

static bool same_dir(const struct fsstate *h, uint32_t file, uint32_t file2)
{
	const char *a = h->job->file[file].path, *b = h->job->file[file2].path;
	const char *end = a ? strrchr(a, '/') : NULL;
	const char *end2 = b ? strrchr(b, '/') : NULL;

	return end && end2 && end - a == end2 - b &&
	       !memcmp(a, b, (size_t)(end - a));
}

/* What is in the way is asked for last; and what is missing need not be first.
 */
static void not_renamed(struct fsstate *h, const struct reel_event *ev)
{
	uint32_t up = h->job->file[ev->file2].parent;
	bool either = swaps(ev) || (h->path[up].now != YES &&
				    !same_dir(h, ev->file, ev->file2));

	if (ev->err == EEXIST || ev->err == ENOTEMPTY || ev->err == EISDIR) {
		fsstate_exists(h, ev->file);
		fsstate_failed(h, ev->file2, ev->err, true);
	} else if (ev->err != ENOENT || !either ||
		   fsstate_path(h, ev->file)->now != YES) {
		fsstate_failed(h, ev->file, ev->err, false);
	}
}

void fsstate_renamed(struct fsstate *h, const struct reel_event *ev,
		     struct effects *out)
{
	bool link = ev->call == REEL_CALL_LINK || ev->call == REEL_CALL_LINKAT;
	struct path *p = fsstate_path(h, ev->file),
		    *q = fsstate_path(h, ev->file2);
	struct path had;

	out->file = out->file2 = EFFECT_USE;
	if (ev->err) {
		not_renamed(h, ev);
		return;
	}
	if (swaps(ev)) {
		exchanged(h, ev, out);
		return;
	}
	if (!link && !p->dir)
		fsstate_no_dir(q);
	had = *p;
	out->file = link ? fsstate_exists(h, ev->file)
			 : fsstate_removed(h, ev->file);
	out->file2 = fsstate_created(h, ev->file2);
	fsstate_take_room(h, q, link ? 0 : had.room);
	take_content(q, &had, ev->file);
	lines_moved(h->lines, ev->file, ev->file2, link);
}

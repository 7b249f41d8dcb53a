/* SPDX-License-Identifier: MIT */
/*
 * Compares every listing with the entries that the replay will find. Where they
 * differ, an annotation adds or removes placeholders just before the listing.
 */
#include "replay/fsstate/dir_listings.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/model/recorded_job.h"

/* The entries "." and "..". */
#define DOTS 2

struct dir {
	int64_t before; /* entries before the job; exact once known */
	int64_t net;	/* added since, minus removed */
	uint32_t named; /* of those before: used by a recorded call */
	bool listed, known;
};

/* A listing in progress. */
struct scan {
	uint32_t dir;
	struct call_ref first;
	int64_t net; /* of the directory, at the first call */
	int64_t entries;
};

struct listings {
	const struct job *job;
	struct annotations *annotations;
	struct dir *dir;	  /* by file id */
	struct reel_intmap opens; /* open id -> scan */
	struct scan *scan;
	uint32_t scan_room;
};

int listings_new(struct listings **out, const struct job *job,
		 struct annotations *annotations, struct reel_error *err)
{
	struct listings *l = reel_alloc(1, sizeof(*l), err);

	if (!l)
		return -1;
	l->job = job;
	l->annotations = annotations;
	l->dir = reel_alloc(job->files, sizeof(*l->dir), err);
	if (!l->dir) {
		listings_free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void listings_free(struct listings *l)
{
	if (!l)
		return;
	reel_intmap_fini(&l->opens);
	free(l->scan);
	free(l->dir);
	free(l);
}

void listings_dir_created(struct listings *l, uint32_t dir)
{
	struct dir *d = &l->dir[dir];

	/* The count from before the job is that of an earlier directory. */
	*d = (struct dir){.before = d->before, .known = true};
	d->net = DOTS - d->before;
}

void listings_add_entries(struct listings *l, uint32_t dir, int n)
{
	l->dir[dir].net += n;
}

int listings_take_initial(struct listings *l, uint32_t dir)
{
	struct dir *d = &l->dir[dir];

	if (d->known && d->named + DOTS >= d->before)
		return 0;
	d->named++;
	return 1;
}

static int require_entries(struct listings *l, struct dir *d,
			   const struct call_ref *at, int64_t net,
			   int64_t entries, struct reel_error *err)
{
	struct annotation note = {.stream = at->stream,
				  .call = at->index,
				  .kind = ANNOTATION_ENTRIES,
				  .ns = entries};

	d->net += entries - (d->before + net);
	return annotations_add(l->annotations, &note, err);
}

/* A listing that began with the call @at returned @entries; the job had added
 * @net entries by then. */
static int end_listing(struct listings *l, struct dir *d,
		       const struct call_ref *at, int64_t net, int64_t entries,
		       bool whole, struct reel_error *err)
{
	d->listed = true;
	if (!d->known) {
		if (whole || entries - net > d->before)
			d->before = entries - net;
		d->known = whole;
		return 0;
	}
	if (whole ? entries == d->before + net : entries <= d->before + net)
		return 0;
	return require_entries(l, d, at, net, entries, err);
}

static int end_scan(struct listings *l, struct scan *s, bool whole,
		    struct reel_error *err)
{
	int64_t entries = s->entries;

	s->entries = 0;
	return entries ? end_listing(l, &l->dir[s->dir], &s->first, s->net,
				     entries, whole, err)
		       : 0;
}

int listings_dir_removed(struct listings *l, uint32_t dir,
			 const struct call_ref *call, struct reel_error *err)
{
	struct dir *d = &l->dir[dir];

	if (!d->listed || (d->known && d->before + d->net == DOTS))
		return 0;
	return require_entries(l, d, call, d->net, DOTS, err);
}

int listings_event(struct listings *l, const struct reel_event *ev,
		   const struct call_ref *call, struct reel_error *err)
{
	struct dir *d = &l->dir[ev->file];
	struct scan *s;
	uint32_t i;

	if (ev->call == REEL_CALL_SCANDIR)
		/* Its filter may have dropped entries. */
		return end_listing(l, d, call, d->net, ev->result, false, err);
	if (!ev->open)
		return 0;
	i = reel_intmap_get(&l->opens, ev->open, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&l->scan, &l->scan_room, i, sizeof(*l->scan), err))
		return -1;
	s = &l->scan[i];
	if (!s->entries) {
		s->dir = ev->file;
		s->first = *call;
		s->net = d->net;
	}
	if (ev->result > 0) {
		s->entries += ev->count;
		return 0;
	}
	return end_scan(l, s, true, err);
}

int listings_end(struct listings *l, uint32_t open, struct reel_error *err)
{
	uint32_t i = reel_intmap_find(&l->opens, open);

	return i == REEL_NO_INDEX ? 0 : end_scan(l, &l->scan[i], false, err);
}

int64_t listings_initial_entries(const struct listings *l, uint32_t dir)
{
	return l->dir[dir].listed && l->dir[dir].before ? l->dir[dir].before
							: -1;
}

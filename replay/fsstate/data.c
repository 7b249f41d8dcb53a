/* SPDX-License-Identifier: MIT */
/*
 * What calls on descriptors tell of the bytes of a file: how many there were
 * before the job, where its lines ended, and where the position is.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/internal.h"
#include "replay/fsstate/line_ends.h"
#include "replay/fsstate/used_extents.h"
#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

#define LINES_MOST (1 << 20) /* of one record; more is no trace of ours */

void fsstate_saw_size(struct fsstate *h, struct path *p, int64_t size,
		      bool exact)
{
	if (p->origin) {
		if (!p->intact)
			return;
		p = fsstate_path(h, p->origin);
	} else if (p->changed) {
		/* Made by "open or create", and longer than was written. */
		if (exact || size <= p->written || p->before == NO)
			return;
	}
	if (p->exact || size < 0)
		return;
	if (exact || size > p->size)
		p->size = size;
	p->exact = exact;
}

static void line_ends(struct path *p, int64_t end, struct reel_error *err)
{
	if (p->lines == p->line_room) {
		uint32_t room = p->line_room ? 2 * p->line_room : 16;

		if (reel_grow(&p->line, room, sizeof(*p->line), err))
			return;
		p->line_room = room;
	}
	p->line[p->lines++] = end - 1;
	p->line_end = end;
}

/* Of several lines in one record only the sum is known: they are alike. */
static void read_lines(struct fsstate *h, struct path *p,
		       const struct reel_event *ev, struct reel_error *err)
{
	bool there =
		lines_old(h->lines, ev) && ev->offset + ev->result <= p->size;
	bool some = ev->count > 1 && ev->count <= LINES_MOST;
	int64_t n = some ? ev->count : 1, each = ev->result / n;
	int64_t first = each + ev->result % n;

	if (ev->call == REEL_CALL_FGETS && ev->result >= ev->asked)
		return; /* the buffer was full, not the line */
	if ((p->changed && !there) || ev->offset < p->line_end || !each)
		return;
	for (int64_t i = 0; i < n && !err->code; i++)
		line_ends(p, ev->offset + first + i * each, err);
}

/* Does a read of less than it asked for tell where the file ends? */
static bool short_at_end(const struct path *p, const struct reel_event *ev)
{
	if (ev->result >= ev->asked || ev->layer != REEL_LAYER_POSIX)
		return false;
	/* These end where what they write to is full, too. */
	if (ev->result > 0 && is_two_fd_copy(ev->call) &&
	    ev->call != REEL_CALL_COPY_FILE_RANGE)
		return false;
	return ev->result > 0 || ev->offset == p->size;
}

int64_t fsstate_offset(struct fsstate *h, const struct reel_event *ev)
{
	int64_t *reached =
		ev->open < h->job->opens ? &h->reached[ev->open] : NULL;
	int64_t at = ev->offset;

	if (!reached || !ev->open || ev->err || ev->result < 0 ||
	    ev->result > INT64_MAX / 4)
		return at;
	if (ev->group == REEL_GROUP_OPEN) {
		*reached =
			ev->arg != REEL_NO_OFFSET && ev->arg & O_APPEND ? 0 : 1;
		return at;
	}
	if (ev->call == REEL_CALL_PREAD || ev->call == REEL_CALL_PREADV ||
	    ev->call == REEL_CALL_PREADV2 || ev->call == REEL_CALL_PWRITE ||
	    ev->call == REEL_CALL_PWRITEV || ev->call == REEL_CALL_PWRITEV2 ||
	    ev->call == REEL_CALL_MMAP || is_mapped_access(ev->call) ||
	    is_async(ev))
		return at;
	if (at == REEL_NO_OFFSET && *reached)
		at = *reached - 1;
	if (at < 0 || at > INT64_MAX / 4)
		return at;
	if (ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE)
		*reached = 1 + at + ev->result;
	else if (ev->group == REEL_GROUP_SEEK)
		*reached = 1 + at;
	return at;
}

/* Only so much of it as was written: before may be a hole. */
static void grown(struct fsstate *h, struct path *p, int64_t end, int64_t bytes)
{
	int64_t had =
		p->before == YES && p->size > p->written ? p->size : p->written;

	if (end > had)
		fsstate_take_room(h, p, end - had < bytes ? end - had : bytes);
}

/* Of the bytes that were there before, whatever their name is now. */
static void uses(struct fsstate *h, const struct reel_event *ev,
		 struct reel_error *err)
{
	struct path *p = fsstate_path(h, ev->file);

	if (p->origin)
		extents_event(&fsstate_path(h, p->origin)->used, ev, err);
	else if (!p->fresh)
		extents_event(&p->used, ev, err);
}

static void moved(struct fsstate *h, struct path *p,
		  const struct reel_event *ev, struct reel_error *err)
{
	int64_t end;

	if (ev->err || ev->offset == REEL_NO_OFFSET || ev->offset < 0 ||
	    ev->result < 0 || ev->offset > INT64_MAX / 4 ||
	    ev->result > INT64_MAX / 4)
		return;
	end = ev->offset + ev->result;
	if (ev->group == REEL_GROUP_WRITE) {
		if (!ev->result)
			return; /* no byte, not even the first */
		/* What lay before the first byte written was there. */
		if (!p->changed && ev->offset > p->size && !p->exact)
			p->size = ev->offset;
		p->changed = true;
		p->intact = false;
		grown(h, p, end, ev->result);
		if (end > p->written)
			p->written = end;
		return;
	}
	if (ev->result > 0 &&
	    (ev->call == REEL_CALL_FGETS || ev->call == REEL_CALL_GETLINE))
		read_lines(h, p, ev, err);
	else if (short_at_end(p, ev))
		fsstate_saw_size(h, p, end, true); /* the end of the file */
	if (ev->result > 0)
		fsstate_saw_size(h, p, end, false);
}

void fsstate_on_descriptor(struct fsstate *h, const struct reel_event *ev,
			   struct reel_error *err)
{
	struct path *p = fsstate_path(h, ev->file);

	if (p->now == UNKNOWN)
		fsstate_exists(h, ev->file);
	fsstate_check_guess(h, ev);
	uses(h, ev, err);
	switch (ev->call) {
	case REEL_CALL_FSTAT:
	case REEL_CALL_FSTATAT: /* AT_EMPTY_PATH */
	case REEL_CALL_STATX:
		if (!ev->err && ev->pos != REEL_NO_OFFSET)
			fsstate_saw_size(h, p, ev->pos, true);
		return;
	case REEL_CALL_LSEEK:
		/* Data has a byte; who looks for the end goes no further. */
		if (!ev->err && (!p->changed || p->intact) &&
		    ev->arg != SEEK_SET && ev->arg != SEEK_CUR)
			fsstate_saw_size(h, p,
					 ev->result + (ev->arg == SEEK_DATA),
					 false);
		return;
	case REEL_CALL_FTRUNCATE:
	case REEL_CALL_FALLOCATE:
	case REEL_CALL_POSIX_FALLOCATE:
		p->changed = true;
		p->intact = false;
		return;
	case REEL_CALL_READDIR:
		fsstate_dir(p, true);
		if (!ev->err)
			listings_read(h->listings, ev, h->me, err);
		return;
	case REEL_CALL_REWINDDIR:
	case REEL_CALL_CLOSEDIR:
		listings_closed(h->listings, ev->open, err);
		return;
	case REEL_CALL_MMAP:
		if (!ev->err && ev->offset >= 0 && !p->changed &&
		    ev->offset < INT64_MAX / 4 && ev->asked < INT64_MAX / 4 &&
		    ev->offset + ev->asked > p->map_end)
			p->map_end = ev->offset + ev->asked;
		return;
	}
	if (ev->call == REEL_CALL_MAP_WRITE) {
		p->changed = true;
		p->intact = false;
	} else if (ev->call != REEL_CALL_MAP_READ &&
		   (ev->group == REEL_GROUP_READ ||
		    ev->group == REEL_GROUP_WRITE)) {
		moved(h, p, ev, err);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The bytes of files, as calls on descriptors show them: how many there were
 * before the job, where lines ended, and the position of a description.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/internal.h"
#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

#define LINES_MOST (1 << 20) /* of one record; a larger count is damage */

void fsstate_found_size(struct fsstate *fs, struct path_state *p, int64_t size,
			bool exact)
{
	if (p->origin) {
		if (!p->intact)
			return;
		p = fsstate_path(fs, p->origin);
	} else if (p->changed) {
		/* Opened with O_CREAT, and longer than the job wrote. */
		if (exact || size <= p->written || p->before == ABSENT)
			return;
	}
	if (p->exact || size < 0)
		return;
	if (exact || size > p->size)
		p->size = size;
	p->exact = exact;
}

static void add_line_end(struct path_state *p, int64_t end,
			 struct reel_error *err)
{
	if (reel_array_reach(&p->line, &p->line_room, p->lines,
			     sizeof(*p->line), err))
		return;
	p->line[p->lines++] = end - 1;
	p->line_end = end;
}

/* A record of several lines has only their sum: take equal lengths. */
static void read_lines(struct fsstate *fs, struct path_state *p,
		       const struct reel_event *ev, struct reel_error *err)
{
	bool initial = lines_is_initial(fs->lines, ev) &&
		       ev->offset + ev->result <= p->size;
	bool several = ev->count > 1 && ev->count <= LINES_MOST;
	int64_t n = several ? ev->count : 1, each = ev->result / n;
	int64_t first = each + ev->result % n;

	if (ev->call == REEL_CALL_FGETS && ev->result >= ev->asked)
		return; /* the buffer was full, not the line */
	if ((p->changed && !initial) || ev->offset < p->line_end || !each)
		return;
	for (int64_t i = 0; i < n && !err->code; i++)
		add_line_end(p, ev->offset + first + i * each, err);
}

/* Does a short read show where the file ends? */
static bool short_at_end(const struct path_state *p,
			 const struct reel_event *ev)
{
	if (ev->result >= ev->asked || ev->layer != REEL_LAYER_POSIX)
		return false;
	/* These are short when the pipe or socket they write to is full. */
	if (ev->result > 0 && is_two_fd_copy(ev->call) &&
	    ev->call != REEL_CALL_COPY_FILE_RANGE)
		return false;
	return ev->result > 0 || ev->offset == p->size;
}

int64_t fsstate_offset(struct fsstate *fs, const struct reel_event *ev)
{
	int64_t *position =
		ev->open < fs->job->opens ? &fs->position[ev->open] : NULL;
	int64_t at = ev->offset;

	if (!position || !ev->open || ev->err || ev->result < 0 ||
	    ev->result > INT64_MAX / 4)
		return at;
	if (ev->group == REEL_GROUP_OPEN) {
		*position =
			ev->arg != REEL_NO_OFFSET && ev->arg & O_APPEND ? 0 : 1;
		return at;
	}
	if (!uses_position(ev) || ev->call == REEL_CALL_MMAP || is_async(ev))
		return at;
	if (at == REEL_NO_OFFSET && *position)
		at = *position - 1;
	if (at < 0 || at > INT64_MAX / 4)
		return at;
	if (ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE)
		*position = 1 + at + ev->result;
	else if (ev->group == REEL_GROUP_SEEK)
		*position = 1 + at;
	return at;
}

/* A write behind the end adds only its own bytes: there is a hole between. */
static void grow_file(struct fsstate *fs, struct path_state *p, int64_t end,
		      int64_t bytes)
{
	int64_t old_end = p->before == PRESENT && p->size > p->written
				  ? p->size
				  : p->written;

	if (end > old_end)
		fsstate_add_disk_bytes(
			fs, p, end - old_end < bytes ? end - old_end : bytes);
}

/* Note the initial bytes that @ev uses, whatever their path is now. */
static void note_extents(struct fsstate *fs, const struct reel_event *ev,
			 struct reel_error *err)
{
	struct path_state *p = fsstate_path(fs, ev->file);

	if (p->origin)
		extents_event(&fsstate_path(fs, p->origin)->extents, ev, err);
	else if (!p->fresh)
		extents_event(&p->extents, ev, err);
}

static void read_or_write(struct fsstate *fs, struct path_state *p,
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
			return;
		/* The bytes before the first one written existed. */
		if (!p->changed && ev->offset > p->size && !p->exact)
			p->size = ev->offset;
		p->changed = true;
		p->intact = false;
		grow_file(fs, p, end, ev->result);
		if (end > p->written)
			p->written = end;
		return;
	}
	if (ev->result > 0 &&
	    reel_call_traits(ev->call) & REEL_TRAIT_READS_LINE)
		read_lines(fs, p, ev, err);
	else if (short_at_end(p, ev))
		fsstate_found_size(fs, p, end, true); /* the end of the file */
	if (ev->result > 0)
		fsstate_found_size(fs, p, end, false);
}

void fsstate_fd_call(struct fsstate *fs, const struct reel_event *ev,
		     struct reel_error *err)
{
	struct path_state *p = fsstate_path(fs, ev->file);

	if (p->now == UNKNOWN)
		fsstate_found(fs, ev->file);
	fsstate_check_o_creat(fs, ev);
	note_extents(fs, ev, err);
	switch (ev->call) {
	case REEL_CALL_FSTAT:
	case REEL_CALL_FSTATAT: /* AT_EMPTY_PATH */
	case REEL_CALL_STATX:
		if (!ev->err && ev->pos != REEL_NO_OFFSET)
			fsstate_found_size(fs, p, ev->pos, true);
		return;
	case REEL_CALL_LSEEK:
		/* SEEK_DATA finds a byte, SEEK_END and SEEK_HOLE an end. */
		if (!ev->err && (!p->changed || p->intact) &&
		    ev->arg != SEEK_SET && ev->arg != SEEK_CUR)
			fsstate_found_size(fs, p,
					   ev->result + (ev->arg == SEEK_DATA),
					   false);
		return;
	case REEL_CALL_READDIR:
		fsstate_set_dir(p, true);
		if (!ev->err)
			listings_event(fs->listings, ev, fs->call, err);
		return;
	case REEL_CALL_REWINDDIR:
	case REEL_CALL_CLOSEDIR:
		listings_end(fs->listings, ev->open, err);
		return;
	case REEL_CALL_MMAP:
		if (!ev->err && ev->offset >= 0 && !p->changed &&
		    ev->offset < INT64_MAX / 4 && ev->asked < INT64_MAX / 4 &&
		    ev->offset + ev->asked > p->map_end)
			p->map_end = ev->offset + ev->asked;
		return;
	}
	if (ev->call == REEL_CALL_MAP_WRITE || is_resize(ev)) {
		p->changed = true;
		p->intact = false;
	} else if (ev->call != REEL_CALL_MAP_READ &&
		   (ev->group == REEL_GROUP_READ ||
		    ev->group == REEL_GROUP_WRITE)) {
		read_or_write(fs, p, ev, err);
	}
}

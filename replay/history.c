/* SPDX-License-Identifier: MIT */
/*
 * Infers the state of the file system before the job from what the job saw.
 *
 * A path has two unknowns, "was it there before" and "is it there now"; the
 * first call that needs an answer gives it. Sizes are believed only while the
 * job has not changed the file itself.
 */
#include "replay/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/event.h"

#include "replay/extents.h"
#include "replay/history_state.h"
#include "replay/job.h"
#include "replay/lines.h"
#include "replay/listings.h"
#include "replay/role.h"

#define LINES_MOST (1 << 20) /* of one record; more is no trace of ours */

static void now_dir(struct path *p, bool dir)
{
	p->dir = dir;
	if (!p->changed)
		p->was_dir = dir;
}

/* What can be written is none. Where paths led through it, it was a link to one. */
static void no_dir(struct path *p)
{
	if (p->holds && p->before != NO && !p->changed)
		p->link = true;
	else
		now_dir(p, p->is_dir = false);
}

int history_new(struct history **out, const struct job *job,
		struct listings *listings, struct reel_error *err)
{
	struct history *h = reel_alloc(1, sizeof(*h), err);

	if (!h)
		return -1;
	h->job = job;
	h->listings = listings;
	h->path = reel_alloc(job->files, sizeof(*h->path), err);
	h->reached = reel_alloc(job->opens, sizeof(*h->reached), err);
	if (!h->path || !h->reached || lines_new(&h->lines, job, err)) {
		history_free(h);
		return -1;
	}
	for (uint32_t i = 0; i < job->files; i++)
		h->path[i].dir = h->path[i].is_dir =
			job->file[i].kind == REEL_KIND_DIR ||
			(job->file[i].path && !strcmp(job->file[i].path, "/"));
	*out = h;
	return 0;
}

void history_free(struct history *h)
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

static struct path *path_of(struct history *h, uint32_t file)
{
	return &h->path[file < h->job->files ? file : 0];
}

static void dir_above(struct history *h, uint32_t dir, bool there)
{
	struct path *p = &h->path[dir];

	now_dir(p, true);
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
static void dirs_above(struct history *h, uint32_t file, bool there)
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

/* The call found it there. */
static enum effect exists(struct history *h, uint32_t file)
{
	struct path *p = path_of(h, file);
	const char *path = h->job->file[file].path;

	if (p->now == UNKNOWN && p->before == UNKNOWN) {
		bool new = path && path[0] == '/' &&
			   (history_below_new(h, path, strlen(path)) ||
			    !listings_room(h->listings,
					   h->job->file[file].parent));

		p->before = new ? NO : YES;
		h->now->appeared |= new;
		dirs_above(h, file, !new);
	}
	h->now->appeared |= p->now == NO;
	if (h->now->appeared)
		p->changed = true;
	p->now = YES;
	p->looked = true;
	p->followed |= !h->nofollow;
	return EFFECT_USE;
}

/* The call did not find it. */
static enum effect missing(struct history *h, uint32_t file)
{
	struct path *p = path_of(h, file);

	if (p->now == UNKNOWN && p->before == UNKNOWN) {
		p->before = NO;
		dirs_above(h, file, false);
	}
	if (p->before == YES && p->looked && !p->changed && !p->followed &&
	    !h->nofollow) {
		p->link = p->dangling = true;
		return EFFECT_USE;
	}
	h->now->vanished |= p->now == YES;
	p->now = NO;
	return EFFECT_USE;
}

static void count_entry(struct history *h, uint32_t file, int n)
{
	listings_change(h->listings, h->job->file[file].parent, n);
}

/* What the job's writes take on the disk, beyond what was there. */
static void take_room(struct history *h, struct path *p, int64_t bytes)
{
	if (bytes > INT64_MAX / 4 - h->room)
		return; /* of no disk */
	p->room += bytes;
	h->room += bytes;
	if (h->room > h->most_room)
		h->most_room = h->room;
}

static enum effect created(struct history *h, uint32_t file)
{
	struct path *p = path_of(h, file);

	if (p->before == UNKNOWN) {
		p->before = NO;
		dirs_above(h, file, false);
	}
	if (p->now != YES)
		count_entry(h, file, 1);
	p->now = YES;
	p->changed = p->made = p->fresh = true;
	p->written = 0;
	p->target = p->origin = 0;
	take_room(h, p, -p->room);
	return EFFECT_CREATE;
}

/* What nobody has written was there: LMDB and the like open with O_CREAT. */
static void check_guess(struct history *h, const struct reel_event *ev)
{
	struct path *p = path_of(h, ev->file);
	bool writes = (ev->group == REEL_GROUP_WRITE && ev->result > 0) ||
		      ev->call == REEL_CALL_FTRUNCATE ||
		      ev->call == REEL_CALL_FALLOCATE ||
		      ev->call == REEL_CALL_POSIX_FALLOCATE;
	bool found = ev->group == REEL_GROUP_READ ? ev->result > 0 :
		     ev->group == REEL_GROUP_STAT ? ev->pos > 0 :
		     ev->call == REEL_CALL_LSEEK  ? ev->arg == SEEK_END &&
							    ev->result > 0 :
						    false;

	if (!p->guessed || ev->err || (!writes && !found))
		return;
	p->guessed = false;
	if (writes)
		return;
	p->before = YES;
	p->changed = p->fresh = p->made = false;
	count_entry(h, ev->file, -1);
	dirs_above(h, ev->file, true);
}

static enum effect removed(struct history *h, uint32_t file)
{
	struct path *p = path_of(h, file);

	exists(h, file);
	p->now = NO;
	p->changed = true;
	p->guessed = false;
	take_room(h, p, -p->room);
	count_entry(h, file, -1);
	return EFFECT_REMOVE;
}

static enum effect failed(struct history *h, uint32_t file, int err,
			  bool creating)
{
	struct path *p = path_of(h, file);
	uint32_t up = h->job->file[file].parent;

	if (err == ENOENT && !creating)
		return missing(h, file);
	if (err == EACCES || err == EPERM)
		p->denied = true;
	if (err == EISDIR || err == ENOTEMPTY)
		now_dir(p, true);
	if (err == ELOOP && h->nofollow && p->before != NO && !p->changed)
		p->link = true;
	if (err == EEXIST || err == EACCES || err == EISDIR ||
	    err == ENOTEMPTY || err == EINVAL || err == EBUSY ||
	    (err == ELOOP && h->nofollow) ||
	    (err == ENOTDIR && !creating && h->path[up].dir))
		return exists(h, file);
	return EFFECT_USE;
}

/* While the job has not touched it, what it reads was there. */
static void saw_size(struct history *h, struct path *p, int64_t size,
		     bool exact)
{
	if (p->origin) {
		if (!p->intact)
			return;
		p = path_of(h, p->origin);
	} else if (p->changed) {
		/* Made by "open or create", and longer than what was written. */
		if (exact || size <= p->written || p->before == NO)
			return;
	}
	if (p->exact || size < 0)
		return;
	if (exact || size > p->size)
		p->size = size;
	p->exact = exact;
}

static enum effect opened(struct history *h, const struct reel_event *ev)
{
	struct path *p = path_of(h, ev->file);
	int64_t flags = ev->arg == REEL_NO_OFFSET ? 0 : ev->arg;
	bool creating = (flags & O_CREAT) || ev->call == REEL_CALL_MKSTEMP;
	bool appended = (flags & O_APPEND) && ev->pos > 0;

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
		now_dir(p, true);
	if (flags & O_ACCMODE && !(flags & O_PATH) && !ev->err)
		no_dir(p);
	if (ev->err)
		return failed(h, ev->file, ev->err, creating);
	if (appended && p->now == UNKNOWN)
		exists(h, ev->file);
	/* Two at one time: what the other found, it had been appended. */
	if (flags & O_APPEND && !ev->pos && p->exact && !p->changed)
		p->size = 0;
	if (creating && (p->now != YES || flags & O_EXCL ||
			 ev->call == REEL_CALL_MKSTEMP)) {
		h->now->vanished |= p->now == YES;
		p->guessed = !p->before &&
			     !(flags & (O_EXCL | O_TRUNC | O_APPEND)) &&
			     ev->call != REEL_CALL_MKSTEMP;
		return created(h, ev->file);
	}
	exists(h, ev->file);
	if (appended)
		saw_size(h, p, ev->pos, true);
	if (!(flags & O_TRUNC))
		return EFFECT_USE;
	p->changed = p->fresh = true;
	p->written = 0;
	p->origin = 0;
	take_room(h, p, -p->room);
	return EFFECT_TRUNCATE;
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
static void read_lines(struct history *h, struct path *p,
		       const struct reel_event *ev, struct reel_error *err)
{
	bool there = lines_old(h->lines, ev) &&
		     ev->offset + ev->result <= p->size;
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
	if (ev->result > 0 && role_copies(ev->call) &&
	    ev->call != REEL_CALL_COPY_FILE_RANGE)
		return false;
	return ev->result > 0 || ev->offset == p->size;
}

/*
 * Where the call read or wrote. What the store does not know, because two
 * threads moved the position, is still the sum of what was moved.
 */
static int64_t offset_of(struct history *h, const struct reel_event *ev)
{
	int64_t *reached = ev->open < h->job->opens ? &h->reached[ev->open] :
						      NULL;
	int64_t at = ev->offset;

	if (!reached || !ev->open || ev->err || ev->result < 0 ||
	    ev->result > INT64_MAX / 4)
		return at;
	if (ev->group == REEL_GROUP_OPEN) {
		*reached = ev->arg != REEL_NO_OFFSET && ev->arg & O_APPEND ? 0 :
									     1;
		return at;
	}
	if (ev->call == REEL_CALL_PREAD || ev->call == REEL_CALL_PREADV ||
	    ev->call == REEL_CALL_PREADV2 || ev->call == REEL_CALL_PWRITE ||
	    ev->call == REEL_CALL_PWRITEV || ev->call == REEL_CALL_PWRITEV2 ||
	    ev->call == REEL_CALL_MMAP || role_mapped(ev->call) ||
	    role_async(ev))
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
static void grown(struct history *h, struct path *p, int64_t end, int64_t bytes)
{
	int64_t had = p->before == YES && p->size > p->written ? p->size :
								 p->written;

	if (end > had)
		take_room(h, p, end - had < bytes ? end - had : bytes);
}

/* Of the bytes that were there before, whatever their name is now. */
static void uses(struct history *h, const struct reel_event *ev,
		 struct reel_error *err)
{
	struct path *p = path_of(h, ev->file);

	if (p->origin)
		extents_event(&path_of(h, p->origin)->used, ev, err);
	else if (!p->fresh)
		extents_event(&p->used, ev, err);
}

static void moved(struct history *h, struct path *p,
		  const struct reel_event *ev, struct reel_error *err)
{
	int64_t end;

	if (ev->err || ev->offset == REEL_NO_OFFSET || ev->offset < 0 ||
	    ev->result < 0 || ev->offset > INT64_MAX / 4 ||
	    ev->result > INT64_MAX / 4)
		return;
	end = ev->offset + ev->result;
	if (ev->group == REEL_GROUP_WRITE) {
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
		saw_size(h, p, end, true); /* the end of the file */
	if (ev->result > 0)
		saw_size(h, p, end, false);
}

static void on_descriptor(struct history *h, const struct reel_event *ev,
			  struct reel_error *err)
{
	struct path *p = path_of(h, ev->file);

	if (p->now == UNKNOWN)
		exists(h, ev->file);
	check_guess(h, ev);
	uses(h, ev, err);
	switch (ev->call) {
	case REEL_CALL_FSTAT:
	case REEL_CALL_FSTATAT: /* AT_EMPTY_PATH */
	case REEL_CALL_STATX:
		if (!ev->err && ev->pos != REEL_NO_OFFSET)
			saw_size(h, p, ev->pos, true);
		return;
	case REEL_CALL_LSEEK:
		/* Data has a byte; who looks for the end goes no further. */
		if (!ev->err && (!p->changed || p->intact) &&
		    ev->arg != SEEK_SET && ev->arg != SEEK_CUR)
			saw_size(h, p, ev->result + (ev->arg == SEEK_DATA),
				 false);
		return;
	case REEL_CALL_FTRUNCATE:
	case REEL_CALL_FALLOCATE:
	case REEL_CALL_POSIX_FALLOCATE:
		p->changed = true;
		p->intact = false;
		return;
	case REEL_CALL_READDIR:
		now_dir(p, true);
		if (!ev->err)
			listings_read(h->listings, ev, h->me, err);
		return;
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

static enum effect looked(struct history *h, const struct reel_event *ev,
			  struct reel_error *err)
{
	struct path *p = path_of(h, ev->file);
	bool link = ev->call == REEL_CALL_READLINK ||
		    ev->call == REEL_CALL_READLINKAT;

	if (ev->err)
		return failed(h, ev->file, ev->err, false);
	exists(h, ev->file);
	if (link && p->before == YES && !p->changed) {
		p->link = true;
		p->link_bytes = ev->result;
	}
	/* The size of what is no regular file is not recorded. */
	if (ev->call == REEL_CALL_SCANDIR || ev->call == REEL_CALL_CHDIR ||
	    (ev->call == REEL_CALL_STAT && ev->pos == REEL_NO_OFFSET))
		now_dir(p, true);
	if ((ev->call == REEL_CALL_ACCESS || ev->call == REEL_CALL_FACCESSAT) &&
	    ev->arg != REEL_NO_OFFSET && ev->arg & X_OK)
		p->exec = true;
	if (ev->call == REEL_CALL_SCANDIR && ev->result >= 0)
		listings_read(h->listings, ev, h->me, err);
	if (ev->pos != REEL_NO_OFFSET && !p->holds)
		no_dir(p); /* it was guessed to be one */
	if (ev->pos != REEL_NO_OFFSET && !p->dir)
		saw_size(h, p, ev->pos, true);
	return EFFECT_USE;
}

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
static void exchanged(struct history *h, const struct reel_event *ev,
		      struct effects *out)
{
	struct path *p = path_of(h, ev->file), *q = path_of(h, ev->file2);
	struct path a, b;

	exists(h, ev->file);
	exists(h, ev->file2);
	a = *p;
	b = *q;
	take_content(p, &b, ev->file2);
	take_content(q, &a, ev->file);
	p->room = b.room;
	q->room = a.room;
	out->file = out->file2 = EFFECT_CREATE;
}

/* What is in the way is asked for last; and what is missing need not be first. */
static void not_renamed(struct history *h, const struct reel_event *ev)
{
	uint32_t up = h->job->file[ev->file2].parent;
	bool either = swaps(ev) || h->path[up].now != YES;

	if (ev->err == EEXIST || ev->err == ENOTEMPTY || ev->err == EISDIR) {
		exists(h, ev->file);
		failed(h, ev->file2, ev->err, true);
	} else if (ev->err != ENOENT || !either ||
		   path_of(h, ev->file)->now != YES) {
		failed(h, ev->file, ev->err, false);
	}
}

static void renamed(struct history *h, const struct reel_event *ev,
		    struct effects *out)
{
	bool link = ev->call == REEL_CALL_LINK || ev->call == REEL_CALL_LINKAT;
	struct path *p = path_of(h, ev->file), *q = path_of(h, ev->file2);
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
		no_dir(q);
	had = *p;
	out->file = link ? exists(h, ev->file) : removed(h, ev->file);
	out->file2 = created(h, ev->file2);
	take_room(h, q, link ? 0 : had.room);
	take_content(q, &had, ev->file);
	lines_moved(h->lines, ev->file, ev->file2, link);
}

static enum effect made(struct history *h, const struct reel_event *ev)
{
	struct path *p = path_of(h, ev->file);
	bool dir = ev->call == REEL_CALL_MKDIR || ev->call == REEL_CALL_MKDIRAT;

	if (ev->err) {
		/* It mostly is one, until more is known of it. */
		if (dir && !p->now && !p->before)
			now_dir(p, true);
		return failed(h, ev->file, ev->err, true);
	}
	created(h, ev->file);
	p->dir = dir;
	if (dir)
		listings_made(h->listings, ev->file);
	if (ev->call == REEL_CALL_SYMLINK || ev->call == REEL_CALL_SYMLINKAT)
		p->target = ev->file2;
	return EFFECT_CREATE;
}

/* The file that the call was about: through a link that the job made. */
static uint32_t behind_link(struct history *h, const struct reel_event *ev)
{
	uint32_t target = path_of(h, ev->file)->target;

	return !target || target >= h->job->files || ev->file2 ||
			       role_nofollow(ev) ?
		       ev->file : target;
}

/* What others did to the file of a call by path is done before the call. */
static void count_others(struct history *h, const struct reel_event *ev)
{
	const struct effects *now = h->now;

	if (ev->fd >= 0 && ev->group != REEL_GROUP_OPEN)
		return;
	count_entry(h, ev->file, now->appeared - now->vanished);
	if (now->appeared && path_of(h, ev->file)->dir)
		listings_made(h->listings, ev->file);
}

/* An empty directory goes; one that stood in for a file's, too. */
static bool removes_dir(struct history *h, const struct reel_event *ev)
{
	return !ev->err && path_of(h, ev->file)->dir &&
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
static bool nameless(const struct history *h, const struct reel_event *ev)
{
	static const char shared[] = "/dev/shm/";
	const char *path = h->job->file[ev->file].path;

	if (ev->kind == REEL_KIND_MEMORY)
		return !path || strncmp(path, shared, sizeof(shared) - 1);
	return ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET;
}

/* One that is opened by a path was there, or has been made. */
static void named_pipe(struct history *h, const struct reel_event *ev)
{
	struct path *p = path_of(h, ev->file);
	const char *path = h->job->file[ev->file].path;

	if (ev->kind != REEL_KIND_PIPE || !path || path[0] != '/' || ev->err)
		return;
	if (ev->call == REEL_CALL_MKFIFO || ev->call == REEL_CALL_MKFIFOAT ||
	    ev->call == REEL_CALL_MKNOD || ev->call == REEL_CALL_MKNODAT) {
		h->now->file = created(h, ev->file);
	} else if (ev->group == REEL_GROUP_OPEN) {
		exists(h, ev->file);
		p->fifo |= p->before == YES && !p->made;
	} else if (removes_other(ev)) {
		h->now->file = removed(h, ev->file);
	}
}

uint64_t history_room(const struct history *h)
{
	return (uint64_t)h->most_room;
}

size_t history_lines(const struct history *h, const struct reel_event *ev,
		     const int64_t **at)
{
	if (ev->group != REEL_GROUP_WRITE || ev->err || role_mapped(ev->call) ||
	    role_copies(ev->call) || ev->offset < 0 || ev->result <= 0 ||
	    ev->offset > INT64_MAX / 4 || ev->result > INT64_MAX / 4)
		return 0;
	return lines_of(h->lines, ev->open, ev->offset, ev->offset + ev->result,
			at);
}

bool history_handled(const struct history *h, uint32_t file)
{
	return h->path[file].handled;
}

int history_event(struct history *h, const struct reel_event *given,
		  const struct who *me, struct effects *out,
		  struct reel_error *err)
{
	struct reel_event at = *given;
	const struct reel_event *ev = &at;

	at.offset = offset_of(h, given);
	at.file = behind_link(h, given);
	*out = (struct effects){ EFFECT_NONE, EFFECT_NONE, 0, 0, 0 };
	h->now = out;
	h->me = me;
	h->nofollow = role_nofollow(ev);
	if (!ev->file || nameless(h, ev)) {
		if (ev->file)
			named_pipe(h, ev);
		return err->code ? -1 : 0;
	}
	if (!role_looks(ev->call))
		path_of(h, given->file)->handled = true;
	switch (ev->call) {
	case REEL_CALL_RENAME:
	case REEL_CALL_RENAMEAT:
	case REEL_CALL_RENAMEAT2:
	case REEL_CALL_LINK:
	case REEL_CALL_LINKAT:
		renamed(h, ev, out);
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
		if (removes_dir(h, ev))
			listings_removed(h->listings, ev->file, me, err);
		if (removes_other(ev))
			no_dir(path_of(h, ev->file));
		out->file = ev->err ? failed(h, ev->file, ev->err, false) :
				      removed(h, ev->file);
		break;
	case REEL_CALL_TRUNCATE:
		out->file = looked(h, ev, err);
		if (!ev->err)
			no_dir(path_of(h, ev->file));
		path_of(h, ev->file)->changed |= !ev->err;
		path_of(h, ev->file)->intact &= !!ev->err;
		break;
	default:
		if (ev->group == REEL_GROUP_OPEN)
			out->file = opened(h, ev);
		else if (ev->fd >= 0)
			on_descriptor(h, ev, err);
		else
			out->file = looked(h, ev, err);
	}
	out->dir = path_of(h, ev->file)->dir;
	count_others(h, ev);
	if (out->appeared || (ev->group == REEL_GROUP_OPEN &&
			      (out->file == EFFECT_CREATE ||
			       out->file == EFFECT_TRUNCATE)))
		lines_fresh(h->lines, ev->file);
	return err->code || lines_event(h->lines, ev,
					path_of(h, ev->file)->changed, err) ?
		       -1 :
		       0;
}

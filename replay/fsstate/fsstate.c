/* SPDX-License-Identifier: MIT */
/*
 * Infers the state of the file system before the job from the results of the
 * job's calls.
 *
 * This file has the way of one event, and the calls by path; paths.c has the
 * existence of paths, data.c the bytes behind descriptors, renames.c renames
 * and links. A size is the initial one only while the job has not changed the
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
#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

int fsstate_new(struct fsstate **out, const struct job *job,
		struct listings *listings, struct inodes *inodes,
		struct reel_error *err)
{
	struct fsstate *fs = reel_alloc(1, sizeof(*fs), err);

	if (!fs)
		return -1;
	fs->job = job;
	fs->listings = listings;
	fs->inodes = inodes;
	fs->path = reel_alloc(job->files, sizeof(*fs->path), err);
	fs->position = reel_alloc(job->opens, sizeof(*fs->position), err);
	if (!fs->path || !fs->position || lines_new(&fs->lines, job, err)) {
		fsstate_free(fs);
		return -1;
	}
	for (uint32_t i = 0; i < job->files; i++)
		fs->path[i].dir = fs->path[i].is_dir =
			job->file[i].kind == REEL_KIND_DIR ||
			(job->file[i].path && !strcmp(job->file[i].path, "/"));
	*out = fs;
	return 0;
}

void fsstate_free(struct fsstate *fs)
{
	if (!fs)
		return;
	for (uint32_t i = 0; fs->path && i < fs->job->files; i++) {
		free(fs->path[i].line);
		extents_free(fs->path[i].extents);
	}
	lines_free(fs->lines);
	free(fs->path);
	free(fs->position);
	free(fs);
}

static enum effect open_call(struct fsstate *fs, const struct reel_event *ev)
{
	struct path_state *p = fsstate_path(fs, ev->file);
	int64_t flags = ev->arg == REEL_NO_OFFSET ? 0 : ev->arg;
	bool creating = (flags & O_CREAT) || ev->call == REEL_CALL_MKSTEMP;
	bool appended = (flags & O_APPEND) && ev->pos > 0, may_exist;

	if ((flags & O_TMPFILE) == O_TMPFILE) {
		/* The new file has no entry; the directory existed. */
		if (!ev->err) {
			p->created = p->fresh = p->changed = true;
			p->before = ABSENT;
			p->now = PRESENT;
		}
		return EFFECT_NONE;
	}
	if (flags & O_DIRECTORY && !ev->err)
		fsstate_set_dir(p, true);
	if (flags & O_ACCMODE && !(flags & O_PATH) && !ev->err)
		fsstate_set_not_dir(p);
	if (ev->err)
		return fsstate_failed(fs, ev->file, ev->err, creating);
	if (appended && p->now == UNKNOWN)
		fsstate_found(fs, ev->file);
	/* Another call, overlapping, found bytes that were appended after this
	 * open. */
	if (flags & O_APPEND && !ev->pos && p->exact && !p->changed)
		p->size = 0;
	if (creating && (p->now != PRESENT || flags & O_EXCL ||
			 ev->call == REEL_CALL_MKSTEMP)) {
		fsstate_external_change(fs, ev->file, false, p->now == PRESENT);
		may_exist = !p->before &&
			    !(flags & (O_EXCL | O_TRUNC | O_APPEND)) &&
			    ev->call != REEL_CALL_MKSTEMP;
		fsstate_created(fs, ev->file);
		p->o_creat = may_exist;
		return EFFECT_CREATE;
	}
	fsstate_found(fs, ev->file);
	if (appended)
		fsstate_found_size(fs, p, ev->pos, true);
	if (!(flags & O_TRUNC))
		return EFFECT_USE;
	p->changed = p->fresh = true;
	p->o_creat = false;
	p->written = 0;
	p->origin = 0;
	fsstate_add_disk_bytes(fs, p, -p->disk_bytes);
	return EFFECT_TRUNCATE;
}

static enum effect stat_call(struct fsstate *fs, const struct reel_event *ev,
			     struct reel_error *err)
{
	struct path_state *p = fsstate_path(fs, ev->file);
	bool link = ev->call == REEL_CALL_READLINK ||
		    ev->call == REEL_CALL_READLINKAT;

	if (ev->err)
		return fsstate_failed(fs, ev->file, ev->err, false);
	fsstate_found(fs, ev->file);
	if (link && p->before == PRESENT && !p->changed) {
		p->link = true;
		p->link_bytes = ev->result;
	}
	/* Only the size of a regular file is recorded. */
	if (ev->call == REEL_CALL_SCANDIR || ev->call == REEL_CALL_CHDIR ||
	    (ev->call == REEL_CALL_STAT && ev->pos == REEL_NO_OFFSET))
		fsstate_set_dir(p, true);
	if ((ev->call == REEL_CALL_ACCESS || ev->call == REEL_CALL_FACCESSAT) &&
	    ev->arg != REEL_NO_OFFSET && ev->arg & X_OK)
		p->exec = true;
	if (ev->call == REEL_CALL_SCANDIR && ev->result >= 0)
		listings_event(fs->listings, ev, fs->call, err);
	if (ev->pos != REEL_NO_OFFSET && !p->traversed)
		fsstate_set_not_dir(p);
	if (ev->pos != REEL_NO_OFFSET && !p->dir)
		fsstate_found_size(fs, p, ev->pos, true);
	return EFFECT_USE;
}

static enum effect create_call(struct fsstate *fs, const struct reel_event *ev)
{
	struct path_state *p = fsstate_path(fs, ev->file);
	bool dir = ev->call == REEL_CALL_MKDIR || ev->call == REEL_CALL_MKDIRAT;

	if (ev->err) {
		/* Mostly a directory is in the way. */
		if (dir && !p->now && !p->before)
			fsstate_set_dir(p, true);
		return fsstate_failed(fs, ev->file, ev->err, true);
	}
	fsstate_created(fs, ev->file);
	p->dir = dir;
	if (dir)
		listings_dir_created(fs->listings, ev->file);
	if (ev->call == REEL_CALL_SYMLINK || ev->call == REEL_CALL_SYMLINKAT)
		p->target = ev->file2;
	return EFFECT_CREATE;
}

/* The file of the call, behind a link that the job made. */
static uint32_t behind_link(struct fsstate *fs, const struct reel_event *ev)
{
	uint32_t target = fsstate_path(fs, ev->file)->target;

	return !target || target >= fs->job->files || ev->file2 ||
			       is_nofollow(ev)
		       ? ev->file
		       : target;
}

/* External changes are made before a call by path: count their entries. */
static void count_external(struct fsstate *fs, const struct reel_event *ev)
{
	const struct effects *effects = fs->effects;

	if (ev->fd >= 0 && ev->group != REEL_GROUP_OPEN)
		return;
	if (effects->appeared || effects->vanished)
		fsstate_count_entry(fs, effects->changed_file,
				    effects->appeared - effects->vanished);
	if (effects->appeared && fsstate_path(fs, effects->changed_file)->dir)
		listings_dir_created(fs->listings, effects->changed_file);
}

/* rmdir() and its like, on a directory. */
static bool removes_dir(struct fsstate *fs, const struct reel_event *ev)
{
	return !ev->err && fsstate_path(fs, ev->file)->dir &&
	       (ev->call == REEL_CALL_RMDIR || ev->call == REEL_CALL_REMOVE ||
		(ev->call == REEL_CALL_UNLINKAT && ev->arg & AT_REMOVEDIR));
}

/* unlink() and its like: a path without a size that was taken for a directory
 * is a fifo or a socket. */
static bool removes_file(const struct reel_event *ev)
{
	return !ev->err &&
	       (ev->call == REEL_CALL_UNLINK ||
		(ev->call == REEL_CALL_UNLINKAT &&
		 (ev->arg == REEL_NO_OFFSET || !(ev->arg & AT_REMOVEDIR))));
}

/* Pipes, sockets, and memory files without a directory entry. */
static bool is_nameless(const struct fsstate *fs, const struct reel_event *ev)
{
	static const char shared[] = "/dev/shm/";
	const char *path = fs->job->file[ev->file].path;

	if (ev->kind == REEL_KIND_MEMORY)
		return !path || strncmp(path, shared, sizeof(shared) - 1);
	return ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET;
}

/* A pipe that is opened by a path existed, or the job made it. */
static void named_pipe_call(struct fsstate *fs, const struct reel_event *ev)
{
	struct path_state *p = fsstate_path(fs, ev->file);
	const char *path = fs->job->file[ev->file].path;

	if (ev->kind != REEL_KIND_PIPE || !path || path[0] != '/' || ev->err)
		return;
	if (reel_call_traits(ev->call) & REEL_TRAIT_CREATES) {
		fs->effects->file = fsstate_created(fs, ev->file);
	} else if (ev->group == REEL_GROUP_OPEN) {
		fs->effects->file = fsstate_found(fs, ev->file);
		p->fifo |= p->before == PRESENT && !p->created;
	} else if (removes_file(ev)) {
		fs->effects->file = fsstate_removed(fs, ev->file);
	}
}

uint64_t fsstate_peak_disk_bytes(const struct fsstate *fs)
{
	return (uint64_t)fs->peak_disk_bytes;
}

size_t fsstate_written_lines(const struct fsstate *fs,
			     const struct reel_event *ev, const int64_t **at)
{
	if (ev->group != REEL_GROUP_WRITE || ev->err ||
	    is_mapped_access(ev->call) || is_two_fd_copy(ev->call) ||
	    ev->offset < 0 || ev->result <= 0 || ev->offset > INT64_MAX / 4 ||
	    ev->result > INT64_MAX / 4)
		return 0;
	return lines_in_range(fs->lines, ev->open, ev->offset,
			      ev->offset + ev->result, at);
}

bool fsstate_is_used(const struct fsstate *fs, uint32_t file)
{
	return fs->path[file].used;
}

bool fsstate_not_dir(const struct fsstate *fs, uint32_t file)
{
	return fs->path[file].not_dir;
}

/* The inode of the call. An open gets it afterwards. */
static uint32_t inode_of(const struct fsstate *fs, const struct reel_event *ev,
			 struct reel_error *err)
{
	struct inodes *in = fs->inodes;

	if (!ev->file)
		return 0;
	if (ev->open && ev->group != REEL_GROUP_OPEN)
		return inodes_of_open(in, ev->open, ev->file, err);
	return ev->call == REEL_CALL_TRUNCATE ||
			       reel_call_traits(ev->call) &
				       (REEL_TRAIT_LINKS | REEL_TRAIT_RENAMES)
		       ? inodes_of_file(in, ev->file, err)
		       : in->of_file[ev->file];
}

/* Update the paths of inodes. */
static int update_inodes(struct fsstate *fs, const struct reel_event *ev,
			 struct effects *out, struct reel_error *err)
{
	struct inodes *in = fs->inodes;

	if (ev->file2 && out->file2 == EFFECT_CREATE) {
		if (out->file == EFFECT_CREATE)
			inodes_exchange(in, ev->file, ev->file2);
		else
			inodes_rename(in, ev->file, ev->file2,
				      out->file != EFFECT_REMOVE);
		return 0;
	}
	if (out->file == EFFECT_CREATE || out->file == EFFECT_REMOVE ||
	    out->appeared || out->vanished)
		inodes_unlink(in, ev->file);
	if (ev->group == REEL_GROUP_OPEN && ev->open && !ev->err) {
		in->of_open[ev->open] = 0;
		out->inode = inodes_of_open(in, ev->open, ev->file, err);
	}
	return err->code ? -1 : 0;
}

static enum effect remove_call(struct fsstate *fs, const struct reel_event *ev,
			       struct reel_error *err)
{
	struct path_state *p = fsstate_path(fs, ev->file);

	if (removes_dir(fs, ev))
		listings_dir_removed(fs->listings, ev->file, fs->call, err);
	if (removes_file(ev)) {
		p->not_dir |= p->dir;
		fsstate_set_not_dir(p);
	}
	return ev->err ? fsstate_failed(fs, ev->file, ev->err, false)
		       : fsstate_removed(fs, ev->file);
}

static enum effect truncate_call(struct fsstate *fs,
				 const struct reel_event *ev,
				 struct reel_error *err)
{
	enum effect effect = stat_call(fs, ev, err);
	struct path_state *p = fsstate_path(fs, ev->file);

	if (!ev->err)
		fsstate_set_not_dir(p);
	p->changed |= !ev->err;
	p->o_creat &= !!ev->err;
	p->intact &= !!ev->err;
	return effect;
}

int fsstate_event(struct fsstate *fs, const struct reel_event *given,
		  const struct call_ref *call, struct effects *out,
		  struct reel_error *err)
{
	struct reel_event at = *given;
	const struct reel_event *ev = &at;
	unsigned int traits = reel_call_traits(given->call);

	at.offset = fsstate_offset(fs, given);
	at.file = behind_link(fs, given);
	*out = (struct effects){.file = EFFECT_NONE, .file2 = EFFECT_NONE};
	fs->effects = out;
	fs->call = call;
	fs->nofollow = is_nofollow(ev);
	out->inode = inode_of(fs, ev, err);
	if (ev->open && ev->group != REEL_GROUP_OPEN &&
	    ev->kind == REEL_KIND_FILE)
		at.file = inodes_path(fs->inodes, ev->open, ev->file);
	if (!ev->file || is_nameless(fs, ev)) {
		if (ev->file)
			named_pipe_call(fs, ev);
		return update_inodes(fs, ev, out, err);
	}
	if (!is_probe(ev->call))
		fsstate_path(fs, given->file)->used = true;
	if (traits & (REEL_TRAIT_RENAMES | REEL_TRAIT_LINKS))
		fsstate_rename(fs, ev, out);
	else if (traits & REEL_TRAIT_CREATES)
		out->file = create_call(fs, ev);
	else if (traits & REEL_TRAIT_REMOVES)
		out->file = remove_call(fs, ev, err);
	else if (ev->call == REEL_CALL_TRUNCATE)
		out->file = truncate_call(fs, ev, err);
	else if (ev->group == REEL_GROUP_OPEN)
		out->file = open_call(fs, ev);
	else if (ev->fd >= 0)
		fsstate_fd_call(fs, ev, err);
	else
		out->file = stat_call(fs, ev, err);
	out->dir = fsstate_path(fs, ev->file)->dir;
	count_external(fs, ev);
	if (update_inodes(fs, ev, out, err))
		return -1;
	if (out->appeared ||
	    (ev->group == REEL_GROUP_OPEN &&
	     (out->file == EFFECT_CREATE || out->file == EFFECT_TRUNCATE)))
		lines_new_generation(fs->lines, ev->file);
	return err->code || lines_event(fs->lines, ev,
					fsstate_path(fs, ev->file)->changed,
					err)
		       ? -1
		       : 0;
}

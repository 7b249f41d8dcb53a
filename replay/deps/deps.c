/* SPDX-License-Identifier: MIT */
/*
 * The dependency graph, and the way of an event through the resource rules.
 * All state is per open file description, path, inode or descriptor number;
 * only the annotations of waits grow with the number of calls.
 */
#include "replay/deps/deps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/deps/internal.h"
#include "replay/model/recorded_job.h"

int deps_new(struct deps **out, const struct job *job,
	     struct annotations *annotations, struct inodes *inodes,
	     struct reel_error *err)
{
	struct deps *d = reel_alloc(1, sizeof(*d), err);

	if (!d)
		return -1;
	d->job = job;
	d->annotations = annotations;
	d->inodes = inodes;
	d->ofd = reel_alloc(job->opens, sizeof(*d->ofd), err);
	d->path = reel_alloc(job->files, sizeof(*d->path), err);
	if (!d->ofd || !d->path || path_tree_init(&d->tree, job, err)) {
		deps_free(d);
		return -1;
	}
	for (uint32_t i = 0; i < job->opens; i++)
		d->ofd[i].opener = d->ofd[i].last_move = d->ofd[i].users.one =
			NO_CALL;
	for (uint32_t i = 0; i < job->files; i++)
		d->path[i] = (struct path_uses){
			.change = NO_CALL,
			.entry_change = NO_CALL,
			.users.one = NO_CALL,
			.old_change = NO_CALL,
			.old_users.one = NO_CALL,
			.listers.one = NO_CALL,
		};
	for (uint32_t i = 0; i < job->opens; i++)
		d->path[job->open[i].file].writable |=
			job->open[i].flags < 0 ||
			job->open[i].flags & O_ACCMODE;
	*out = d;
	return 0;
}

void deps_free(struct deps *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; d->ofd && i < d->job->opens; i++)
		free(d->ofd[i].users.more);
	for (uint32_t i = 0; d->path && i < d->job->files; i++) {
		free(d->path[i].users.more);
		free(d->path[i].old_users.more);
		free(d->path[i].listers.more);
	}
	for (uint32_t i = 0; i < d->inode_room; i++) {
		free(d->inode[i].transfers.more);
		free(d->inode[i].eof_reads.more);
		free(d->inode[i].writers.more);
		append_order_free(d->inode[i].order);
	}
	free(d->inode);
	path_tree_fini(&d->tree);
	reel_intmap_fini(&d->pairs);
	reel_intmap_fini(&d->numbers);
	free(d->ofd);
	free(d->path);
	free(d->waited);
	free(d->number);
	free(d);
}

int deps_add_late(struct deps *d, const struct call_ref *before,
		  const struct call_ref *after, struct reel_error *err)
{
	struct annotation wait = {.stream = after->stream,
				  .call = after->index,
				  .kind = ANNOTATION_WAIT,
				  .wait = {before->stream, before->index + 1}};
	struct annotation post = {.stream = before->stream,
				  .call = before->index,
				  .kind = ANNOTATION_POST};

	if (before->stream == JOB_NONE || before->stream == after->stream)
		return 0;
	return annotations_add(d->annotations, &wait, err) ||
			       annotations_add(d->annotations, &post, err)
		       ? -1
		       : 1;
}

int deps_add(struct deps *d, const struct call_ref *before,
	     const struct call_ref *after, struct reel_error *err)
{
	struct waited *w;
	uint32_t i;

	if (before->stream == JOB_NONE || before->stream == after->stream)
		return 0;
	i = reel_intmap_get(
		&d->pairs, (uint64_t)after->stream << 32 | before->stream, err);
	if (i == REEL_NO_INDEX || reel_array_reach(&d->waited, &d->waited_room,
						   i, sizeof(*d->waited), err))
		return -1;
	/* An asynchronous operation may come behind later calls of its thread. */
	w = &d->waited[i];
	if (w->calls > before->index && w->by <= after->index)
		return 0;
	if (w->calls <= before->index)
		*w = (struct waited){before->index + 1, after->index};
	return deps_add_late(d, before, after, err);
}

void deps_after(struct deps *d, const struct call_ref *before)
{
	if (before->stream != JOB_NONE && before->end_ns <= d->since_ns)
		deps_add(d, before, d->call, d->err);
}

void users_add(struct users *u, const struct call_ref *call,
	       struct reel_error *err)
{
	if (u->one.stream == JOB_NONE || u->one.stream == call->stream) {
		if (u->one.stream == JOB_NONE || u->one.index < call->index)
			u->one = *call;
		return;
	}
	for (uint32_t i = 0; i < u->n; i++) {
		if (u->more[i].stream == call->stream) {
			if (u->more[i].index < call->index)
				u->more[i] = *call;
			return;
		}
	}
	if (u->n == u->room) {
		uint32_t room = u->room ? 2 * u->room : 4;

		if (reel_grow(&u->more, room, sizeof(*u->more), err))
			return;
		u->room = room;
	}
	u->more[u->n++] = *call;
}

void users_clear(struct users *u)
{
	u->one = NO_CALL;
	u->n = 0;
}

void deps_after_users(struct deps *d, const struct users *u, uint32_t process)
{
	for (uint32_t i = 0; i <= u->n; i++) {
		const struct call_ref *w = i ? &u->more[i - 1] : &u->one;

		if (w->stream != JOB_NONE &&
		    (process == JOB_NONE ||
		     d->job->stream[w->stream].process == process))
			deps_after(d, w);
	}
}

struct inode_uses *deps_inode(struct deps *d, uint32_t inode, uint32_t file)
{
	struct inode_uses *c;

	if (reel_array_reach(&d->inode, &d->inode_room, inode,
			     sizeof(*d->inode), d->err))
		return NULL;
	c = &d->inode[inode];
	if (!c->known)
		*c = (struct inode_uses){.known = true,
					 .writable = d->path[file].writable,
					 .last_write = NO_CALL,
					 .last_truncate = NO_CALL,
					 .transfers.one = NO_CALL,
					 .eof_reads.one = NO_CALL,
					 .writers.one = NO_CALL};
	return c;
}

/* The path rules for both paths of the call. */
static void on_paths(struct deps *d, const struct effects *effects,
		     struct inode_uses *inode)
{
	const struct reel_event *ev = d->ev;
	bool external = effects->appeared || effects->vanished;
	bool renamed = effects->file2 == EFFECT_CREATE;
	bool external2 = external && effects->changed_file == ev->file2;
	/* A result that another call caused proves that this call was second,
	 * even when the two overlapped. */
	bool second = ev->err == ENOENT || ev->err == EEXIST || external;
	int64_t since_ns = second ? d->call->end_ns : ev->start_ns;
	struct path_use use = {.file = ev->file,
			       .effect = effects->file,
			       .external = external && !external2,
			       .inode = inode};
	struct path_use use2 = {.file = ev->file2,
				.effect = effects->file2,
				.external = external2};

	if (renamed && effects->file == EFFECT_REMOVE)
		use.renamed_to = ev->file2;
	/* Earlier calls saw a change that turns out to be this call's. */
	if (effects->seen_early == ev->file && use.effect == EFFECT_USE)
		use.effect = EFFECT_CREATE;
	if (effects->seen_early)
		deps_after_old_uses(d, effects->seen_early);
	d->since_ns = since_ns;
	deps_on_path(d, &use);
	d->since_ns = ev->start_ns;
	/* The new path shows the bytes that were written under the old one. */
	if (renamed && effects->inode)
		deps_after_writers(d, &d->inode[effects->inode]);
	d->since_ns = since_ns;
	if (ev->file2 && ev->file2 < d->job->files)
		deps_on_path(d, &use2);
	d->since_ns = ev->start_ns;
}

/* The rules about the path and the bytes of the call. */
static void on_file(struct deps *d, const struct effects *effects, bool message)
{
	const struct reel_event *ev = d->ev;
	struct inode_uses *inode = NULL;

	if (effects->inode &&
	    !(inode = deps_inode(d, effects->inode, ev->file)))
		return;
	on_paths(d, effects, inode);
	if (!ev->open || message || !effects->inode)
		return;
	if (ev->call == REEL_CALL_READDIR)
		deps_on_entries(d);
	else /* the path rules may have moved the table of inodes */
		deps_on_bytes(d, &d->inode[effects->inode]);
}

int deps_event(struct deps *d, const struct reel_event *ev,
	       const struct call_ref *call, const struct effects *effects,
	       struct reel_error *err)
{
	bool message =
		ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET;

	d->ev = ev;
	d->call = call;
	d->since_ns = ev->start_ns;
	d->err = err;
	if (ev->open && ev->open < d->job->opens && !ev->err)
		deps_on_ofd(d);
	/* A named pipe is created, opened by its path, and removed. */
	if (ev->file && ev->file < d->job->files &&
	    (!message || effects->file != EFFECT_NONE))
		on_file(d, effects, message);
	return err->code ? -1 : 0;
}

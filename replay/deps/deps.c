/* SPDX-License-Identifier: MIT */
/*
 * The resource rules. All state is per open file, per path or per descriptor
 * number; nothing grows with the number of calls but the marks of edges.
 */
#include "replay/deps/deps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/deps/append_order.h"
#include "replay/deps/path_tree.h"
#include "replay/fsstate/inodes.h"
#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

#define USERS_MOST 64

/* The last use by each stream; most have one user, so it needs no memory. */
struct users {
	struct call_ref one;
	struct call_ref *more;
	uint32_t n, room; /* of more */
};

struct open_state {
	struct call_ref maker, mover;
	struct users users;
};

struct path_state {
	struct call_ref change,
		child; /* last change of it, of an entry of it */
	struct users users;
	struct call_ref
		had_change; /* before it came or went by nobody's call */
	struct users had_users;
	struct users listers; /* of a directory: who read its entries */
	bool grows;	      /* it was opened to be written */
	bool gone;	      /* by its last change */
};

/* Of what it holds, whatever its name is by now. */
struct content_state {
	struct call_ref written, cutter;
	struct users bytes; /* who read or wrote what it holds now */
	struct users ends;  /* who read to its end, since the last write */
	struct users writers;
	struct append_order *tail;
	bool known;
	bool grows; /* a path of it was opened to be written */
};

struct edges {
	const struct job *job;
	struct annotations *marks;
	struct open_state *open; /* by open id */
	struct path_state *path; /* by file id */
	struct inodes *inodes;
	struct content_state *content; /* by content */
	uint32_t content_room;
	struct tree tree;
	struct reel_intmap pairs; /* consumer, producer -> waited */
	uint32_t *waited;
	uint32_t waited_room;
	struct reel_intmap numbers; /* process, fd -> number */
	struct number *number;
	uint32_t number_room;
};

/*
 * A descriptor's number in a process. The kernel frees it early in close(), so
 * the next open may come back with it before the close does: that open waits
 * here for the close of the one before.
 */
struct number {
	struct call_ref closer, opener;
	struct call_ref maker; /* by whose call open has the number */
	uint32_t open; /* id of who has the number, or had it before opener */
	uint32_t opener_open;
	/* It has even closed it again, and the close of this is still to come. */
	uint32_t late_open;
	struct call_ref late_opener;
};

static const struct call_ref nobody = {JOB_NONE, 0, 0};

int edges_new(struct edges **out, const struct job *job,
	      struct annotations *marks, struct inodes *inodes,
	      struct reel_error *err)
{
	struct edges *e = reel_alloc(1, sizeof(*e), err);

	if (!e)
		return -1;
	e->job = job;
	e->marks = marks;
	e->inodes = inodes;
	e->open = reel_alloc(job->opens, sizeof(*e->open), err);
	e->path = reel_alloc(job->files, sizeof(*e->path), err);
	if (!e->open || !e->path || tree_init(&e->tree, job, err)) {
		edges_free(e);
		return -1;
	}
	for (uint32_t i = 0; i < job->opens; i++)
		e->open[i].maker = e->open[i].mover = e->open[i].users.one =
			nobody;
	for (uint32_t i = 0; i < job->files; i++)
		e->path[i] = (struct path_state){
			.change = nobody,
			.child = nobody,
			.users.one = nobody,
			.had_change = nobody,
			.had_users.one = nobody,
			.listers.one = nobody,
		};
	for (uint32_t i = 0; i < job->opens; i++)
		e->path[job->open[i].file].grows |=
			job->open[i].flags < 0 ||
			job->open[i].flags & O_ACCMODE;
	*out = e;
	return 0;
}

void edges_free(struct edges *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; e->open && i < e->job->opens; i++)
		free(e->open[i].users.more);
	for (uint32_t i = 0; e->path && i < e->job->files; i++) {
		free(e->path[i].users.more);
		free(e->path[i].had_users.more);
		free(e->path[i].listers.more);
	}
	for (uint32_t i = 0; i < e->content_room; i++) {
		free(e->content[i].bytes.more);
		free(e->content[i].ends.more);
		free(e->content[i].writers.more);
		append_order_free(e->content[i].tail);
	}
	free(e->content);
	tree_fini(&e->tree);
	reel_intmap_fini(&e->pairs);
	reel_intmap_fini(&e->numbers);
	free(e->open);
	free(e->path);
	free(e->waited);
	free(e->number);
	free(e);
}

int edges_keep(struct edges *e, const struct call_ref *before,
	       const struct call_ref *after, struct reel_error *err)
{
	struct annotation wait = {.stream = after->stream,
				  .call = after->call,
				  .kind = ANNOTATION_WAIT,
				  .a = before->stream,
				  .b = before->call + 1};
	struct annotation post = {.stream = before->stream,
				  .call = before->call,
				  .kind = ANNOTATION_POST};

	if (before->stream == JOB_NONE || before->stream == after->stream)
		return 0;
	return annotations_add(e->marks, &wait, err) ||
			       annotations_add(e->marks, &post, err)
		       ? -1
		       : 1;
}

int edges_add(struct edges *e, const struct call_ref *before,
	      const struct call_ref *after, struct reel_error *err)
{
	uint32_t i;

	if (before->stream == JOB_NONE || before->stream == after->stream)
		return 0;
	i = reel_intmap_get(
		&e->pairs, (uint64_t)after->stream << 32 | before->stream, err);
	if (i == REEL_NO_INDEX || reel_array_reach(&e->waited, &e->waited_room,
						   i, sizeof(*e->waited), err))
		return -1;
	if (e->waited[i] >= before->call + 1)
		return 0;
	e->waited[i] = before->call + 1;
	return edges_keep(e, before, after, err);
}

/* Only when it was over before this one began. */
static int after(struct edges *e, const struct call_ref *before,
		 const struct reel_event *ev, const struct call_ref *me,
		 struct reel_error *err)
{
	if (before->stream == JOB_NONE || before->end_ns > ev->start_ns)
		return 0;
	return edges_add(e, before, me, err) < 0 ? -1 : 0;
}

static int use(struct users *u, const struct call_ref *me,
	       struct reel_error *err)
{
	if (u->one.stream == JOB_NONE || u->one.stream == me->stream) {
		if (u->one.stream == JOB_NONE || u->one.call < me->call)
			u->one = *me;
		return 0;
	}
	for (uint32_t i = 0; i < u->n; i++) {
		if (u->more[i].stream == me->stream) {
			if (u->more[i].call < me->call)
				u->more[i] = *me;
			return 0;
		}
	}
	if (u->n == u->room) {
		uint32_t room = u->room ? 2 * u->room : 4;

		if (reel_grow(&u->more, room, sizeof(*u->more), err))
			return -1;
		u->room = room;
	}
	u->more[u->n++] = *me;
	return 0;
}

/* After every use so far; @process: only of that process, or JOB_NONE. */
static int after_all(struct edges *e, const struct users *u, uint32_t process,
		     const struct reel_event *ev, const struct call_ref *me,
		     struct reel_error *err)
{
	for (uint32_t i = 0; i <= u->n; i++) {
		const struct call_ref *w = i ? &u->more[i - 1] : &u->one;

		if (w->stream == JOB_NONE ||
		    (process != JOB_NONE &&
		     e->job->stream[w->stream].process != process))
			continue;
		if (after(e, w, ev, me, err))
			return -1;
	}
	return 0;
}

static void forget(struct users *u)
{
	u->one = nobody;
	u->n = 0;
}

/* But for those that were not over at @at_ns. */
static void forget_before(struct users *u, int64_t at_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->n; i++)
		if (u->more[i].end_ns > at_ns)
			u->more[n++] = u->more[i];
	u->n = n;
	if (u->one.stream != JOB_NONE && u->one.end_ns <= at_ns)
		u->one = n ? u->more[--u->n] : nobody;
}

/* Does the call take and move the position that a description has? */
static bool moves_position(const struct reel_event *ev)
{
	switch (ev->call) {
	case REEL_CALL_PREAD:
	case REEL_CALL_PREADV:
	case REEL_CALL_PREADV2:
	case REEL_CALL_PWRITE:
	case REEL_CALL_PWRITEV:
	case REEL_CALL_PWRITEV2:
		return false;
	}
	if (is_mapped_access(ev->call))
		return false;
	return ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE ||
	       ev->group == REEL_GROUP_SEEK || ev->call == REEL_CALL_READDIR;
}

static struct number *number_of(struct edges *e, uint32_t process, int32_t fd,
				struct reel_error *err)
{
	uint32_t known = e->numbers.used, i;

	i = reel_intmap_get(&e->numbers, (uint64_t)process << 32 | (uint32_t)fd,
			    err);
	if (i == REEL_NO_INDEX || reel_array_reach(&e->number, &e->number_room,
						   i, sizeof(*e->number), err))
		return NULL;
	if (i == known)
		e->number[i].closer = e->number[i].opener = e->number[i].maker =
			nobody;
	return &e->number[i];
}

/* @ev takes the number, or uses what has it. */
static int take_number(struct edges *e, struct number *n, uint32_t process,
		       const struct reel_event *ev, const struct call_ref *me,
		       struct reel_error *err)
{
	if (n->open == ev->open)
		return after(e, &n->maker, ev, me, err);
	if (n->opener.stream != JOB_NONE && n->opener_open == ev->open)
		return after(e, &n->opener, ev, me, err);
	if (!n->open) {
		n->open = ev->open;
		n->maker = *me;
		return edges_add(e, &n->closer, me, err) < 0 ? -1 : 0;
	}
	/* The close before is still to come, or was never seen. */
	n->opener = *me;
	n->opener_open = ev->open;
	return after_all(e, &e->open[n->open].users, process, ev, me, err);
}

/* @ev puts what it is on behind the number, whatever was there. */
static int replace_number(struct edges *e, struct number *n, uint32_t process,
			  const struct reel_event *ev,
			  const struct call_ref *me, struct reel_error *err)
{
	if (after(e, &n->closer, ev, me, err) ||
	    after(e, &n->maker, ev, me, err) ||
	    after(e, &n->opener, ev, me, err) ||
	    (n->open &&
	     after_all(e, &e->open[n->open].users, process, ev, me, err)))
		return -1;
	*n = (struct number){.closer = nobody,
			     .opener = nobody,
			     .maker = *me,
			     .open = ev->open};
	return 0;
}

/* @ev gives the number back. */
static int give_number(struct edges *e, struct number *n,
		       const struct reel_event *ev, const struct call_ref *me,
		       struct reel_error *err)
{
	if (n->late_open && n->late_open == ev->open) {
		n->late_open = 0;
		return edges_keep(e, me, &n->late_opener, err) < 0 ? -1 : 0;
	}
	if (n->opener.stream != JOB_NONE && n->open == ev->open) {
		struct call_ref opener = n->opener;

		n->opener = nobody;
		n->maker = opener;
		n->open = n->opener_open;
		return edges_keep(e, me, &opener, err) < 0 ? -1 : 0;
	}
	if (n->opener.stream != JOB_NONE && n->opener_open == ev->open) {
		n->late_open = n->open;
		n->late_opener = n->opener;
		n->opener = nobody;
	} else if (n->open && n->open != ev->open) {
		return 0;
	}
	n->closer = *me;
	n->open = 0;
	return 0;
}

static int on_number(struct edges *e, const struct reel_event *ev,
		     const struct call_ref *me, int32_t fd, bool closes,
		     struct reel_error *err)
{
	bool replaces = fd != ev->fd && (ev->call == REEL_CALL_DUP2 ||
					 ev->call == REEL_CALL_DUP3);
	uint32_t process = e->job->stream[me->stream].process;
	struct number *n;

	if (e->job->process[process].streams < 2)
		return 0;
	n = number_of(e, process, fd, err);
	if (!n)
		return -1;
	return closes	  ? give_number(e, n, ev, me, err)
	       : replaces ? replace_number(e, n, process, ev, me, err)
			  : take_number(e, n, process, ev, me, err);
}

static int on_open_file(struct edges *e, const struct reel_event *ev,
			const struct call_ref *me, struct reel_error *err)
{
	struct open_state *o = &e->open[ev->open];
	uint32_t process = e->job->stream[me->stream].process;

	if (ev->group == REEL_GROUP_OPEN) {
		o->maker = *me;
		return on_number(e, ev, me, ev->fd, false, err);
	}
	/* The first use of what no recorded call made takes the number too. */
	if (!is_by_address(ev->call) && !is_async(ev) &&
	    ev->group != REEL_GROUP_CLOSE &&
	    on_number(e, ev, me, ev->fd, false, err))
		return -1;
	if (after(e, &o->maker, ev, me, err))
		return -1;
	if (moves_position(ev)) {
		if (after(e, &o->mover, ev, me, err))
			return -1;
		o->mover = *me;
	}
	if (ev->fd2 >= 0 && on_number(e, ev, me, ev->fd2, false, err))
		return -1;
	/* Whoever made the mapping. */
	if (is_by_address(ev->call) &&
	    after_all(e, &o->users, process, ev, me, err))
		return -1;
	if (ev->group == REEL_GROUP_CLOSE &&
	    (after_all(e, &o->users, process, ev, me, err) ||
	     on_number(e, ev, me, ev->fd, true, err)))
		return -1;
	return use(&o->users, me, err);
}

/* Of @content, which @file is a name of; NULL when there is no memory. */
static struct content_state *state_of(struct edges *e, uint32_t content,
				      uint32_t file, struct reel_error *err)
{
	struct content_state *c;

	if (reel_array_reach(&e->content, &e->content_room, content,
			     sizeof(*e->content), err))
		return NULL;
	c = &e->content[content];
	if (!c->known)
		*c = (struct content_state){.known = true,
					    .grows = e->path[file].grows,
					    .written = nobody,
					    .cutter = nobody,
					    .bytes.one = nobody,
					    .ends.one = nobody,
					    .writers.one = nobody};
	return c;
}

/*
 * What is read has been written, by all who write it: a log has many. Of very
 * many only the last, or every call of theirs would wait for all of them.
 */
static int after_writers(struct edges *e, const struct content_state *p,
			 const struct reel_event *ev, const struct call_ref *me,
			 struct reel_error *err)
{
	return p->writers.n < USERS_MOST
		       ? after_all(e, &p->writers, JOB_NONE, ev, me, err)
		       : after(e, &p->written, ev, me, err);
}

/* What others read must have been read before it is cut off; it was once
 * before it is again. */
static int cut(struct edges *e, struct content_state *p,
	       const struct reel_event *ev, const struct call_ref *me,
	       struct reel_error *err)
{
	if (after_all(e, &p->bytes, JOB_NONE, ev, me, err) ||
	    after(e, &p->cutter, ev, me, err))
		return -1;
	forget(&p->bytes);
	if (!ev->err)
		p->cutter = *me;
	return 0;
}

/*
 * What is below a directory is used after its making or renaming; if the two
 * overlapped, only when it found what this gave, or missed what this took.
 */
static int after_above(struct edges *e, const struct reel_event *ev,
		       uint32_t file, const struct call_ref *me,
		       struct reel_error *err)
{
	while ((file = tree_above(&e->tree, file))) {
		const struct path_state *d = &e->path[file];
		bool found = d->gone ? ev->err == ENOENT : !ev->err;
		int64_t since_ns = me->end_ns - (found ? 0 : ev->dur_ns);

		if (d->change.stream != JOB_NONE &&
		    d->change.end_ns <= since_ns &&
		    edges_add(e, &d->change, me, err) < 0)
			return -1;
	}
	return 0;
}

/* @file is below @dir, which is @to now. */
static void moved_below(struct edges *e, uint32_t file, uint32_t dir,
			uint32_t to)
{
	const char *path = e->job->file[file].path;
	const char *from = e->job->file[dir].path;
	char name[PATH_MAX];
	uint32_t now;
	int n;

	if (!e->inodes->of_file[file] || !path || !from ||
	    !e->job->file[to].path)
		return;
	n = snprintf(name, sizeof(name), "%s%s", e->job->file[to].path,
		     path + strlen(from));
	if (n < 0 || (size_t)n >= sizeof(name))
		return;
	now = job_find(e->job, name, (size_t)n);
	if (now)
		inodes_moved(e->inodes, file, now, false);
}

/* What was used below a directory was used before that comes or goes; @to: it
 * goes there, or 0. */
static int after_below(struct edges *e, const struct reel_event *ev,
		       uint32_t dir, uint32_t to, const struct call_ref *me,
		       struct reel_error *err)
{
	uint32_t file;

	while ((file = tree_take(&e->tree, dir))) {
		const struct path_state *p = &e->path[file];
		uint32_t content = e->inodes->of_file[file];
		const struct content_state *c = NULL;

		if (content && !(c = state_of(e, content, file, err)))
			return -1;
		if (after(e, &p->change, ev, me, err) ||
		    after_all(e, &p->users, JOB_NONE, ev, me, err) ||
		    (c && after_writers(e, c, ev, me, err)))
			return -1;
		if (to)
			moved_below(e, file, dir, to);
	}
	return 0;
}

/* Should a call on its way have been it, that call is after these uses. */
static void keep_users(struct path_state *p)
{
	struct users old = p->had_users;

	p->had_change = p->change;
	p->had_users = p->users;
	p->users = old;
}

/*
 * @outside: somebody else has made or removed it, which is done before @ev. @to:
 * the directory goes there. @c: what it holds, or NULL.
 */
static int on_path(struct edges *e, const struct reel_event *ev, uint32_t file,
		   enum effect effect, bool outside, uint32_t to,
		   struct content_state *c, const struct call_ref *me,
		   struct reel_error *err)
{
	struct path_state *p = &e->path[file], *up;

	up = &e->path[e->job->file[file].parent];
	if (effect == EFFECT_NONE)
		return 0;
	tree_used(&e->tree, file);
	if (after(e, &p->change, ev, me, err) ||
	    after_above(e, ev, file, me, err))
		return -1;
	/* What was listed or removed holds what was made in it. */
	if ((effect == EFFECT_REMOVE || ev->call == REEL_CALL_OPENDIR ||
	     ev->call == REEL_CALL_SCANDIR) &&
	    after(e, &p->child, ev, me, err))
		return -1;
	if (ev->group == REEL_GROUP_STAT && c &&
	    after_writers(e, c, ev, me, err))
		return -1;
	if (ev->call == REEL_CALL_SCANDIR && use(&p->listers, me, err))
		return -1;
	if ((effect == EFFECT_TRUNCATE || ev->call == REEL_CALL_TRUNCATE) &&
	    c && cut(e, c, ev, me, err))
		return -1;
	if (effect == EFFECT_USE && !outside)
		return use(&p->users, me, err);
	if (after_all(e, &p->users, JOB_NONE, ev, me, err) ||
	    (up != e->path &&
	     after_all(e, &up->listers, JOB_NONE, ev, me, err)) ||
	    after_below(e, ev, file, to, me, err))
		return -1;
	if (outside)
		keep_users(p);
	/* What a change has not waited for, the next one waits for. */
	forget_before(&p->users, ev->start_ns);
	if (p->change.stream != JOB_NONE && p->change.end_ns > ev->start_ns &&
	    use(&p->users, &p->change, err))
		return -1;
	p->change = *me;
	p->gone = effect == EFFECT_REMOVE || ev->err == ENOENT;
	if (effect != EFFECT_TRUNCATE)
		up->child = *me;
	return 0;
}

static bool changes_bytes(const struct reel_event *ev)
{
	switch (ev->call) {
	case REEL_CALL_FCLOSE:
	case REEL_CALL_FFLUSH:
	case REEL_CALL_FTRUNCATE:
	case REEL_CALL_FALLOCATE:
	case REEL_CALL_POSIX_FALLOCATE:
		return true;
	}
	return ev->group == REEL_GROUP_WRITE;
}

static bool same_process(const struct edges *e, const struct call_ref *a,
			 const struct call_ref *b)
{
	return a->stream != JOB_NONE &&
	       e->job->stream[a->stream].process ==
		       e->job->stream[b->stream].process;
}

/* Its result is where the file, or what is in it, ends. */
static bool seeks_end(const struct reel_event *ev)
{
	return ev->call == REEL_CALL_LSEEK && ev->arg != SEEK_SET &&
	       ev->arg != SEEK_CUR;
}

static int on_entries(struct edges *e, const struct reel_event *ev,
		      const struct call_ref *me, struct reel_error *err)
{
	struct path_state *p = &e->path[ev->file];

	return after(e, &p->child, ev, me, err) || use(&p->listers, me, err)
		       ? -1
		       : 0;
}

static int on_bytes(struct edges *e, const struct reel_event *ev,
		    struct content_state *p, const struct call_ref *me,
		    struct reel_error *err)
{
	if (changes_bytes(ev)) {
		if (ev->layer == REEL_LAYER_STDIO &&
		    ev->group != REEL_GROUP_WRITE &&
		    !same_process(e, &p->written, me))
			return 0; /* it had nothing to flush */
		if (ev->group == REEL_GROUP_WRITE &&
		    append_order_event(e, &p->tail, ev, me, err))
			return -1;
		p->written = *me;
		if (p->writers.n < USERS_MOST && use(&p->writers, me, err))
			return -1;
		/*
		 * Who found the end did not find what is written now, by others
		 * later either: they need not wait for this one.
		 */
		if (after_all(e, &p->ends, JOB_NONE, ev, me, err) ||
		    after(e, &p->cutter, ev, me, err))
			return -1;
		if (p->ends.n >= USERS_MOST)
			forget(&p->ends);
		if (ev->call == REEL_CALL_FTRUNCATE && cut(e, p, ev, me, err))
			return -1;
		return use(&p->bytes, me, err);
	}
	if ((ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_STAT ||
	     ev->call == REEL_CALL_MMAP || seeks_end(ev)) &&
	    after_writers(e, p, ev, me, err))
		return -1;
	if (ev->group == REEL_GROUP_READ && after(e, &p->cutter, ev, me, err))
		return -1;
	if (seeks_end(ev) &&
	    (use(&p->ends, me, err) || use(&p->bytes, me, err)))
		return -1;
	if (ev->group != REEL_GROUP_READ)
		return 0;
	if ((ev->result < ev->asked && use(&p->ends, me, err)) ||
	    (p->grows && append_order_event(e, &p->tail, ev, me, err)))
		return -1;
	return ev->result > 0 ? use(&p->bytes, me, err) : 0;
}

int edges_event(struct edges *e, const struct reel_event *ev,
		const struct call_ref *me, const struct effects *effects,
		struct reel_error *err)
{
	bool message =
		ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET;
	/* One that has a name is made, opened by it, and removed. */
	bool file = ev->file && ev->file < e->job->files &&
		    (!message || effects->file != EFFECT_NONE);
	bool outside = effects->appeared || effects->vanished;
	bool moved = effects->file2 == EFFECT_CREATE;
	bool outside2 = outside && effects->met == ev->file2;
	enum effect effect = effects->file;
	struct content_state *c = NULL;
	struct reel_event path = *ev;

	if (ev->open && ev->open < e->job->opens && !ev->err &&
	    on_open_file(e, ev, me, err))
		return -1;
	if (!file)
		return 0;
	if (effects->content &&
	    !(c = state_of(e, effects->content, ev->file, err)))
		return -1;
	/* Of two calls at one time, who found what the other did was second. */
	if (ev->err == ENOENT || ev->err == EEXIST || outside)
		path.start_ns = me->end_ns;
	/* What others have met was this call's doing: it is after the uses before. */
	if (effects->late == ev->file && effect == EFFECT_USE)
		effect = EFFECT_CREATE;
	if (effects->late &&
	    (after(e, &e->path[effects->late].had_change, ev, me, err) ||
	     after_all(e, &e->path[effects->late].had_users, JOB_NONE, ev, me,
		       err)))
		return -1;
	if (on_path(e, &path, ev->file, effect, outside && !outside2,
		    moved && effects->file == EFFECT_REMOVE ? ev->file2 : 0, c,
		    me, err))
		return -1;
	/* By its new name, too, it holds what was written. */
	if (moved && effects->content &&
	    after_writers(e, &e->content[effects->content], ev, me, err))
		return -1;
	if (ev->file2 && ev->file2 < e->job->files &&
	    on_path(e, &path, ev->file2, effects->file2, outside2, 0, NULL, me,
		    err))
		return -1;
	if (!ev->open || message || !effects->content)
		return 0;
	if (ev->call == REEL_CALL_READDIR)
		return on_entries(e, ev, me, err);
	return on_bytes(e, ev, &e->content[effects->content], me, err);
}

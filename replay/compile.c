/* SPDX-License-Identifier: MIT */
/*
 * Compiles a store into a plan, in two passes over its events: the first, over
 * the whole job in the order of ends, finds out what depends on what; the
 * second writes stream after stream in the order of starts.
 *
 * Both passes count the calls of a thread in the same way, and that count is
 * what marks refer to: every event takes part in it, replayed or not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/progress.h"

#include "analyzer/event.h"
#include "analyzer/store.h"

#include "replay/edges.h"
#include "replay/history.h"
#include "replay/inserts.h"
#include "replay/job.h"
#include "replay/listings.h"
#include "replay/marks.h"
#include "replay/messages.h"
#include "replay/objects.h"
#include "replay/plan.h"
#include "replay/plan_write.h"
#include "replay/role.h"

/* The last copy of a stream: what it wrote is told by the next event. */
struct last_copy {
	int64_t start_ns, dur_ns;
	bool any;
};

/* A record whose second half may still come. */
struct held {
	struct plan_record r;
	struct plan_more m;
	struct last_copy copy;
	bool any;
};

struct compiler {
	struct reel_store *st;
	struct reel_error *err;
	struct job *job;
	struct marks marks;
	struct listings *listings;
	struct history *history;
	struct edges *edges;
	struct messages *messages;
	struct objects *objects;
	struct inserts inserts;
	struct plan_writer *out;
	struct reel_progress progress;
	uint32_t *calls;   /* by stream */
	int64_t *idle_ns;  /* end of its last call, by stream */
	struct last_copy *copy; /* by stream */
	struct who *msync;      /* the last of its mappings, by open id */
	uint8_t *makes;    /* it makes descriptors, by stream */
	uint8_t *moves;    /* it changes its directory, by process */
	uint32_t *name_of; /* by file id, 1 + name */
	uint64_t events, skipped, async;
	int64_t lead_ns; /* from the start of the job to the time 0 */
	/* While writing: */
	size_t mark, insert;
	int64_t at_ns; /* where the stream's time stands */
	struct held held;
};

static uint32_t stream_of(const struct compiler *c, const struct reel_event *ev)
{
	return ev->thread < c->job->thread_ids ? c->job->stream_of[ev->thread] :
						 JOB_NONE;
}

static void copy_seen(struct last_copy *c, const struct reel_event *ev)
{
	*c = (struct last_copy){ ev->start_ns, ev->dur_ns,
				 role_copies(ev->call) };
}

/* Is it the other side of that copy? */
static bool is_half_of(const struct last_copy *c, const struct reel_event *ev)
{
	return c->any && ev->call == REEL_CALL_COPY_OUT && ev->fd >= 0 &&
	       c->start_ns == ev->start_ns && c->dur_ns == ev->dur_ns;
}

/* --- the first pass ------------------------------------------------------ */

/* Files come and go by others too; only a call by path can tell. */
static int mark_outside(struct compiler *c, const struct reel_event *ev,
			const struct who *me, const struct effects *effects)
{
	int64_t size = c->job->file[ev->file].size_bytes;
	struct mark mark = { .stream = me->stream,
			     .call = me->call,
			     .a = effects->dir,
			     .ns = size > 0 ? size : 0,
			     .kind = effects->appeared ? MARK_APPEAR :
							 MARK_VANISH };

	if (ev->fd >= 0 && ev->group != REEL_GROUP_OPEN)
		return 0;
	return marks_add(&c->marks, &mark, c->err);
}

/* The number of the call in its stream; both sides of a copy have one. */
static int number_call(struct compiler *c, const struct reel_event *ev,
		       struct who *me)
{
	struct last_copy *copy = &c->copy[me->stream];
	uint32_t *calls = &c->calls[me->stream];

	if (is_half_of(copy, ev)) {
		me->call = *calls - 1;
		copy->any = false;
		return 0;
	}
	copy_seen(copy, ev);
	me->call = (*calls)++;
	return me->call < UINT32_MAX ?
		       0 :
		       reel_fail(c->err, REEL_E_LIMIT,
				 "cannot replay: a thread has too many calls");
}

/*
 * What was changed in a mapping is told at its end; but an msync() had to write
 * it back before.
 */
static int mark_dirty(struct compiler *c, const struct reel_event *ev,
		      const struct who *me)
{
	struct who *last = &c->msync[ev->open];
	struct mark mark = { .stream = last->stream,
			     .call = last->call,
			     .ns = ev->result,
			     .kind = MARK_DIRTY };

	if (ev->call == REEL_CALL_MSYNC && !ev->err)
		*last = *me;
	if (ev->call != REEL_CALL_MAP_WRITE || !last->end_ns)
		return 0;
	last->end_ns = 0; /* nobody */
	return marks_add(&c->marks, &mark, c->err);
}

static int survey_call(struct compiler *c, struct reel_event *ev,
		       uint32_t stream)
{
	struct who me = { .stream = stream, .end_ns = ev->start_ns + ev->dur_ns };
	struct effects effects;

	if (number_call(c, ev, &me))
		return -1;
	if (ev->group == REEL_GROUP_OPEN || ev->fd2 >= 0)
		c->makes[stream] = 1;
	if (ev->call == REEL_CALL_CHDIR || ev->call == REEL_CALL_FCHDIR)
		c->moves[c->job->stream[stream].process] = 1;
	if (history_event(c->history, ev, &me, &effects, c->err) ||
	    objects_event(c->objects, ev, stream, me.call, c->err) ||
	    edges_event(c->edges, ev, &me, &effects, c->err))
		return -1;
	if (ev->open && mark_dirty(c, ev, &me))
		return -1;
	if ((effects.appeared || effects.vanished) &&
	    mark_outside(c, ev, &me, &effects))
		return -1;
	if ((ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET) &&
	    messages_event(c->messages, ev, &me, c->idle_ns[stream], c->err))
		return -1;
	c->idle_ns[stream] = me.end_ns;
	return 0;
}

static int survey_event(struct compiler *c, struct reel_event *ev)
{
	uint32_t stream = stream_of(c, ev);
	struct effects effects;
	struct who me = { .stream = stream };

	if (stream == JOB_NONE)
		return reel_fail(c->err, REEL_E_FORMAT,
				 "cannot replay: an event has no thread");
	if (ev->file >= c->job->files || ev->file2 >= c->job->files ||
	    ev->open >= c->job->opens)
		return reel_fail(c->err, REEL_E_FORMAT,
				 "cannot replay: an event has no file");
	if (!role_plays(ev))
		return 0;
	if (!role_async(ev))
		return survey_call(c, ev, stream);
	/* It has no place in the order of ends: only its bytes count. */
	c->async++;
	return history_event(c->history, ev, &me, &effects, c->err);
}

static int survey(struct compiler *c)
{
	struct reel_events *it = NULL;
	struct reel_event ev;
	int more, rc = -1;

	if (reel_events_open(&it, c->st, 0, c->err))
		return -1;
	while ((more = reel_events_next(it, &ev, c->err)) > 0) {
		if (survey_event(c, &ev))
			goto out;
		if (++c->events % 4096 == 0)
			reel_progress_at(&c->progress, c->events / 2);
	}
	if (more < 0 || messages_end(c->messages, c->err))
		goto out;
	rc = 0;
out:
	reel_events_close(it);
	return rc;
}

/* --- the second pass ----------------------------------------------------- */

static int name_file(struct compiler *c, uint32_t file, uint32_t *name)
{
	const char *path = file ? c->job->file[file].path : NULL;

	*name = PLAN_NONE;
	if (!path || path[0] != '/')
		return 0; /* a temporary file, or below an unknown directory */
	if (!c->name_of[file]) {
		if (plan_writer_name(c->out, path, strlen(path), name, c->err))
			return -1;
		c->name_of[file] = *name + 1;
	}
	*name = c->name_of[file] - 1;
	return 0;
}

/* From where the stream's time stands until @start_ns, and through @dur_ns. */
static void set_time(struct compiler *c, struct plan_record *r,
		     struct plan_more *m, int64_t start_ns, int64_t dur_ns)
{
	int64_t gap = start_ns - c->at_ns;

	if (gap < 0)
		gap = 0; /* it began inside another call */
	if (dur_ns < 0)
		dur_ns = 0;
	if (start_ns + dur_ns > c->at_ns)
		c->at_ns = start_ns + dur_ns;
	r->gap_ns = (uint32_t)gap;
	r->dur_ns = (uint32_t)dur_ns;
	m->gap_high = (uint32_t)(gap >> 32);
	m->dur_high = (uint32_t)(dur_ns >> 32);
	if (m->gap_high || m->dur_high)
		r->flags |= PLAN_F_MORE;
}

static int write_insert(struct compiler *c, const struct insert *in)
{
	struct plan_record r = { .offset = PLAN_NO_OFFSET,
				 .size = PLAN_NO_SIZE,
				 .fd = -1,
				 .op = in->op,
				 .flags = PLAN_F_MORE };
	struct plan_more m = { .arg = in->arg,
			       .arg2 = in->arg2,
			       .pos = PLAN_NO_OFFSET,
			       .name = PLAN_NONE,
			       .name2 = PLAN_NONE,
			       .fd2 = -1,
			       .count = 1,
			       .object = PLAN_NONE,
			       .object2 = PLAN_NONE };

	set_time(c, &r, &m, in->at_ns, 0);
	if (in->name && plan_writer_name(c->out, in->name, strlen(in->name),
					 &m.name, c->err))
		return -1;
	return plan_writer_record(c->out, &r, &m, c->err);
}

/* Inserts of @stream up to @until_ns. */
static int write_inserts(struct compiler *c, uint32_t stream, int64_t until_ns)
{
	const struct inserts *in = &c->inserts;

	for (; c->insert < in->n && in->at[c->insert].stream == stream;
	     c->insert++) {
		const struct insert *i = &in->at[c->insert];

		if (until_ns != INT64_MAX &&
		    (i->at_ns > until_ns || i->op == PLAN_OP_END))
			return 0;
		if (write_insert(c, i))
			return -1;
	}
	return 0;
}

/* What the survey found out about the call. */
static int apply_marks(struct compiler *c, uint32_t stream, uint32_t call,
		       struct plan_record *r, struct plan_more *m,
		       int64_t *longer_ns, int64_t *after_ns)
{
	const struct marks *marks = &c->marks;

	for (; c->mark < marks->n; c->mark++) {
		const struct mark *k = &marks->mark[c->mark];
		struct plan_edge edge = { .stream = k->a, .calls = k->b };
		uint32_t index;

		if (k->stream != stream || k->call != call)
			return 0;
		switch (k->kind) {
		case MARK_POST:
			r->flags |= PLAN_F_POST;
			break;
		case MARK_WAIT:
			if (plan_writer_edge(c->out, &edge, &index, c->err))
				return -1;
			if (!m->edges++)
				m->edge = index;
			r->flags |= PLAN_F_MORE;
			break;
		case MARK_OBJECT:
			if (k->b == (uint32_t)r->fd)
				m->object = k->a;
			else
				m->object2 = k->a;
			r->flags |= PLAN_F_MORE;
			break;
		case MARK_APPEAR:
			m->appear_bytes = k->ns;
			r->flags |= PLAN_F_MORE | PLAN_F_APPEAR |
				    (k->a ? PLAN_F_APPEAR_DIR : 0);
			break;
		case MARK_VANISH:
			r->flags |= PLAN_F_MORE | PLAN_F_VANISH;
			break;
		case MARK_ENTRIES:
			m->entries = k->ns;
			r->flags |= PLAN_F_MORE | PLAN_F_ENTRIES;
			break;
		case MARK_DIRTY:
			m->dirty_bytes = k->ns;
			r->flags |= PLAN_F_MORE | PLAN_F_DIRTY;
			break;
		case MARK_AFTER:
			*after_ns = k->ns;
			break;
		case MARK_LONGER:
			*longer_ns = k->ns;
			break;
		}
	}
	return 0;
}

static bool needs_more(const struct reel_event *ev, const struct plan_more *m,
		       int64_t expected)
{
	return ev->err || ev->result != expected || m->name != PLAN_NONE ||
	       m->name2 != PLAN_NONE || ev->fd2 >= 0 || ev->count != 1 ||
	       ev->arg != REEL_NO_OFFSET || ev->arg2 != REEL_NO_OFFSET;
}

static uint16_t flags_of(const struct reel_event *ev)
{
	bool pipe = ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET;
	uint16_t flags = 0;

	if (ev->asked != REEL_NO_SIZE && ev->result == ev->asked)
		flags |= PLAN_F_FULL;
	if (ev->group == REEL_GROUP_OPEN && ev->fd >= 0 && !ev->err)
		flags |= PLAN_F_MAKES_FD | PLAN_F_MORE;
	if (ev->fd2 >= 0)
		flags |= PLAN_F_MAKES_FD;
	if (pipe && (ev->group == REEL_GROUP_READ ||
		     ev->group == REEL_GROUP_WRITE ||
		     ev->group == REEL_GROUP_OPEN))
		flags |= PLAN_F_MESSAGE;
	if (role_async(ev))
		flags |= PLAN_F_ASYNC;
	if (ev->call == REEL_CALL_FGETS || ev->call == REEL_CALL_GETLINE)
		flags |= PLAN_F_LINES;
	return flags;
}

/* Is it named by path, or by a descriptor that it does not make? */
static bool by_path(const struct reel_event *ev)
{
	return ev->group == REEL_GROUP_OPEN || ev->fd < 0;
}

/* The record of @ev, but for its time and what the survey found out. */
static void make_record(struct compiler *c, const struct reel_event *ev,
			struct plan_record *r, struct plan_more *m)
{
	bool makes = ev->group == REEL_GROUP_OPEN;

	*r = (struct plan_record){ .offset = ev->offset,
				   .size = ev->asked < 0 ? PLAN_NO_SIZE :
							   ev->asked,
				   .fd = makes ? -1 : ev->fd,
				   .op = ev->call,
				   .flags = flags_of(ev) };
	*m = (struct plan_more){ .result = ev->result,
				 .arg = ev->arg,
				 .arg2 = ev->arg2,
				 .pos = role_copies(ev->call) ? PLAN_NO_OFFSET :
								ev->pos,
				 .name = PLAN_NONE,
				 .name2 = PLAN_NONE,
				 .err = ev->err,
				 .fd2 = makes ? ev->fd : ev->fd2,
				 .count = ev->count ? ev->count : 1,
				 .object = PLAN_NONE,
				 .object2 = PLAN_NONE,
				 .open = ev->open };
	if (!reel_call_info(ev->call) || ev->call >= REEL_CALL_MAX ||
	    ev->fd >= 1 << 20 || ev->fd2 >= 1 << 20) {
		r->op = 0;
		r->fd = m->fd2 = -1;
		c->skipped++;
	}
	if (r->fd < -1 || (!ev->open && ev->err == EBADF))
		r->fd = -1;
	if (m->fd2 < -1)
		m->fd2 = -1;
}

/* Only now it is sure that the record has no second half. */
static int write_held(struct compiler *c)
{
	if (!c->held.any)
		return 0;
	c->held.any = false;
	return plan_writer_record(c->out, &c->held.r, &c->held.m, c->err);
}

/* The other side of the copy that is held. */
static void join_half(struct compiler *c, const struct reel_event *ev)
{
	c->held.m.fd2 = ev->fd < 1 << 20 ? ev->fd : -1;
	c->held.m.pos = ev->offset;
	c->held.r.flags |= PLAN_F_MORE;
	c->held.copy.any = false;
}

static int write_event(struct compiler *c, const struct reel_event *ev,
		       uint32_t stream, uint32_t call)
{
	struct plan_record *r = &c->held.r;
	struct plan_more *m = &c->held.m;
	int64_t longer_ns = 0, after_ns = -1;

	make_record(c, ev, r, m);
	if ((by_path(ev) && name_file(c, ev->file, &m->name)) ||
	    name_file(c, ev->file2, &m->name2))
		return -1;
	if (needs_more(ev, m, r->flags & PLAN_F_FULL ? ev->asked : 0))
		r->flags |= PLAN_F_MORE;
	c->held.any = true;
	if (role_async(ev)) {
		/* Its thread went on at once. */
		set_time(c, r, m, ev->start_ns, 0);
		return 0;
	}
	copy_seen(&c->held.copy, ev);
	if (apply_marks(c, stream, call, r, m, &longer_ns, &after_ns))
		return -1;
	set_time(c, r, m, ev->start_ns + longer_ns, ev->dur_ns - longer_ns);
	if (after_ns >= 0 && m->edges) {
		r->flags |= PLAN_F_WAIT_FIRST;
		m->after_ns = after_ns;
	}
	return 0;
}

/* @call is the number of the next call. */
static int stream_event(struct compiler *c, const struct reel_event *ev,
			uint32_t stream, uint32_t *call)
{
	if (!role_plays(ev))
		return 0;
	if (is_half_of(&c->held.copy, ev)) {
		join_half(c, ev);
		return 0;
	}
	if (write_held(c) || write_inserts(c, stream, ev->start_ns))
		return -1;
	return write_event(c, ev, stream, role_async(ev) ? *call : (*call)++);
}

static int write_stream(struct compiler *c, uint32_t stream)
{
	const struct job_stream *js = &c->job->stream[stream];
	const struct job_process *jp = &c->job->process[js->process];
	struct plan_stream s = { .thread_id = js->id, .process = js->process };
	struct reel_events *it = NULL;
	struct reel_event ev;
	uint32_t call = 0;
	int more, rc = -1;

	c->held.any = c->held.copy.any = false;
	c->at_ns = jp->start_ns;
	if (js->start_ns > jp->start_ns)
		s.start_ns = js->start_ns - jp->start_ns;
	if (plan_writer_stream(c->out, &s, c->err) ||
	    reel_events_open(&it, c->st, js->id, c->err))
		return -1;
	while ((more = reel_events_next(it, &ev, c->err)) > 0) {
		if (stream_event(c, &ev, stream, &call))
			goto out;
		if (++c->events % 4096 == 0)
			reel_progress_at(&c->progress, c->events / 2);
	}
	if (more < 0 || write_held(c) || write_inserts(c, stream, INT64_MAX))
		goto out;
	rc = 0;
out:
	reel_events_close(it);
	return rc;
}

/* --- what stands around the streams -------------------------------------- */

static int give_file(void *arg, const struct before *b, struct reel_error *err)
{
	struct compiler *c = arg;
	struct plan_file f = { .kind = b->dir ? PLAN_FILE_DIR :
						PLAN_FILE_REGULAR,
			       .denied = b->denied,
			       .exec = b->exec,
			       .size_bytes = b->size_bytes,
			       .entries = b->entries };

	if (plan_writer_name(c->out, b->path, b->path_bytes, &f.name, err))
		return -1;
	if (b->link) {
		struct plan_file link = { .name = f.name,
					  .kind = PLAN_FILE_LINK,
					  .size_bytes = b->link_bytes,
					  .entries = -1 };

		if (plan_writer_file(c->out, &link, NULL, err))
			return -1;
	}
	f.lines = b->dir ? 0 : b->lines;
	return plan_writer_file(c->out, &f, b->line, err);
}

static int write_objects(struct compiler *c)
{
	uint32_t n, pipes;
	const struct plan_pipe *p = objects_pipes(c->objects, &pipes);
	const struct plan_object *o = objects_table(c->objects, &n);
	struct plan_object *copy = reel_alloc(n + 1, sizeof(*copy), c->err);
	int rc = -1;

	if (!copy)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = o[i];
		if (o[i].name != PLAN_NONE &&
		    name_file(c, o[i].name, &copy[i].name))
			goto out;
	}
	rc = plan_writer_objects(c->out, copy, n, p, pipes, c->err);
out:
	free(copy);
	return rc;
}

/* Parents are earlier, so this ends. */
static bool moves(const struct compiler *c, uint32_t process)
{
	for (; process != JOB_NONE; process = c->job->process[process].parent)
		if (c->moves[process])
			return true;
	return false;
}

static int write_processes(struct compiler *c, struct plan_head *h)
{
	for (uint32_t i = 0; i < c->job->processes; i++) {
		const struct job_process *jp = &c->job->process[i];
		struct plan_process p = {
			.process_id = jp->id,
			.parent = jp->parent,
			.stream = jp->stream,
			.streams = jp->streams,
			.start_ns = jp->start_ns + c->lead_ns,
			.end_ns = jp->end_ns + c->lead_ns,
			.fds = objects_fds(c->objects, i),
			.moves = moves(c, i),
			.exits = jp->exits,
		};

		for (uint32_t k = 0; k < jp->streams; k++)
			p.makers += c->makes[jp->stream + k];
		if (p.fds > h->fds)
			h->fds = p.fds;
		if (plan_writer_process(c->out, &p, c->err))
			return -1;
	}
	return 0;
}

/* How long after the start of the job its time 0 was: until the first event. */
static int read_lead(struct compiler *c)
{
	static const char sql[] =
		"SELECT max(0, min(start_real_ns -"
		" json_extract(job_json, '$.start_real_ns'),"
		" wall_ns - span_ns)) FROM run";
	int64_t ns = 0;
	bool has = false;

	if (reel_store_int(c->st, sql, &ns, &has, NULL) || !has)
		ns = 0;
	if (ns + c->job->origin_ns < 0)
		ns = -c->job->origin_ns;
	c->lead_ns = ns;
	return 0;
}

static int write_plan(struct compiler *c, const char *path)
{
	struct plan_head h = { .wall_ns = c->job->wall_ns,
			       .calls = c->async,
			       .async = c->async };

	if (plan_writer_new(&c->out, path, c->err) ||
	    inserts_read(&c->inserts, c->job, c->st, c->err) || read_lead(c))
		return -1;
	for (uint32_t i = 0; i < c->job->streams; i++) {
		h.calls += c->calls[i];
		if (write_stream(c, i))
			return -1;
	}
	if (history_before(c->history, give_file, c, c->err) ||
	    write_objects(c) || write_processes(c, &h))
		return -1;
	h.skipped = c->skipped;
	return plan_writer_finish(c->out, &h, c->err);
}

/* Calls that were only counted have no order and no offsets. */
static int refuse_counted(struct compiler *c)
{
	static const char sql[] =
		"SELECT count(*) FROM loss WHERE reason = 'counted'";
	int64_t n = 0;
	bool has = false;

	if (reel_store_int(c->st, sql, &n, &has, c->err))
		return -1;
	if (has && n)
		return reel_fail(c->err, REEL_E_FORMAT,
				 "cannot replay: calls of the run were only "
				 "counted (--events none, or past --max-size)");
	return 0;
}

static int prepare(struct compiler *c)
{
	uint32_t n;

	if (job_read(&c->job, c->st, c->err))
		return -1;
	n = c->job->streams + 1;
	c->calls = reel_alloc(n, sizeof(*c->calls), c->err);
	c->idle_ns = reel_alloc(n, sizeof(*c->idle_ns), c->err);
	c->makes = reel_alloc(n, sizeof(*c->makes), c->err);
	c->moves = reel_alloc((size_t)c->job->processes + 1, sizeof(*c->moves),
			      c->err);
	c->name_of = reel_alloc(c->job->files, sizeof(*c->name_of), c->err);
	c->copy = reel_alloc(n, sizeof(*c->copy), c->err);
	c->msync = reel_alloc(c->job->opens, sizeof(*c->msync), c->err);
	if (!c->calls || !c->idle_ns || !c->copy || !c->msync || !c->makes || !c->moves ||
	    !c->name_of)
		return -1;
	for (uint32_t i = 0; i < c->job->streams; i++)
		c->idle_ns[i] =
			c->job->process[c->job->stream[i].process].start_ns;
	return listings_new(&c->listings, c->job, &c->marks, c->err) ||
			       history_new(&c->history, c->job, c->listings,
					   c->err) ||
			       edges_new(&c->edges, c->job, &c->marks,
					 c->err) ||
			       messages_new(&c->messages, c->job, c->edges,
					    &c->marks, c->err) ||
			       objects_new(&c->objects, c->job, &c->marks,
					   c->err) ?
		       -1 :
		       0;
}

int plan_compile(struct reel_store *st, const char *path,
		 struct reel_error *err)
{
	struct compiler c = { .st = st, .err = err };
	int rc = -1;

	if (refuse_counted(&c) || prepare(&c))
		goto out;
	reel_progress_start(&c.progress, "planning", "events", c.job->events);
	if (survey(&c))
		goto out;
	marks_sort(&c.marks);
	rc = write_plan(&c, path);
out:
	reel_progress_stop(&c.progress);
	plan_writer_free(c.out);
	inserts_fini(&c.inserts);
	objects_free(c.objects);
	messages_free(c.messages);
	edges_free(c.edges);
	history_free(c.history);
	listings_free(c.listings);
	marks_fini(&c.marks);
	free(c.calls);
	free(c.idle_ns);
	free(c.copy);
	free(c.msync);
	free(c.makes);
	free(c.moves);
	free(c.name_of);
	job_free(c.job);
	return rc;
}

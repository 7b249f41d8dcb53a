/* SPDX-License-Identifier: MIT */
/*
 * The second pass of the compiler: the events of a thread, in the order of
 * their starts, become the records of a stream, each with its annotations from
 * the first pass. Both passes must count calls identically.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/store/store.h"

#include "replay/fsstate/fd_objects.h"
#include "replay/fsstate/fsstate.h"
#include "replay/model/recorded_job.h"
#include "replay/plan/compile.h"
#include "replay/plan/write.h"

int compile_name(struct compiler *c, uint32_t file, uint32_t *name)
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

/* Set the gap since the end of the stream so far, and the duration. */
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

/* Add up asynchronous time. Events come in the order of their starts. */
static void add_async(struct compiler *c, const struct reel_event *ev)
{
	int64_t start_ns = ev->start_ns, end_ns = start_ns + ev->dur_ns;

	if (ev->dur_ns <= 0)
		return;
	c->async_sum_ns += ev->dur_ns;
	if (start_ns < c->async_end_ns)
		start_ns = c->async_end_ns;
	if (end_ns <= start_ns)
		return;
	c->async_union_ns += end_ns - start_ns;
	c->async_end_ns = end_ns;
}

static const struct plan_more no_more = PLAN_MORE_NONE;

static int write_fork_waits(struct compiler *c, uint32_t child,
			    struct plan_more *m)
{
	const struct forks *f = &c->forks;
	uint32_t index;

	for (size_t i = forks_first_wait(f, child);
	     i < f->waits && f->wait[i].child == child; i++) {
		struct plan_edge edge = {.stream = f->wait[i].before.stream,
					 .calls = f->wait[i].before.index + 1};

		if (plan_writer_edge(c->out, &edge, &index, c->err))
			return -1;
		if (!m->edges++)
			m->edge = index;
	}
	return 0;
}

static int write_lifecycle_event(struct compiler *c,
				 const struct lifecycle_event *in)
{
	struct plan_record r = {.offset = PLAN_NO_OFFSET,
				.size = PLAN_NO_SIZE,
				.fd = -1,
				.op = in->op,
				.flags = PLAN_F_MORE};
	struct plan_more m = no_more;

	m.arg = in->arg;
	m.arg2 = in->arg2;
	set_time(c, &r, &m, in->at_ns, 0);
	if (in->op == PLAN_OP_FORK &&
	    write_fork_waits(c, (uint32_t)in->arg, &m))
		return -1;
	if (in->name && plan_writer_name(c->out, in->name, strlen(in->name),
					 &m.name, c->err))
		return -1;
	return plan_writer_record(c->out, &r, &m, c->err);
}

/* Write the forks, spans and ends of @stream up to @until_ns. */
static int write_lifecycle(struct compiler *c, uint32_t stream,
			   int64_t until_ns)
{
	const struct lifecycle *in = &c->lifecycle;

	for (; c->next_lifecycle < in->n &&
	       in->at[c->next_lifecycle].stream == stream;
	     c->next_lifecycle++) {
		const struct lifecycle_event *i = &in->at[c->next_lifecycle];

		if (until_ns != INT64_MAX &&
		    (i->at_ns > until_ns || i->op == PLAN_OP_END))
			return 0;
		if (write_lifecycle_event(c, i))
			return -1;
	}
	return 0;
}

/*
 * The flags of a path that appears: a directory, a socket (an empty path that
 * the job only probed), or a file. PyTorch's loader workers bind sockets; and a
 * bound socket keeps its directory's inode in use after both are removed, which
 * makes the rmdir() cheap.
 */
static uint32_t appear_flags(const struct compiler *c,
			     const struct annotation *k)
{
	if (k->appear.is_dir && !fsstate_not_dir(c->fsstate, k->appear.file))
		return PLAN_F_APPEAR | PLAN_F_APPEAR_DIR;
	if (!k->ns && !fsstate_is_used(c->fsstate, k->appear.file))
		return PLAN_F_APPEAR | PLAN_F_APPEAR_SOCKET;
	return PLAN_F_APPEAR;
}

/* Bytes leave the cache before the call. A file that begins cold needs no
 * eviction for its first reads. */
static void add_eviction(struct compiler *c, const struct annotation *k,
			 uint32_t file, struct plan_record *r,
			 struct plan_more *m)
{
	if (!k->fetch.cached && residency_cold(&c->residency, file))
		return;
	m->pos = k->ns;
	m->lost_bytes = k->fetch.bytes;
	r->flags |= PLAN_F_MORE | PLAN_F_FETCH;
	c->fetches++;
}

/* Apply the annotations of the call, which is on @file, or 0. */
static int apply_annotations(struct compiler *c, uint32_t stream, uint32_t call,
			     uint32_t file, struct plan_record *r,
			     struct plan_more *m, int64_t *longer_ns,
			     int64_t *after_ns)
{
	const struct annotations *list = &c->annotations;

	for (; c->next_annotation < list->n; c->next_annotation++) {
		const struct annotation *k = &list->list[c->next_annotation];
		struct plan_edge edge = {k->wait.stream, k->wait.calls};
		uint32_t index;

		if (k->stream != stream || k->call != call)
			return 0;
		switch (k->kind) {
		case ANNOTATION_POST:
			r->flags |= PLAN_F_POST;
			break;
		case ANNOTATION_WAIT:
			if (plan_writer_edge(c->out, &edge, &index, c->err))
				return -1;
			if (!m->edges++)
				m->edge = index;
			r->flags |= PLAN_F_MORE;
			break;
		case ANNOTATION_OBJECT:
			if (k->object.fd == (uint32_t)r->fd)
				m->object = k->object.index;
			else
				m->object2 = k->object.index;
			r->flags |= PLAN_F_MORE;
			break;
		case ANNOTATION_APPEAR:
			m->appear_bytes = k->ns;
			r->flags |= PLAN_F_MORE | appear_flags(c, k);
			break;
		case ANNOTATION_VANISH:
			r->flags |= PLAN_F_MORE | PLAN_F_VANISH;
			break;
		case ANNOTATION_ENTRIES:
			m->entries = k->ns;
			r->flags |= PLAN_F_MORE | PLAN_F_ENTRIES;
			break;
		case ANNOTATION_DIRTY:
			m->dirty_bytes = k->ns;
			r->flags |= PLAN_F_MORE | PLAN_F_DIRTY;
			break;
		case ANNOTATION_FETCH:
			add_eviction(c, k, file, r, m);
			break;
		case ANNOTATION_DELAY:
			*after_ns = k->ns;
			break;
		case ANNOTATION_COLLECTIVE_WAIT:
		case ANNOTATION_EXTERNAL_WAIT:
			*longer_ns = k->ns;
			break;
		}
	}
	return 0;
}

/* Is the argument needed? An absent one is replayed as 0. */
static bool is_set(int64_t arg)
{
	return arg != 0 && arg != PLAN_NO_OFFSET;
}

/* Mappings need m.open, seeks of streams m.pos. */
static bool needs_more(const struct reel_event *ev, const struct plan_more *m,
		       int64_t expected)
{
	return ev->err || ev->result != expected || m->name != PLAN_NONE ||
	       m->name2 != PLAN_NONE || ev->fd2 >= 0 || m->count != 1 ||
	       is_set(m->arg) || is_set(m->arg2) ||
	       ev->layer == REEL_LAYER_MMAP || ev->group == REEL_GROUP_SEEK;
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
	if (pipe &&
	    (ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE ||
	     ev->group == REEL_GROUP_OPEN))
		flags |= PLAN_F_MESSAGE;
	if (is_async(ev))
		flags |= PLAN_F_ASYNC;
	if (reel_call_traits(ev->call) & REEL_TRAIT_READS_LINE)
		flags |= PLAN_F_LINES;
	return flags;
}

/* Is the call by path, not by an existing descriptor? */
static bool by_path(const struct reel_event *ev)
{
	return ev->group == REEL_GROUP_OPEN || ev->fd < 0;
}

/* The size that the call asks for; of an import that does not know it, the bytes that
 * were transferred. */
static int64_t asked_size(const struct reel_event *ev)
{
	bool moved = ev->layer == REEL_LAYER_POSIX &&
		     (ev->group == REEL_GROUP_READ ||
		      ev->group == REEL_GROUP_WRITE) &&
		     !ev->err && ev->result > 0;

	if (ev->asked >= 0)
		return ev->asked;
	return moved ? ev->result : PLAN_NO_SIZE;
}

/* The record of @ev without its times and annotations. */
static void make_record(struct compiler *c, const struct reel_event *ev,
			struct plan_record *r, struct plan_more *m)
{
	bool makes = ev->group == REEL_GROUP_OPEN;

	*r = (struct plan_record){.offset = ev->offset,
				  .size = asked_size(ev),
				  .fd = makes ? -1 : ev->fd,
				  .op = ev->call,
				  .flags = flags_of(ev)};
	*m = (struct plan_more){.result = ev->result,
				.arg = ev->arg,
				.arg2 = ev->arg2,
				.pos = is_two_fd_copy(ev->call) ? PLAN_NO_OFFSET
								: ev->pos,
				.name = PLAN_NONE,
				.name2 = PLAN_NONE,
				.err = ev->err,
				.fd2 = makes ? ev->fd : ev->fd2,
				.count = ev->count ? ev->count : 1,
				.object = PLAN_NONE,
				.object2 = PLAN_NONE,
				.open = ev->open};
	if (!reel_call_info(ev->call) || ev->call >= REEL_CALL_MAX ||
	    ev->fd >= 1 << 20 || ev->fd2 >= 1 << 20) {
		r->op = 0;
		r->fd = m->fd2 = -1;
		c->skipped++;
	}
	if (r->fd < -1 ||
	    (!ev->open && ev->err == EBADF && r->fd > STDERR_FILENO))
		r->fd = -1;
	if (m->fd2 < -1)
		m->fd2 = -1;
}

/* Write the held record: no COPY_OUT can follow any more. */
static int write_held(struct compiler *c)
{
	if (!c->held.any)
		return 0;
	c->held.any = false;
	return plan_writer_record(c->out, &c->held.r, &c->held.m, c->err);
}

/* @ev is the target side of the held copy. */
static void add_target(struct compiler *c, const struct reel_event *ev)
{
	c->held.m.fd2 = ev->fd < 1 << 20 ? ev->fd : -1;
	c->held.m.pos = ev->offset;
	c->held.r.flags |= PLAN_F_MORE;
	c->held.copy.any = false;
}

/* The newlines that calls read in the bytes that @ev wrote. */
static int write_lines(struct compiler *c, const struct reel_event *ev,
		       struct plan_record *r, struct plan_more *m)
{
	const int64_t *line = NULL;
	size_t n = fsstate_written_lines(c->fsstate, ev, &line);
	uint32_t index;

	for (size_t i = 0; i < n && i < UINT32_MAX; i++) {
		if (plan_writer_line(c->out, line[i] - ev->offset, &index,
				     c->err))
			return -1;
		if (!m->lines++)
			m->line = index;
	}
	if (n)
		r->flags |= PLAN_F_LINES | PLAN_F_MORE;
	return 0;
}

static bool is_tmpfile_open(const struct reel_event *ev)
{
	return ev->group == REEL_GROUP_OPEN && ev->arg != REEL_NO_OFFSET &&
	       (ev->arg & O_TMPFILE) == O_TMPFILE;
}

static int write_event(struct compiler *c, const struct reel_event *ev,
		       uint32_t stream, uint32_t call)
{
	struct plan_record *r = &c->held.r;
	struct plan_more *m = &c->held.m;
	int64_t longer_ns = 0, after_ns = -1, gap_ns;

	make_record(c, ev, r, m);
	if ((by_path(ev) && compile_name(c, ev->file, &m->name)) ||
	    compile_name(c, ev->file2, &m->name2))
		return -1;
	if (needs_more(ev, m, r->flags & PLAN_F_FULL ? ev->asked : 0))
		r->flags |= PLAN_F_MORE;
	if (is_tmpfile_open(ev) && !ev->err &&
	    fd_objects_needs_path(c->fd_objects, ev->file))
		r->flags |= PLAN_F_NAMED;
	if (write_lines(c, ev, r, m))
		return -1;
	c->held.any = true;
	note_copy(&c->held.copy, ev);
	if (apply_annotations(c, stream, call, ev->file, r, m, &longer_ns,
			      &after_ns))
		return -1;
	if (is_async(ev)) { /* its thread continued at once */
		set_time(c, r, m, ev->start_ns, 0);
		add_async(c, ev);
	} else {
		set_time(c, r, m, ev->start_ns + longer_ns,
			 ev->dur_ns - longer_ns);
	}
	if (after_ns >= 0 && m->edges) {
		r->flags |= PLAN_F_WAIT_FIRST;
		/* The message may have arrived before the thread was ready. */
		gap_ns = (int64_t)((uint64_t)m->gap_high << 32 | r->gap_ns);
		m->after_ns = after_ns < gap_ns ? after_ns : gap_ns;
	}
	return 0;
}

/* Write the arrival at a collective, or the leaving. */
static int write_phase(struct compiler *c, uint32_t stream, uint32_t *call,
		       int64_t start_ns, unsigned int phase)
{
	struct plan_record r = {.offset = PLAN_NO_OFFSET,
				.size = PLAN_NO_SIZE,
				.fd = -1,
				.op = PLAN_OP_COLLECTIVE,
				.flags = PLAN_F_MORE};
	struct plan_more m = no_more;
	int64_t waited_ns = 0, unused;

	if (apply_annotations(c, stream, (*call)++, 0, &r, &m, &waited_ns,
			      &unused))
		return -1;
	set_time(c, &r, &m, start_ns,
		 phase == COLLECTIVE_LEAVE ? waited_ns : 0);
	return plan_writer_record(c->out, &r, &m, c->err);
}

/* Write all that comes before a record at @start_ns. */
static int write_before(struct compiler *c, uint32_t stream, uint32_t *call,
			int64_t start_ns)
{
	uint32_t done = 0;

	if (write_held(c))
		return -1;
	for (; done < c->leavings && c->leaving[done].end_ns <= start_ns;
	     done++)
		if (write_phase(c, stream, call, c->leaving[done].start_ns,
				COLLECTIVE_LEAVE))
			return -1;
	c->leavings -= done;
	if (done)
		memmove(c->leaving, c->leaving + done,
			c->leavings * sizeof(*c->leaving));
	return write_lifecycle(c, stream, start_ns);
}

static int write_collective(struct compiler *c, const struct reel_event *ev,
			    uint32_t stream, uint32_t *call)
{
	struct leaving leave = {ev->start_ns, ev->start_ns + ev->dur_ns};
	unsigned int phase = collective_phase(ev);
	uint32_t i;

	if (write_before(c, stream, call, ev->start_ns) ||
	    (phase & COLLECTIVE_ARRIVE &&
	     write_phase(c, stream, call, ev->start_ns, COLLECTIVE_ARRIVE)))
		return -1;
	if (!(phase & COLLECTIVE_LEAVE))
		return 0;
	i = c->leavings;
	if (reel_array_reach(&c->leaving, &c->leaving_room, i,
			     sizeof(*c->leaving), c->err))
		return -1;
	for (; i && c->leaving[i - 1].end_ns > leave.end_ns; i--)
		c->leaving[i] = c->leaving[i - 1];
	c->leaving[i] = leave;
	c->leavings++;
	return 0;
}

/* *@call: the index of the next call of the stream. */
static int stream_event(struct compiler *c, const struct reel_event *ev,
			uint32_t stream, uint32_t *call)
{
	if (collective_phase(ev))
		return write_collective(c, ev, stream, call);
	if (!is_replayable(ev))
		return 0;
	if (is_target_of(&c->held.copy, ev)) {
		add_target(c, ev);
		return 0;
	}
	if (write_before(c, stream, call, ev->start_ns))
		return -1;
	return write_event(c, ev, stream, (*call)++);
}

int compile_stream(struct compiler *c, uint32_t stream)
{
	const struct job_stream *js = &c->job->stream[stream];
	const struct job_process *jp = &c->job->process[js->process];
	struct plan_stream s = {.thread_id = js->id, .process = js->process};
	struct reel_events *it = NULL;
	struct reel_event ev;
	uint32_t call = 0;
	int more, rc = -1;

	c->held.any = c->held.copy.any = false;
	c->leavings = 0;
	c->at_ns = jp->start_ns;
	c->async_end_ns = INT64_MIN;
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
	if (more < 0 || write_before(c, stream, &call, INT64_MAX))
		goto out;
	rc = 0;
out:
	reel_events_close(it);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Compiles a store into a plan, in two passes over its events. The first one,
 * over the whole job in the order of ends, finds dependencies and the state of
 * the file system; the second writes stream after stream in the order of
 * starts.
 *
 * Both passes count the calls of a thread in the same way, because annotations
 * refer to calls by that count.
 */
#include "replay/plan/compile.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/store.h"

#include "replay/deps/deps.h"
#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/fd_objects.h"
#include "replay/fsstate/fsstate.h"
#include "replay/model/recorded_job.h"
#include "replay/plan/write.h"

static uint32_t stream_of(const struct compiler *c, const struct reel_event *ev)
{
	return ev->thread < c->job->thread_ids ? c->job->stream_of[ev->thread]
					       : JOB_NONE;
}

/* --- the first pass ------------------------------------------------------ */

/* Annotate an external change. Only a call by path can show one. */
static int annotate_external(struct compiler *c, const struct reel_event *ev,
			     const struct call_ref *call,
			     const struct effects *effects)
{
	bool by_name = effects->changed_file == ev->file &&
		       (ev->fd < 0 || ev->group == REEL_GROUP_OPEN);
	int64_t size = c->job->file[ev->file].size_bytes;
	struct annotation note = {.stream = call->stream,
				  .call = call->index,
				  .appear = {effects->dir, ev->file},
				  .ns = size > 0 ? size : 0,
				  .kind = effects->appeared
						  ? ANNOTATION_APPEAR
						  : ANNOTATION_VANISH};

	if (by_name && annotations_add(&c->annotations, &note, c->err))
		return -1;
	pending_changes_add(&c->pending, call, effects, by_name);
	return 0;
}

/* Number the call in its stream; both sides of a copy have one number. */
static int number_call(struct compiler *c, const struct reel_event *ev,
		       struct call_ref *call)
{
	struct last_copy *copy = &c->copy[call->stream];
	uint32_t *calls = &c->calls[call->stream];

	if (is_target_of(copy, ev)) {
		call->index = *calls - 1;
		copy->any = false;
		return 0;
	}
	note_copy(copy, ev);
	call->index = enclosing_number(&c->enclosing, call->stream, ev, calls);
	return *calls < UINT32_MAX
		       ? 0
		       : reel_fail(
				 c->err, REEL_E_LIMIT,
				 "cannot replay: a thread has too many calls");
}

/*
 * The trace has the bytes changed in a mapping at its end, but an msync()
 * before had to write them back.
 */
static int annotate_msync(struct compiler *c, const struct reel_event *ev,
			  const struct call_ref *call)
{
	struct call_ref *last = &c->msync[ev->open];
	struct annotation note = {.stream = last->stream,
				  .call = last->index,
				  .ns = ev->result,
				  .kind = ANNOTATION_DIRTY};

	if (ev->call == REEL_CALL_MSYNC && !ev->err)
		*last = *call;
	if (ev->call != REEL_CALL_MAP_WRITE || !last->end_ns)
		return 0;
	last->end_ns = 0;
	return annotations_add(&c->annotations, &note, c->err);
}

static int survey_call(struct compiler *c, struct reel_event *ev,
		       uint32_t stream)
{
	struct call_ref call = {.stream = stream,
				.end_ns = ev->start_ns + ev->dur_ns};
	struct effects effects;

	if (number_call(c, ev, &call))
		return -1;
	if (ev->group == REEL_GROUP_OPEN || ev->fd2 >= 0)
		c->opens_fds[stream] = 1;
	if (ev->call == REEL_CALL_CHDIR || ev->call == REEL_CALL_FCHDIR)
		c->changes_dir[c->job->stream[stream].process] = 1;
	if (!is_async(ev) && residency_event(&c->residency, ev, &call, c->err))
		return -1;
	if (fsstate_event(c->fsstate, ev, &call, &effects, c->err) ||
	    fd_objects_event(c->fd_objects, ev, stream, call.index, c->err) ||
	    forks_event(&c->forks, ev, &call, c->err) ||
	    pending_changes_event(&c->pending, ev, &call, &effects, c->err) ||
	    deps_event(c->deps, ev, &call, &effects, c->err))
		return -1;
	if (ev->open && annotate_msync(c, ev, &call))
		return -1;
	if ((effects.appeared || effects.vanished) &&
	    annotate_external(c, ev, &call, &effects))
		return -1;
	/* No thread waits inside an asynchronous operation. */
	if ((ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET) &&
	    !is_async(ev) &&
	    messages_event(c->messages, ev, &call, c->idle_ns[stream], c->err))
		return -1;
	c->idle_ns[stream] = call.end_ns;
	return 0;
}

/* Each phase of a collective has a number of its own in the stream: the
 * arrival before the calls inside it, the leaving behind them. */
static int survey_collective(struct compiler *c, const struct reel_event *ev,
			     uint32_t stream)
{
	uint32_t *calls = &c->calls[stream];
	unsigned int phase = collective_phase(ev);
	struct call_ref arrive = {.stream = stream,
				  .end_ns = ev->start_ns + ev->dur_ns};
	struct call_ref leave = arrive;

	if (phase & COLLECTIVE_ARRIVE) {
		arrive.index =
			enclosing_number(&c->enclosing, stream, ev, calls);
		c->phases++;
	}
	if (phase & COLLECTIVE_LEAVE) {
		enclosing_number_until(&c->enclosing, stream, leave.end_ns,
				       calls);
		leave.index = (*calls)++;
		c->phases++;
	}
	if (*calls >= UINT32_MAX - 2)
		return reel_fail(c->err, REEL_E_LIMIT,
				 "cannot replay: a thread has too many calls");
	c->idle_ns[stream] = leave.end_ns;
	return collectives_event(c->collectives, ev, &arrive, &leave, c->err);
}

static int survey_event(struct compiler *c, struct reel_event *ev)
{
	uint32_t stream = stream_of(c, ev);

	if (stream == JOB_NONE)
		return reel_fail(c->err, REEL_E_FORMAT,
				 "cannot replay: an event has no thread");
	if (ev->file >= c->job->files || ev->file2 >= c->job->files ||
	    ev->open >= c->job->opens)
		return reel_fail(c->err, REEL_E_FORMAT,
				 "cannot replay: an event has no file");
	if (collective_phase(ev))
		return survey_collective(c, ev, stream);
	if (!is_replayable(ev))
		return 0;
	c->async += is_async(ev);
	return survey_call(c, ev, stream);
}

static int survey_events(struct compiler *c)
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

/* --- the tables around the streams --------------------------------------- */

static int write_file(void *arg, const struct initial_file *i,
		      struct reel_error *err)
{
	struct compiler *c = arg;
	struct plan_file f = {.kind = i->dir	? PLAN_FILE_DIR
				      : i->fifo ? PLAN_FILE_FIFO
						: PLAN_FILE_REGULAR,
			      .denied = i->denied,
			      .exec = i->exec,
			      .cold = residency_cold(&c->residency, i->file),
			      .piece_bytes = residency_min_evict_bytes(
				      &c->residency, i->file),
			      .size_bytes = i->fifo ? 0 : i->size_bytes,
			      .entries = i->entries};

	if (plan_writer_name(c->out, i->path, i->path_bytes, &f.name, err))
		return -1;
	if (i->link) {
		struct plan_file link = {.name = f.name,
					 .kind = i->loop ? PLAN_FILE_LOOP
							 : PLAN_FILE_LINK,
					 .size_bytes = i->link_bytes,
					 .entries = -1};

		if (plan_writer_file(c->out, &link, NULL, err))
			return -1;
		if (i->dangling)
			return 0;
	}
	f.lines = i->dir ? 0 : i->lines;
	return plan_writer_holes(c->out, &f, i->hole, i->holes, err) ||
			       plan_writer_file(c->out, &f, i->line, err)
		       ? -1
		       : 0;
}

static int write_objects(struct compiler *c)
{
	uint32_t n, pipes;
	const struct plan_pipe *p = fd_objects_pipes(c->fd_objects, &pipes);
	const struct plan_object *o = fd_objects_table(c->fd_objects, &n);
	struct plan_object *copy = reel_alloc(n + 1, sizeof(*copy), c->err);
	int rc = -1;

	if (!copy)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = o[i];
		if (o[i].name != PLAN_NONE &&
		    compile_name(c, o[i].name, &copy[i].name))
			goto out;
		/* A file without a path to open it by. */
		if (o[i].kind == PLAN_OBJECT_FILE &&
		    copy[i].name == PLAN_NONE) {
			copy[i].kind = PLAN_OBJECT_MEMORY;
			copy[i].pos = c->job->file[o[i].name].size_bytes;
		}
	}
	rc = plan_writer_objects(c->out, copy, n, p, pipes, c->err);
out:
	free(copy);
	return rc;
}

/* Did the process, or one before it, change its directory? Parents come
 * earlier, so this ends. */
static bool changes_dir(const struct compiler *c, uint32_t process)
{
	for (; process != JOB_NONE; process = c->job->process[process].parent)
		if (c->changes_dir[process])
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
			.fds = fd_objects_fds(c->fd_objects, i),
			.moves = changes_dir(c, i),
			.exits = jp->exits,
		};

		for (uint32_t k = 0; k < jp->streams; k++)
			p.makers += c->opens_fds[jp->stream + k];
		if (p.fds > h->fds)
			h->fds = p.fds;
		if (plan_writer_process(c->out, &p, c->err))
			return -1;
	}
	return 0;
}

/* The time 0 of the store is the first event: how long after the start of the
 * job that was. */
static int read_lead(struct compiler *c)
{
	static const char sql[] = "SELECT max(0, min(start_real_ns -"
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
	struct plan_head h = {.wall_ns = c->job->wall_ns,
			      .calls = -c->phases,
			      .async = c->async,
			      .collectives =
				      collectives_complete(c->collectives)};

	if (plan_writer_new(&c->out, path, c->err) ||
	    lifecycle_read(&c->lifecycle, c->job, c->st, c->err) ||
	    read_lead(c))
		return -1;
	for (uint32_t i = 0; i < c->job->streams; i++) {
		h.calls += c->calls[i];
		if (compile_stream(c, i))
			return -1;
	}
	if (fsstate_initial_files(c->fsstate, write_file, c, c->err) ||
	    write_objects(c) || write_processes(c, &h))
		return -1;
	h.skipped = c->skipped;
	h.fetches = c->fetches;
	h.async_sum_ns = c->async_sum_ns;
	h.async_union_ns = c->async_union_ns;
	h.room_bytes = fsstate_peak_disk_bytes(c->fsstate);
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

static int init_compiler(struct compiler *c)
{
	uint32_t n;

	if (job_read(&c->job, c->st, c->err))
		return -1;
	n = c->job->streams + 1;
	c->calls = reel_alloc(n, sizeof(*c->calls), c->err);
	c->idle_ns = reel_alloc(n, sizeof(*c->idle_ns), c->err);
	c->opens_fds = reel_alloc(n, sizeof(*c->opens_fds), c->err);
	c->changes_dir = reel_alloc((size_t)c->job->processes + 1,
				    sizeof(*c->changes_dir), c->err);
	c->name_of = reel_alloc(c->job->files, sizeof(*c->name_of), c->err);
	c->copy = reel_alloc(n, sizeof(*c->copy), c->err);
	c->msync = reel_alloc(c->job->opens, sizeof(*c->msync), c->err);
	if (!c->calls || !c->idle_ns || !c->copy || !c->msync ||
	    !c->opens_fds || !c->changes_dir || !c->name_of ||
	    residency_init(&c->residency, c->job, &c->annotations, c->err))
		return -1;
	for (uint32_t i = 0; i < c->job->streams; i++)
		c->idle_ns[i] =
			c->job->process[c->job->stream[i].process].start_ns;
	return enclosing_read(&c->enclosing, c->job, c->st, c->err) ||
			       inodes_init(&c->inodes, c->job, c->err) ||
			       listings_new(&c->listings, c->job,
					    &c->annotations, c->err) ||
			       fsstate_new(&c->fsstate, c->job, c->listings,
					   &c->inodes, c->err) ||
			       deps_new(&c->deps, c->job, &c->annotations,
					&c->inodes, c->err) ||
			       pending_changes_init(&c->pending, c->job,
						    &c->annotations, c->deps,
						    c->err) ||
			       messages_new(&c->messages, c->job, c->deps,
					    &c->annotations, c->err) ||
			       collectives_new(&c->collectives, c->deps,
					       &c->annotations, c->err) ||
			       fd_objects_new(&c->fd_objects, c->job,
					      &c->annotations, c->err) ||
			       forks_init(&c->forks, c->job, &c->annotations,
					  c->err)
		       ? -1
		       : 0;
}

int plan_compile(struct reel_store *st, const char *path,
		 struct reel_error *err)
{
	struct compiler c = {.st = st, .err = err};
	int rc = -1;

	if (refuse_counted(&c) || init_compiler(&c))
		goto out;
	reel_progress_start(&c.progress, "planning", "events", c.job->events);
	if (survey_events(&c))
		goto out;
	annotations_sort(&c.annotations);
	forks_sort(&c.forks);
	rc = write_plan(&c, path);
out:
	reel_progress_stop(&c.progress);
	plan_writer_free(c.out);
	lifecycle_fini(&c.lifecycle);
	fd_objects_free(c.fd_objects);
	forks_fini(&c.forks);
	messages_free(c.messages);
	collectives_free(c.collectives);
	deps_free(c.deps);
	fsstate_free(c.fsstate);
	enclosing_fini(&c.enclosing);
	free(c.leaving);
	inodes_fini(&c.inodes);
	pending_changes_fini(&c.pending);
	residency_fini(&c.residency);
	listings_free(c.listings);
	annotations_fini(&c.annotations);
	free(c.calls);
	free(c.idle_ns);
	free(c.copy);
	free(c.msync);
	free(c.opens_fds);
	free(c.changes_dir);
	free(c.name_of);
	job_free(c.job);
	return rc;
}

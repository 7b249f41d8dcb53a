/* SPDX-License-Identifier: MIT */
/*
 * Simulates the descriptor tables of all processes: opens, dups, closes, forks.
 *
 * A fork copies the table of its parent. Forks are applied in the order of
 * their times, each before the first event that ends later.
 */
#include "replay/fsstate/fd_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/model/classify.h"
#include "replay/model/recorded_job.h"

#define FDS_MAX (1 << 20)
#define STANDARD 3

struct fd_table {
	uint32_t *open; /* open id by fd; 0: not known */
	uint32_t room;
	uint32_t fds; /* 1 + the highest number */
};

struct fd_objects {
	const struct job *job;
	struct annotations *annotations;
	struct fd_table *table; /* by process */
	uint32_t *forks;	/* processes with a parent, by time */
	uint32_t n_forks, next_fork;
	struct reel_intmap ends; /* kind, pipe -> index in end_object */
	uint32_t *end_object;
	uint32_t end_room;
	uint32_t *pipe_of; /* by file id, 1 + index */
	bool *by_path;	   /* by file id: an object opens it */
	struct plan_object *object;
	uint32_t objects, object_room;
	struct plan_pipe *pipe;
	uint32_t pipes, pipe_room;
};

static int by_start(const void *a, const void *b, void *arg)
{
	const struct job *job = arg;
	int64_t x = job->process[*(const uint32_t *)a].start_ns;
	int64_t y = job->process[*(const uint32_t *)b].start_ns;

	if (x != y)
		return x < y ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

int fd_objects_new(struct fd_objects **out, const struct job *job,
		   struct annotations *annotations, struct reel_error *err)
{
	struct fd_objects *o = reel_alloc(1, sizeof(*o), err);

	if (!o)
		return -1;
	o->job = job;
	o->annotations = annotations;
	o->table = reel_alloc(job->processes + 1, sizeof(*o->table), err);
	o->forks = reel_alloc(job->processes + 1, sizeof(*o->forks), err);
	o->pipe_of = reel_alloc(job->files, sizeof(*o->pipe_of), err);
	o->by_path = reel_alloc(job->files, sizeof(*o->by_path), err);
	if (!o->table || !o->forks || !o->pipe_of || !o->by_path) {
		fd_objects_free(o);
		return -1;
	}
	for (uint32_t i = 0; i < job->processes; i++)
		if (job->process[i].parent != JOB_NONE)
			o->forks[o->n_forks++] = i;
	qsort_r(o->forks, o->n_forks, sizeof(*o->forks), by_start, (void *)job);
	*out = o;
	return 0;
}

void fd_objects_free(struct fd_objects *o)
{
	if (!o)
		return;
	for (uint32_t i = 0; o->table && i < o->job->processes; i++)
		free(o->table[i].open);
	free(o->table);
	free(o->forks);
	reel_intmap_fini(&o->ends);
	free(o->end_object);
	free(o->pipe_of);
	free(o->by_path);
	free(o->object);
	free(o->pipe);
	free(o);
}

static int apply_forks(struct fd_objects *o, int64_t end_ns,
		       struct reel_error *err)
{
	for (; o->next_fork < o->n_forks; o->next_fork++) {
		uint32_t child = o->forks[o->next_fork];
		const struct job_process *p = &o->job->process[child];
		const struct fd_table *from = &o->table[p->parent];
		struct fd_table *to = &o->table[child];

		if (p->start_ns >= end_ns)
			return 0;
		if (!from->room)
			continue;
		to->open = reel_alloc(from->room, sizeof(*to->open), err);
		if (!to->open)
			return -1;
		memcpy(to->open, from->open, from->room * sizeof(*to->open));
		to->room = from->room;
		to->fds = from->fds;
	}
	return 0;
}

static uint32_t *slot_of(struct fd_objects *o, uint32_t process, int32_t fd,
			 struct reel_error *err)
{
	struct fd_table *t = &o->table[process];

	if (reel_array_reach(&t->open, &t->room, (uint32_t)fd, sizeof(*t->open),
			     err))
		return NULL;
	if ((uint32_t)fd >= t->fds)
		t->fds = (uint32_t)fd + 1;
	return &t->open[fd];
}

static int add_object(struct fd_objects *o, const struct plan_object *new,
		      uint32_t *index, struct reel_error *err)
{
	if (reel_array_reach(&o->object, &o->object_room, o->objects,
			     sizeof(*o->object), err))
		return -1;
	o->object[o->objects] = *new;
	*index = o->objects++;
	return 0;
}

static int pipe_of(struct fd_objects *o, const struct reel_event *ev,
		   uint32_t *pipe, struct reel_error *err)
{
	uint32_t *known = &o->pipe_of[ev->file];
	int64_t bytes = reel_event_bytes(ev);

	if (!*known) {
		if (reel_array_reach(&o->pipe, &o->pipe_room, o->pipes,
				     sizeof(*o->pipe), err))
			return -1;
		o->pipe[o->pipes].socket = ev->kind == REEL_KIND_SOCKET;
		*known = ++o->pipes;
	}
	*pipe = *known - 1;
	if (bytes > 0 && (uint64_t)bytes > o->pipe[*pipe].most)
		o->pipe[*pipe].most = (uint64_t)bytes;
	return 0;
}

/* The end of a pipe, or the substitute, that gives the recorded result. */
static uint32_t end_kind(const struct fd_objects *o,
			 const struct reel_event *ev)
{
	bool write = ev->group == REEL_GROUP_WRITE;
	int32_t flags = o->job->open[ev->open].flags;

	if (write && ev->err == EPIPE)
		return PLAN_OBJECT_BROKEN;
	if (ev->group == REEL_GROUP_READ && ev->err == EAGAIN)
		return PLAN_OBJECT_EMPTY;
	if (ev->group == REEL_GROUP_READ && !ev->err &&
	    (ev->result <= 0 ||
	     (ev->layer == REEL_LAYER_STDIO && ev->result < ev->asked)))
		return PLAN_OBJECT_EOF;
	if (ev->kind == REEL_KIND_SOCKET)
		return PLAN_OBJECT_SOCKET;
	if (write || (ev->group != REEL_GROUP_READ && flags >= 0 &&
		      (flags & O_ACCMODE) == O_WRONLY))
		return PLAN_OBJECT_PIPE_WRITE;
	return PLAN_OBJECT_PIPE_READ;
}

static int pipe_object(struct fd_objects *o, const struct reel_event *ev,
		       uint32_t *index, struct reel_error *err)
{
	struct plan_object new = {
		.kind = end_kind(o, ev), .name = PLAN_NONE, .dup_of = -1};
	uint32_t known = o->ends.used, i;

	if (pipe_of(o, ev, &new.pipe, err))
		return -1;
	i = reel_intmap_get(&o->ends, (uint64_t) new.kind << 32 | new.pipe,
			    err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&o->end_object, &o->end_room, i,
			     sizeof(*o->end_object), err))
		return -1;
	if (i == known && add_object(o, &new, &o->end_object[i], err))
		return -1;
	*index = o->end_object[i];
	return 0;
}

/* Another descriptor of the same open file description, which an unrecorded
 * dup2() copied, as after vfork(); or -1. */
static int32_t dup_of(const struct fd_table *t, const struct reel_event *ev)
{
	for (uint32_t i = 0; i < t->fds; i++)
		if (t->open[i] == ev->open && (int32_t)i != ev->fd)
			return (int32_t)i;
	return -1;
}

static int file_object(struct fd_objects *o, const struct reel_event *ev,
		       const struct fd_table *t, uint32_t *index,
		       struct reel_error *err)
{
	const struct job_open *open = &o->job->open[ev->open];
	struct plan_object new = {.name = ev->file,
				  .flags = open->flags,
				  .dup_of = dup_of(t, ev)};
	bool io = ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE;

	/* The first use does not show whether later ones read or write. */
	if (new.flags < 0)
		new.flags = ev->kind == REEL_KIND_DIR ? O_RDONLY : O_RDWR;
	/* The file exists by now, even if it never had a path. */
	new.flags &= ~(O_CREAT | O_TRUNC | O_EXCL | O_TMPFILE);
	if (io && ev->offset > 0)
		new.pos = ev->offset;
	if (ev->kind == REEL_KIND_FILE || ev->kind == REEL_KIND_DIR) {
		new.kind = PLAN_OBJECT_FILE;
		o->by_path[ev->file] |= new.dup_of < 0;
	} else if (ev->kind == REEL_KIND_MEMORY) {
		new.kind = PLAN_OBJECT_MEMORY;
		new.pos = o->job->file[ev->file].size_bytes;
	} else {
		new.kind = PLAN_OBJECT_NULL;
	}
	return add_object(o, &new, index, err);
}

/* Put an object behind ev->fd, unless the table has its description there. A
 * message may need another substitute each time. */
static int require_object(struct fd_objects *o, const struct reel_event *ev,
			  uint32_t *slot, uint32_t stream, uint32_t index,
			  struct reel_error *err)
{
	const struct fd_table *t = &o->table[o->job->stream[stream].process];
	bool pipe = ev->kind == REEL_KIND_PIPE || ev->kind == REEL_KIND_SOCKET;
	bool message = pipe && (ev->group == REEL_GROUP_READ ||
				ev->group == REEL_GROUP_WRITE);
	struct annotation note = {.stream = stream,
				  .call = index,
				  .object.fd = (uint32_t)ev->fd,
				  .kind = ANNOTATION_OBJECT};

	if (!message && *slot == ev->open)
		return 0;
	*slot = ev->open;
	if (pipe ? pipe_object(o, ev, &note.object.index, err)
		 : file_object(o, ev, t, &note.object.index, err))
		return -1;
	return annotations_add(o->annotations, &note, err);
}

int fd_objects_event(struct fd_objects *o, const struct reel_event *ev,
		     uint32_t stream, uint32_t index, struct reel_error *err)
{
	uint32_t process = o->job->stream[stream].process, *slot;

	if (apply_forks(o, ev->start_ns + ev->dur_ns, err))
		return -1;
	if (ev->fd < 0 || ev->fd >= FDS_MAX || ev->fd2 >= FDS_MAX ||
	    (!ev->open && ev->err == EBADF))
		return 0;
	slot = slot_of(o, process, ev->fd, err);
	if (!slot)
		return -1;
	if (!ev->open || ev->open >= o->job->opens || !ev->file ||
	    ev->file >= o->job->files)
		return 0;
	if (is_by_address(ev->call))
		return 0;
	if (ev->group == REEL_GROUP_OPEN) {
		if (!ev->err)
			*slot = ev->open;
		return 0;
	}
	if (require_object(o, ev, slot, stream, index, err))
		return -1;
	if (ev->group == REEL_GROUP_CLOSE)
		*slot = 0;
	if (ev->fd2 >= 0 && !ev->err) {
		slot = slot_of(o, process, ev->fd2, err);
		if (!slot)
			return -1;
		*slot = ev->open;
	}
	return 0;
}

const struct plan_object *fd_objects_table(const struct fd_objects *o,
					   uint32_t *n)
{
	*n = o->objects;
	return o->object;
}

const struct plan_pipe *fd_objects_pipes(const struct fd_objects *o,
					 uint32_t *n)
{
	*n = o->pipes;
	return o->pipe;
}

bool fd_objects_needs_path(const struct fd_objects *o, uint32_t file)
{
	return o->by_path[file];
}

uint32_t fd_objects_fds(const struct fd_objects *o, uint32_t process)
{
	uint32_t fds = o->table[process].fds;

	/* The standard descriptors count even when they are closed. */
	return fds < STANDARD ? STANDARD : fds;
}

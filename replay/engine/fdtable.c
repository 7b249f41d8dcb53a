/* SPDX-License-Identifier: MIT */
/*
 * The descriptor table of a replayed process: numbers as in the job, and the
 * open files that no recorded call opened.
 *
 * Everything here happens between the calls of the job, by raw system calls
 * that the shim does not record.
 */
#include "replay/engine/fdtable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/error.h"

#include "replay/engine/beneath.h"
#include "replay/engine/calls.h"
#include "replay/engine/player.h"

#define TURNS_LOST_MOST 8
#define MPI_FDS 512 /* more than MPI has open */

static uint32_t number_count(const struct player_process *p)
{
	return p->engine->plan->head->fds;
}

struct slot *fdtable_slot(struct player_process *p, int32_t fd)
{
	return fd >= 0 && (uint32_t)fd < number_count(p) ? &p->slot[fd] : NULL;
}

/*
 * The standard streams here are the user's. A log can lack the job's, as strace
 * does without -y: unnamed files in the sandbox, which is the working directory,
 * take the calls on them.
 */
static void replace_standard(const struct player_process *p)
{
	for (int i = 0; i < 3; i++) {
		long fd;

		if (raw(SYS_fcntl, i, F_GETFD) < 0)
			continue;
		fd = raw(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0600);
		raw(SYS_dup3, fd < 0 ? p->engine->null : (int)fd, i, 0);
		if (fd >= 0)
			raw(SYS_close, fd);
	}
}

int fdtable_init(struct player_process *p, struct reel_error *err)
{
	uint32_t n = number_count(p);

	p->slot = reel_alloc(n + 1, sizeof(*p->slot), err);
	p->number = reel_alloc(n + 1, sizeof(*p->number), err);
	if (!p->slot || !p->number)
		return -1;
	/* The job has no use for descriptors of the launcher. */
	raw(SYS_close_range, 3, p->engine->base - 1, 0);
	replace_standard(p);
	for (uint32_t i = 0; i < n; i++) {
		p->slot[i] = (struct slot){.fd = -1, .object = PLAN_NONE};
		if (raw(SYS_fcntl, i, F_GETFD) >= 0)
			p->number[i] = NUMBER_PARKED;
	}
	return 0;
}

static void set_number(struct player_process *p, int fd, enum number use)
{
	if (fd < 0 || (uint32_t)fd >= number_count(p))
		return;
	p->number[fd] = (uint8_t)use;
	if (use == NUMBER_FREE && (uint32_t)fd < p->floor)
		p->floor = (uint32_t)fd;
}

/*
 * Make @to, a number that the table says is free, a copy of @fd. By F_DUPFD, as
 * dup3() would close a descriptor that a thread without its turn has just
 * opened.
 */
static bool take_number(struct player_process *p, int fd, int to)
{
	long got;

	if (p->number[to] != NUMBER_FREE)
		return raw(SYS_dup3, fd, to, O_CLOEXEC) >= 0; /* ours */
	got = raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, to);
	if (got >= 0 && got != to)
		raw(SYS_close, got);
	return got == to;
}

static void reserve_number(struct player_process *p, int32_t fd)
{
	uint32_t n = number_count(p);

	if (fd < 0 || (uint32_t)fd >= n || p->number[fd] == NUMBER_USED)
		return;
	if (p->number[fd] == NUMBER_INHERITED)
		p->slot[fd] = (struct slot){.fd = -1, .object = PLAN_NONE};
	for (uint32_t i = p->floor; i < (uint32_t)fd; i++) {
		if (p->number[i] == NUMBER_FREE)
			p->number[i] = take_number(p, p->engine->null, (int)i)
					       ? NUMBER_PARKED
					       : NUMBER_USED;
	}
	if (p->floor < (uint32_t)fd)
		p->floor = (uint32_t)fd;
	if (p->number[fd] != NUMBER_FREE) {
		raw(SYS_close, fd);
		set_number(p, fd, NUMBER_FREE);
	}
}

bool fdtable_ensure_closed(struct player_process *p, int32_t fd)
{
	if (fd < 0 || raw(SYS_fcntl, fd, F_GETFD) < 0)
		return true;
	if ((uint32_t)fd >= number_count(p) || p->number[fd] != NUMBER_PARKED)
		return false;
	raw(SYS_close, fd);
	set_number(p, fd, NUMBER_FREE);
	return true;
}

void fdtable_take_turn(struct player *p)
{
	struct player_process *q = p->process;

	if (!q->many_makers)
		return;
	p->held = wait_lock_briefly(&q->lock);
	/*
	 * Opens are slow here: their overlap matters more than their numbers,
	 * which are not changed from now on.
	 */
	if (!p->held && ++q->turns_lost >= TURNS_LOST_MOST) {
		q->any_number = true;
		q->many_makers = false;
	}
}

void fdtable_end_turn(struct player *p)
{
	if (p->held) /* a raw call preserves errno */
		wait_unlock(&p->process->lock);
	p->held = false;
}

void fdtable_before_open(struct player *p, const struct call_spec *s)
{
	bool alone = !p->process->many_makers;

	fdtable_take_turn(p);
	if (p->held || (alone && !p->process->any_number))
		reserve_number(p->process, s->m->fd2);
}

int64_t fdtable_after_open(struct player *p, const struct call_spec *s, int got)
{
	struct player_process *q = p->process;
	struct slot *slot = fdtable_slot(q, s->m->fd2);

	set_number(q, got, NUMBER_USED);
	if (got >= 0 && slot)
		*slot = (struct slot){.fd = got, .object = PLAN_NONE};
	fdtable_end_turn(p);
	return got;
}

void fdtable_closed(struct player *p, int32_t fd)
{
	struct slot *s = fdtable_slot(p->process, fd);

	if (s) {
		set_number(p->process, s->fd >= 0 ? s->fd : fd, NUMBER_FREE);
		*s = (struct slot){.fd = -1, .object = PLAN_NONE};
	}
	fdtable_end_turn(p);
}

void fdtable_range_closed(struct player *p, uint32_t first, uint32_t last)
{
	struct player_process *q = p->process;

	for (uint32_t i = first; i <= last && i < number_count(q); i++) {
		int fd = q->slot[i].fd;

		set_number(q, (int)i, NUMBER_FREE);
		/* The descriptor has another number than the job's. */
		if (fd >= 0 && (uint32_t)fd != i) {
			raw(SYS_close, fd);
			set_number(q, fd, NUMBER_FREE);
		}
		q->slot[i] = (struct slot){.fd = -1, .object = PLAN_NONE};
	}
}

void fdtable_inherited(struct player_process *p)
{
	for (uint32_t i = 0; i < number_count(p); i++)
		if (p->number[i] == NUMBER_USED)
			p->number[i] = NUMBER_INHERITED;
}

/* @fd, of any number, becomes the job's @to; it is consumed. */
static void place_fd(struct player_process *p, int32_t to, int fd,
		     uint32_t object)
{
	struct slot *s = fdtable_slot(p, to);
	int at = to;

	if (!s || fd < 0)
		return;
	/* It may belong to a slot whose own number was in use. */
	if ((p->number[to] == NUMBER_USED || p->any_number) && s->fd != to)
		at = s->fd >= 0 ? s->fd : fd;
	if (at != fd && take_number(p, fd, at))
		raw(SYS_close, fd);
	else
		at = fd;
	set_number(p, at, NUMBER_USED);
	s->fd = at;
	s->object = object;
}

/* The same for a copy of one of the engine's own descriptors. */
static void place_copy(struct player_process *p, int32_t to, int fd,
		       uint32_t object)
{
	struct slot *s = fdtable_slot(p, to);

	if (!s)
		return;
	if (s->fd == to || (p->number[to] != NUMBER_USED && !p->any_number)) {
		if (take_number(p, fd, to)) {
			set_number(p, to, NUMBER_USED);
			s->fd = to;
			s->object = object;
			return;
		}
	}
	place_fd(p, to, (int)raw(SYS_fcntl, fd, F_DUPFD, 0), object);
}

/* A new pipe without a writer, filled with the bytes of one read. */
static int ended_pipe(struct player *p, const struct call_spec *s)
{
	int fd[2];

	if (raw(SYS_pipe2, fd, O_NONBLOCK))
		return -1;
	if (s->want > 65536)
		raw(SYS_fcntl, fd[1], F_SETPIPE_SZ, s->want);
	message_feed(p, s, fd[1]);
	raw(SYS_close, fd[1]);
	raw(SYS_fcntl, fd[0], F_SETFL, 0);
	return fd[0];
}

static int open_file(struct player *p, const struct plan_object *o)
{
	char path[PATH_MAX];
	long fd;

	if (!sandbox_path(&p->engine->sandbox,
			  plan_name(p->engine->plan, o->name), path))
		return -1;
	fd = beneath_open(p->process, path, o->flags & ~(O_CREAT | O_TRUNC));
	if (fd >= 0 && o->pos > 0)
		raw(SYS_lseek, fd, o->pos, SEEK_SET);
	return (int)fd;
}

static int open_memory(struct player *p, const struct plan_object *o)
{
	char name[200] = "replay";
	const char *from =
		o->name == PLAN_NONE ? "" : plan_name(p->engine->plan, o->name);
	long fd;

	if (!strncmp(from, "/memfd:", 7)) {
		size_t n = strcspn(from + 7, " ");

		if (n >= sizeof(name))
			n = sizeof(name) - 1;
		memcpy(name, from + 7, n);
		name[n] = '\0';
	}
	fd = raw(SYS_memfd_create, name, 0);
	if (fd >= 0 && o->pos > 0)
		raw(SYS_ftruncate, fd, o->pos);
	return (int)fd;
}

/* A file that has no name at this time: replace it by memory of its size. */
static int open_file_or_memory(struct player *p, const struct plan_object *o)
{
	int fd = open_file(p, o);

	if (fd != -ENOENT)
		return fd;
	fd = open_memory(p, o);
	if (fd >= 0 && o->pos > 0)
		raw(SYS_lseek, fd, o->pos, SEEK_SET);
	return fd;
}

static void provide_object(struct player *p, const struct call_spec *s,
			   int32_t fd, uint32_t object)
{
	const struct engine *e = p->engine;
	const struct plan_object *o = &e->plan->object[object];
	struct player_process *q = p->process;
	const struct slot *dup_of = fdtable_slot(q, o->dup_of);
	int pipe = e->pipes + 2 * (int)o->pipe;

	if (dup_of && dup_of->fd >= 0 &&
	    raw(SYS_fcntl, dup_of->fd, F_GETFD) >= 0) {
		place_copy(q, fd, dup_of->fd, object);
		return;
	}
	switch (o->kind) {
	case PLAN_OBJECT_PIPE_READ:
	case PLAN_OBJECT_SOCKET:
		place_copy(q, fd, pipe, object);
		break;
	case PLAN_OBJECT_PIPE_WRITE:
		place_copy(q, fd, pipe + 1, object);
		break;
	case PLAN_OBJECT_EOF:
		place_fd(q, fd, ended_pipe(p, s), PLAN_NONE);
		break;
	case PLAN_OBJECT_EMPTY:
		place_copy(q, fd, e->empty, object);
		break;
	case PLAN_OBJECT_BROKEN:
		place_copy(q, fd, e->broken, object);
		break;
	case PLAN_OBJECT_FILE:
		place_fd(q, fd, open_file_or_memory(p, o), object);
		break;
	case PLAN_OBJECT_MEMORY:
		place_fd(q, fd, open_memory(p, o), object);
		break;
	default:
		place_copy(q, fd, e->null, object);
	}
}

void fdtable_provide(struct player *p, const struct call_spec *s, int32_t fd,
		     uint32_t object)
{
	struct slot *slot = fdtable_slot(p->process, fd);

	if (!slot || (slot->fd >= 0 && slot->object == object))
		return;
	wait_lock(&p->process->lock);
	provide_object(p, s, fd, object);
	wait_unlock(&p->process->lock);
}

/* --- the engine's own ---------------------------------------------------- */

/* Move @fd up to @to, with close-on-exec like all descriptors of the engine. */
static int move_up(long fd, int to)
{
	if (fd < 0)
		return -1;
	if (raw(SYS_dup3, fd, to, O_CLOEXEC) < 0)
		return -1;
	raw(SYS_close, fd);
	return 0;
}

static int open_pair(struct engine *e, uint32_t i)
{
	const struct plan_pipe *pp = &e->plan->pipe[i];
	int fd[2], at = e->pipes + 2 * (int)i;
	long bad;

	/* Nonblocking: the bytes of a read are put in just before it. */
	bad = pp->socket ? raw(SYS_socketpair, AF_UNIX,
			       SOCK_STREAM | SOCK_NONBLOCK, 0, fd)
			 : raw(SYS_pipe2, fd, O_NONBLOCK);
	if (bad)
		return -1;
	/* A whole message has to fit. */
	if (!pp->socket && pp->most > 65536)
		raw(SYS_fcntl, fd[1], F_SETPIPE_SZ, pp->most);
	return move_up(fd[0], at) || move_up(fd[1], at + 1) ? -1 : 0;
}

static int open_stand_ins(struct engine *e)
{
	int fd[2];

	if (move_up(raw(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0),
		    e->null) ||
	    raw(SYS_pipe2, fd, O_NONBLOCK) || move_up(fd[0], e->empty) ||
	    move_up(fd[1], e->empty + 1) || raw(SYS_pipe2, fd, 0) ||
	    move_up(fd[1], e->broken))
		return -1;
	raw(SYS_close, fd[0]);
	return 0;
}

int fdtable_open_own(struct engine *e, struct reel_error *err)
{
	const struct plan_head *h = e->plan->head;
	uint64_t need;
	struct rlimit lim = {RLIM_INFINITY, RLIM_INFINITY};

	getrlimit(RLIMIT_NOFILE, &lim);
	e->base = (int)h->fds + 16;
	/* Above the descriptors of MPI, if so many are allowed. */
	if (e->base < MPI_FDS && lim.rlim_max >= 2 * MPI_FDS)
		e->base = MPI_FDS;
	e->null = e->base;
	e->empty = e->base + 1; /* its write end is the next number */
	e->broken = e->base + 3;
	e->pipes = e->base + 4;
	e->spare = e->pipes + 2 * (int)h->pipes;
	need = (uint64_t)e->spare + 16;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_cur < need)
		return reel_fail(err, REEL_E_IO,
				 "the job needs %llu descriptors, %llu are "
				 "allowed (ulimit -n)",
				 (unsigned long long)need,
				 (unsigned long long)lim.rlim_cur);
	if (open_stand_ins(e))
		goto fail;
	for (uint32_t i = 0; i < h->pipes; i++)
		if (open_pair(e, i))
			goto fail;
	return 0;
fail:
	return reel_fail(err, REEL_E_IO, "cannot make pipes: %s",
			 strerror(errno));
}

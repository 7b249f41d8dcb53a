/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes of pipes and sockets.
 *
 * Edges of the plan keep the order of messages, so the pipe itself decides
 * nothing: the bytes of a read are put into it just before the read, and the
 * bytes of a write are drained at once. Sizes and results are those of the job,
 * no call blocks, and no result depends on the speed of the other end. All
 * processes share the pipe; it is locked during both steps.
 */
#include "replay/engine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/player.h"
#include "replay/model/classify.h"

/* Every pipe and socket holds as many, and the buffer of a stream. */
#define HOLDS_BYTES (65536 - 4096)

void message_feed(struct player *p, const struct call_spec *s, int fd)
{
	int64_t left = s->want > 0 ? s->want : 0;
	bool line = s->r->flags & PLAN_F_LINES;
	char newline = '\n';

	while (left > 0) {
		size_t n = (size_t)left - line;
		bool whole = n <= p->out_bytes;
		struct iovec part[2] = {{p->out, whole ? n : p->out_bytes},
					{&newline, whole && line}};
		long done = raw(SYS_writev, fd, part, 2);

		if (done <= 0)
			return;
		left -= done;
	}
}

/* Read all bytes from the pipe or socket. */
static void drain_pipe(int fd)
{
	char scratch[16384];
	int there = 0;

	while (!raw(SYS_ioctl, fd, FIONREAD, &there) && there > 0)
		if (raw(SYS_read, fd, scratch,
			there < (int)sizeof(scratch)
				? there
				: (int)sizeof(scratch)) <= 0)
			return;
}

/* A message larger than the pipe goes to /dev/null: nothing reads it. */
static int64_t write_away(struct player *p, const struct call_spec *s, int fd,
			  player_call *call)
{
	long keep = raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, p->engine->base);
	int64_t r;
	int err;

	raw(SYS_dup3, p->engine->null, fd, 0);
	r = call(p, s);
	err = errno;
	if (keep >= 0) {
		raw(SYS_dup3, keep, fd, 0);
		raw(SYS_close, keep);
	}
	errno = err;
	return r;
}

static bool fits_pipe(const struct plan_pipe *pp, int fd, int64_t bytes)
{
	return bytes <= HOLDS_BYTES ||
	       (!pp->socket && raw(SYS_fcntl, fd, F_GETPIPE_SZ) >= bytes);
}

int64_t message_write(struct player *p, const struct call_spec *s,
		      uint32_t object, int fd, player_call *call)
{
	const struct engine *e = p->engine;
	const struct plan_object *o = &e->plan->object[object];
	bool copies = is_two_fd_copy(s->r->op), held = true;
	const struct plan_pipe *pp;
	uint32_t *lock;
	int64_t r;
	int end, err;

	if (o->kind > PLAN_OBJECT_SOCKET)
		return call(p, s); /* a descriptor of its own, not shared */
	pp = &e->plan->pipe[o->pipe];
	lock = &e->result.lock[o->pipe];
	end = e->pipes + 2 * (int)o->pipe;
	/* Another copy may hold this lock and wait for one that we hold. */
	if (copies)
		held = wait_lock_briefly(lock);
	else
		wait_lock(lock);
	if (!fits_pipe(pp, end + 1, copies ? s->want : s->size))
		r = write_away(p, s, fd, call);
	else
		r = call(p, s);
	err = errno;
	drain_pipe(pp->socket ? end + 1 : end);
	if (held)
		wait_unlock(lock);
	errno = err;
	return r;
}

int64_t message_call(struct player *p, const struct call_spec *s,
		     player_call *call)
{
	const struct engine *e = p->engine;
	const struct plan_object *o;
	uint32_t *lock;
	int64_t r;
	int end, err;

	if (call_stdio_sends(p, s))
		return message_write(p, s, s->slot->object, s->fd, call);
	if (s->m->object == PLAN_NONE || call_stdio_keeps(s))
		return call(p, s);
	if (plan_is_write(s->r))
		return message_write(p, s, s->m->object, s->fd, call);
	o = &e->plan->object[s->m->object];
	if (o->kind > PLAN_OBJECT_SOCKET)
		return call(p, s); /* a descriptor of its own, not shared */
	lock = &e->result.lock[o->pipe];
	end = e->pipes + 2 * (int)o->pipe;
	wait_lock(lock);
	message_feed(p, s, end + 1);
	r = call(p, s);
	err = errno;
	if (is_two_fd_copy(s->r->op)) /* tee() leaves the bytes in its source */
		drain_pipe(end);
	wait_unlock(lock);
	errno = err;
	return r;
}

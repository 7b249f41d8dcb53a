/* SPDX-License-Identifier: MIT */
/*
 * Messages: reads and writes of pipes and sockets.
 *
 * The order of messages is kept by the plan's edges, so the pipe itself has
 * nothing left to decide: a read finds exactly the bytes that it got in the
 * job, put there just before it, and what a write wrote is taken out at once.
 * The calls, their sizes and results are those of the job, nobody blocks, and
 * no result depends on how fast the other end is. The pipe is one for all
 * processes, and locked from the first to the second of these steps.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "lib/calls.h"

#include "replay/engine/player.h"
#include "replay/model/classify.h"
#include "replay/model/syscall.h"

/* What every pipe and socket takes at once, but for a stream's buffer. */
#define HOLDS_BYTES (65536 - 4096)

void message_feed(struct player *p, const struct step *s, int fd)
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

/* Take out all that is in it. */
static void drain(int fd)
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

/* Larger than the pipe: nobody reads meanwhile, so it goes nowhere. */
static int64_t write_away(struct player *p, const struct step *s, int fd,
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

static bool fits(const struct plan_pipe *pp, int fd, int64_t bytes)
{
	return bytes <= HOLDS_BYTES ||
	       (!pp->socket && raw(SYS_fcntl, fd, F_GETPIPE_SZ) >= bytes);
}

int64_t message_write(struct player *p, const struct step *s, uint32_t object,
		      int fd, player_call *call)
{
	const struct engine *e = p->engine;
	const struct plan_object *o = &e->plan->object[object];
	bool copies = is_two_fd_copy(s->r->op), held = true;
	const struct plan_pipe *pp;
	uint32_t *lock;
	int64_t r;
	int end, err;

	if (o->kind > PLAN_OBJECT_SOCKET)
		return call(p, s); /* a stand-in of its own */
	pp = &e->plan->pipe[o->pipe];
	lock = &e->result.lock[o->pipe];
	end = e->pipes + 2 * (int)o->pipe;
	/* Another copy may hold this one and wait for the one that we hold. */
	if (copies)
		held = wait_lock_briefly(lock);
	else
		wait_lock(lock);
	if (!fits(pp, end + 1, copies ? s->want : s->size))
		r = write_away(p, s, fd, call);
	else
		r = call(p, s);
	err = errno;
	drain(pp->socket ? end + 1 : end);
	if (held)
		wait_unlock(lock);
	errno = err;
	return r;
}

int64_t message_call(struct player *p, const struct step *s, player_call *call)
{
	const struct engine *e = p->engine;
	const struct plan_object *o;
	uint32_t *lock;
	int64_t r;
	int end, err;

	if (engine_stdio_sends(p, s))
		return message_write(p, s, s->slot->object, s->fd, call);
	if (s->m->object == PLAN_NONE || engine_stdio_keeps(s))
		return call(p, s);
	if (plan_is_write(s->r))
		return message_write(p, s, s->m->object, s->fd, call);
	o = &e->plan->object[s->m->object];
	if (o->kind > PLAN_OBJECT_SOCKET)
		return call(p, s); /* a stand-in of its own */
	lock = &e->result.lock[o->pipe];
	end = e->pipes + 2 * (int)o->pipe;
	wait_lock(lock);
	message_feed(p, s, end + 1);
	r = call(p, s);
	err = errno;
	if (is_two_fd_copy(s->r->op)) /* tee() leaves it where it was */
		drain(end);
	wait_unlock(lock);
	errno = err;
	return r;
}

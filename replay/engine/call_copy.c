/* SPDX-License-Identifier: MIT */
/*
 * Issues calls that copy between two descriptors inside the kernel.
 *
 * The plan does not tell whether the program passed an offset or used the
 * position of the descriptor. A recorded offset that differs from the current
 * position was passed.
 */
#include "replay/engine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "replay/engine/fdtable.h"
#include "replay/model/classify.h"

/* The arguments of a copy. */
struct copy {
	int from, to;
	off64_t *from_off, *to_off; /* into offset[]; NULL: the position */
	off64_t offset[2];
	size_t bytes;
};

static off64_t *explicit_offset(int fd, int64_t offset, off64_t *at)
{
	long now = raw(SYS_lseek, fd, 0, SEEK_CUR);

	if (offset < 0 || now < 0 || now == offset)
		return NULL;
	*at = offset;
	return at;
}

static void prepare_copy(struct copy *c, const struct call_spec *s)
{
	c->from = s->fd;
	c->to = s->to;
	c->from_off = explicit_offset(s->fd, s->offset, &c->offset[0]);
	c->to_off = explicit_offset(s->to, s->m->pos, &c->offset[1]);
	c->bytes = (size_t)s->size;
	/* Nothing reads the pipe meanwhile: cut it where it was cut. */
	if (s->m->object2 != PLAN_NONE && s->want > 0)
		c->bytes = (size_t)s->want;
}

static int64_t issue_copy(struct player *p, const struct call_spec *s)
{
	struct copy c;

	(void)p;
	prepare_copy(&c, s);
	switch (s->r->op) {
	case REEL_CALL_SENDFILE:
		return sendfile(c.to, c.from, c.from_off, c.bytes);
	case REEL_CALL_SPLICE:
		return splice(c.from, c.from_off, c.to, c.to_off, c.bytes,
			      (unsigned int)s->flags);
	case REEL_CALL_TEE:
		return tee(c.from, c.to, c.bytes, (unsigned int)s->flags);
	default:
		return copy_file_range(c.from, c.from_off, c.to, c.to_off,
				       c.bytes, (unsigned int)s->flags);
	}
}

/* The target was not recorded: copy to /dev/null. */
static int64_t copy_away(struct player *p, const struct call_spec *s)
{
	int null = p->engine->null;
	off64_t at, *from = explicit_offset(s->fd, s->offset, &at);

	if (s->r->flags & PLAN_F_MESSAGE)
		return splice(s->fd, NULL, null, NULL, (size_t)s->size, 0);
	return sendfile(null, s->fd, from, (size_t)s->size);
}

/*
 * A copy that failed in the job: choose a target with which it fails again, so
 * that it writes nothing.
 */
static int64_t copy_in_vain(struct player *p, const struct call_spec *s)
{
	const struct slot *slot = fdtable_slot(p->process, (int32_t)s->m->arg2);
	struct call_spec fails = *s;
	int64_t r;
	int memory = -1, err;

	fails.to = -1;
	switch (s->m->err) {
	case EXDEV: /* to another file system */
		memory = (int)raw(SYS_memfd_create, "replay", 0);
		fails.to = memory;
		break;
	case EAGAIN:
	case EBADF:
	case EINVAL:
	case EISDIR:
	case ESPIPE:
		fails.to = slot && slot->fd >= 0 ? slot->fd : -1;
		break;
	}
	r = issue_copy(p, &fails);
	err = errno;
	if (memory >= 0)
		raw(SYS_close, memory);
	errno = err;
	return r;
}

static int64_t copy_bytes(struct player *p, const struct call_spec *s)
{
	if (s->m->err)
		return copy_in_vain(p, s);
	if (s->m->fd2 < 0)
		return copy_away(p, s);
	if (s->m->object2 != PLAN_NONE)
		return message_write(p, s, s->m->object2, s->to, issue_copy);
	return issue_copy(p, s);
}

CALL_IS(COPY_FILE_RANGE, copy_bytes(p, s))
CALL_IS(SENDFILE, copy_bytes(p, s))
CALL_IS(SPLICE, copy_bytes(p, s))
CALL_IS(TEE, copy_bytes(p, s))

/* The source was not recorded: write as many bytes to the target. */
CALL_OF(COPY_OUT)
{
	off64_t at, *to = explicit_offset(s->fd, s->offset, &at);
	int64_t done = 0;

	while (done < s->want) {
		int64_t left = s->want - done, n;
		size_t bytes = (uint64_t)left < p->out_bytes ? (size_t)left
							     : p->out_bytes;

		n = to ? pwrite(s->fd, p->out, bytes, *to + done)
		       : write(s->fd, p->out, bytes);
		if (n <= 0)
			return done ? done : n;
		done += n;
	}
	return done;
}

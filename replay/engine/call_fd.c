/* SPDX-License-Identifier: MIT */
/*
 * Issues POSIX calls on descriptors again, each by the function of libc that
 * the job called, so that the shim records the same call. Calls on names are in
 * call_path.c.
 *
 * Paths are in the sandbox: absolute, or relative to its root, also where the
 * job passed the descriptor of a directory.
 */
#include "replay/engine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "schemas/replay_open.h"
#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/beneath.h"
#include "replay/engine/fdtable.h"

/*
 * With a closed descriptor the offset may be missing: a negative one would fail
 * with EINVAL, not EBADF.
 */
static int64_t call_offset(const struct call_spec *s)
{
	return s->m->err == EBADF ? spec_length(s) : s->offset;
}

/* A bad address in the job is a bad address here. */
static void *call_memory(const struct call_spec *s, uint8_t *own)
{
	return s->m->err == EFAULT ? (void *)1 : own;
}

/* --- open and close ------------------------------------------------------ */

/* The path of O_TMPFILE is the directory of the file. */
static const char *open_path(struct player *p, const struct call_spec *s)
{
	char *slash;

	if (beneath_on(p))
		return s->path;
	if ((s->flags & O_TMPFILE) != O_TMPFILE || s->m->name == PLAN_NONE ||
	    s->m->err)
		return s->path;
	slash = strrchr(p->path, '/');
	if (slash)
		*slash = '\0';
	return p->path; /* not above the root: a name begins with a slash */
}

/* A named pipe is opened for reading and writing: that cannot block. */
static int open_flags(const struct call_spec *s)
{
	if (s->r->flags & PLAN_F_NAMED)
		return s->flags & ~O_EXCL; /* O_EXCL forbids a later linkat() */
	return s->r->flags & PLAN_F_MESSAGE && !(s->flags & O_PATH) &&
			       s->m->err != ENXIO
		       ? (s->flags & ~O_ACCMODE) | O_RDWR
		       : s->flags;
}

CALL_OF(OPEN)
{
	/* For a child of posix_spawn(): the next record closes it. */
	if (s->m->fd2 < 0 && !s->m->err)
		return p->spawned = open(open_path(p, s), open_flags(s),
					 (mode_t)spec_arg2(s));
	return FDTABLE_OPEN(
		p, s,
		open(open_path(p, s), open_flags(s), (mode_t)spec_arg2(s)));
}

CALL_IS(OPENAT, FDTABLE_OPEN(p, s,
			     openat(spec_dir(s), open_path(p, s), open_flags(s),
				    (mode_t)spec_arg2(s))))

/*
 * Open the file by its recorded name: libc would draw another random name, or
 * open a file outside the sandbox.
 */
static int64_t open_as(struct player *p, const struct call_spec *s, int flags)
{
	mode_t mode = (mode_t)spec_arg2(s);

	return FDTABLE_OPEN(
		p, s,
		ioreel_open_as ? ioreel_open_as(s->r->op, s->path, flags, mode)
			       : open(s->path, flags, mode));
}

CALL_IS(SHM_OPEN, open_as(p, s, s->flags | O_NOFOLLOW | O_CLOEXEC))
CALL_IS(OPEN_BY_HANDLE_AT, open_as(p, s, s->flags))

CALL_OF(MEMFD_CREATE)
{
	const char *name = s->m->name == PLAN_NONE
				   ? "/memfd:replay"
				   : plan_name(p->engine->plan, s->m->name);
	size_t prefix = strlen("/memfd:");

	return FDTABLE_OPEN(
		p, s,
		memfd_create(strlen(name) > prefix ? name + prefix : "",
			     (unsigned int)spec_arg2(s)));
}

CALL_IS(CREAT, FDTABLE_OPEN(p, s, creat(s->path, (mode_t)spec_arg2(s))))

/* libc fails on a bad template before it draws a name. */
CALL_IS(MKSTEMP, s->m->err == EINVAL
			 ? mkstemps((char *)(uintptr_t)s->path, PATH_MAX)
			 : open_as(p, s, s->flags))

CALL_OF(CLOSE)
{
	int64_t r;

	if (s->r->fd < 0 && p->spawned >= 0) {
		r = close(p->spawned);
		p->spawned = -1;
		return r;
	}
	fdtable_take_turn(p);
	r = close(s->fd);
	fdtable_closed(p, s->r->fd);
	return r;
}

/* Descriptors of the engine, above all of the job's, stay open. */
CALL_OF(CLOSE_RANGE)
{
	unsigned int first = (unsigned int)s->flags;
	unsigned int last = (unsigned int)p->engine->base - 1;
	int64_t r,
		to = s->r->op == REEL_CALL_CLOSEFROM ? INT32_MAX : spec_arg2(s);
	int flags = s->offset == PLAN_NO_OFFSET ? 0 : (int)s->offset;

	if (to >= 0 && to < last)
		last = (unsigned int)to;
	fdtable_take_turn(p);
	r = first > last ? 0 : close_range(first, last, flags);
	if (!r && !(flags & CLOSE_RANGE_CLOEXEC))
		fdtable_range_closed(p, first, last);
	fdtable_end_turn(p);
	return r;
}
CALL_IS(CLOSEFROM, issue_CLOSE_RANGE(p, s))
CALL_IS(DUP, FDTABLE_OPEN(p, s, dup(s->fd)))

/* The target number is the job's, like the descriptor it may replace. */
static int64_t dup_onto(struct player *p, const struct call_spec *s, int flags)
{
	int to = s->m->fd2 >= 0 ? s->m->fd2 : (int)spec_arg2(s), fd;

	fdtable_take_turn(p);
	fd = flags < 0 ? dup2(s->fd, to) : dup3(s->fd, to, flags);
	return fdtable_after_open(p, s, fd);
}

CALL_IS(DUP2, dup_onto(p, s, -1))
CALL_IS(DUP3, dup_onto(p, s, s->flags))

CALL_OF(FCNTL)
{
	uint64_t hint;

	switch (s->flags) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return FDTABLE_OPEN(p, s,
				    fcntl(s->fd, s->flags, (int)spec_arg2(s)));
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return call_lock(p, s);
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
	case F_GET_FILE_RW_HINT:
	case F_SET_FILE_RW_HINT:
		/* passed by address; an invalid one fails again */
		hint = s->m->err == EINVAL ? UINT64_MAX
					   : RWH_WRITE_LIFE_NOT_SET;
		return fcntl(s->fd, s->flags, &hint);
	case F_SETPIPE_SZ:
		return fcntl(s->fd, s->flags, (int)s->want);
	}
	return fcntl(s->fd, s->flags, (int)spec_arg2(s));
}

/* --- read and write ------------------------------------------------------ */

CALL_IS(READ, read(s->fd, call_memory(s, p->in), (size_t)s->size))
CALL_IS(PREAD,
	pread(s->fd, call_memory(s, p->in), (size_t)s->size, call_offset(s)))

static struct iovec vector_of(const struct call_spec *s, uint8_t *own)
{
	return (struct iovec){call_memory(s, own), (size_t)s->size};
}

/* A count above IOV_MAX fails with EINVAL, and has no recorded size. */
static int buffer_count(const struct call_spec *s)
{
	return s->m->err == EINVAL && s->r->size < 0 ? -1 : 1;
}

CALL_WITH(READV, struct iovec iov = vector_of(s, p->in),
	  readv(s->fd, &iov, buffer_count(s)))
CALL_WITH(PREADV, struct iovec iov = vector_of(s, p->in),
	  preadv(s->fd, &iov, buffer_count(s), call_offset(s)))
CALL_WITH(PREADV2, struct iovec iov = vector_of(s, p->in),
	  preadv2(s->fd, &iov, buffer_count(s), call_offset(s), s->flags))
CALL_IS(WRITE, write(s->fd, call_memory(s, p->out), (size_t)s->size))
CALL_IS(PWRITE,
	pwrite(s->fd, call_memory(s, p->out), (size_t)s->size, call_offset(s)))
CALL_WITH(WRITEV, struct iovec iov = vector_of(s, p->out),
	  writev(s->fd, &iov, buffer_count(s)))
CALL_WITH(PWRITEV, struct iovec iov = vector_of(s, p->out),
	  pwritev(s->fd, &iov, buffer_count(s), call_offset(s)))

/* -1: at the position, or at the end; neither is recorded. */
CALL_WITH(PWRITEV2, struct iovec iov = vector_of(s, p->out),
	  pwritev2(s->fd, &iov, buffer_count(s),
		   s->offset == PLAN_NO_OFFSET && !s->m->err ? -1
							     : call_offset(s),
		   s->flags))
CALL_WITH(VMSPLICE, struct iovec iov = vector_of(s, p->out),
	  vmsplice(s->fd, &iov, 1, (unsigned int)s->flags))
CALL_IS(ASYNC_READ, issue_PREAD(p, s))
CALL_IS(ASYNC_WRITE, issue_PWRITE(p, s))
CALL_IS(ASYNC_SYNC, fsync(s->fd))

/*
 * The resulting position is recorded: compute the argument from it and from the
 * current position or size.
 */
CALL_OF(LSEEK)
{
	int64_t off = s->want;
	struct stat st;

	if (s->m->err) /* to a position before the start */
		return lseek(s->fd, INT64_MIN / 2, s->flags);
	if (s->flags == SEEK_CUR) {
		long at = raw(SYS_lseek, s->fd, 0, SEEK_CUR);

		off = at < 0 ? 0 : s->want - at;
	} else if (s->flags == SEEK_END) {
		off = raw(SYS_fstat, s->fd, &st) ? 0 : s->want - st.st_size;
	} else if (s->flags == SEEK_DATA || s->flags == SEEK_HOLE) {
		off = spec_arg2(s);
	}
	return lseek(s->fd, off, s->flags);
}

/* --- space, cache, sync -------------------------------------------------- */

CALL_IS(FALLOCATE, fallocate(s->fd, s->flags, spec_length(s), spec_arg2(s)))

/* posix_fallocate() and posix_fadvise() return the error. */
static int64_t result_of_code(int code)
{
	errno = code;
	return code ? -1 : 0;
}

CALL_IS(POSIX_FALLOCATE,
	result_of_code(posix_fallocate(s->fd, spec_length(s), spec_arg2(s))))
CALL_IS(POSIX_FADVISE, result_of_code(posix_fadvise(s->fd, spec_length(s),
						    spec_arg2(s), s->flags)))
CALL_IS(READAHEAD, readahead(s->fd, spec_length(s), (size_t)spec_arg2(s)))
CALL_IS(FSYNC, fsync(s->fd))
CALL_IS(FDATASYNC, fdatasync(s->fd))
CALL_IS(SYNCFS, syncfs(s->fd))
CALL_IS(SYNC_FILE_RANGE, sync_file_range(s->fd, spec_length(s), spec_arg2(s),
					 (unsigned int)s->flags))

CALL_OF(SYNC)
{
	sync();
	return 0;
}

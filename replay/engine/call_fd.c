/* SPDX-License-Identifier: MIT */
/*
 * The POSIX calls of a job, issued again: each by the very function of libc
 * that the job called, so that the shim records what it recorded then. Those on
 * names: engine_names.c.
 *
 * Paths are in the sandbox and absolute; what was relative to a directory's
 * descriptor is not any more.
 */
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
#include "replay/engine/player.h"

/* Of a descriptor that is none no offset is known; any other is refused first. */
static int64_t place(const struct step *s)
{
	return s->m->err == EBADF ? step_length(s) : s->offset;
}

/* Memory that was none in the job is none here. */
static void *memory(const struct step *s, uint8_t *own)
{
	return s->m->err == EFAULT ? (void *)1 : own;
}

/* --- open and close ------------------------------------------------------ */

/* A nameless file: its directory is what was opened. */
static const char *open_path(struct player *p, const struct step *s)
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
	return p->path; /* never below the root: a name has a slash */
}

/* A named pipe is opened so that nobody waits for its other end. */
static int open_flags(const struct step *s)
{
	if (s->r->flags & PLAN_F_NAMED)
		return s->flags & ~O_EXCL; /* else it can never have a name */
	return s->r->flags & PLAN_F_MESSAGE && !(s->flags & O_PATH) &&
			       s->m->err != ENXIO
		       ? (s->flags & ~O_ACCMODE) | O_RDWR
		       : s->flags;
}

CALL_OF(open)
{
	int fd;

	/* Of no number of this process, and closed by its next call. */
	if (s->m->fd2 < 0 && !s->m->err)
		return p->spawned = open(open_path(p, s), open_flags(s),
					 (mode_t)step_arg2(s));
	descriptors_before(p, s);
	fd = open(open_path(p, s), open_flags(s), (mode_t)step_arg2(s));
	return descriptors_after(p, s, fd);
}

CALL_OF(openat)
{
	int fd;

	descriptors_before(p, s);
	fd = openat(step_dir(s), open_path(p, s), open_flags(s),
		    (mode_t)step_arg2(s));
	return descriptors_after(p, s, fd);
}

/*
 * The file is the job's by name: libc would draw a name that is not the one
 * that is asked for later, or open what is outside the sandbox.
 */
static int64_t open_as(struct player *p, const struct step *s, int flags)
{
	mode_t mode = (mode_t)step_arg2(s);
	int fd;

	descriptors_before(p, s);
	fd = ioreel_open_as ? ioreel_open_as(s->r->op, s->path, flags, mode)
			    : open(s->path, flags, mode);
	return descriptors_after(p, s, fd);
}

CALL_OF(shm_open)
{
	return open_as(p, s, s->flags | O_NOFOLLOW | O_CLOEXEC);
}

CALL_OF(open_by_handle_at)
{
	return open_as(p, s, s->flags);
}

CALL_OF(memfd_create)
{
	const char *name = s->m->name == PLAN_NONE
				   ? "/memfd:replay"
				   : plan_name(p->engine->plan, s->m->name);
	size_t prefix = strlen("/memfd:");
	int fd;

	descriptors_before(p, s);
	fd = memfd_create(strlen(name) > prefix ? name + prefix : "",
			  (unsigned int)step_arg2(s));
	return descriptors_after(p, s, fd);
}

CALL_OF(creat)
{
	int fd;

	descriptors_before(p, s);
	fd = creat(s->path, (mode_t)step_arg2(s));
	return descriptors_after(p, s, fd);
}

/* No name is drawn where no template was given. */
CALL_OF(mkstemp)
{
	return s->m->err == EINVAL
		       ? mkstemps((char *)(uintptr_t)s->path, PATH_MAX)
		       : open_as(p, s, s->flags);
}

CALL_OF(close)
{
	int64_t r;

	if (s->r->fd < 0 && p->spawned >= 0) {
		r = close(p->spawned);
		p->spawned = -1;
		return r;
	}
	descriptors_take_turn(p);
	r = close(s->fd);
	descriptors_closed(p, s->r->fd);
	return r;
}

/* The engine's own numbers, above all of the job's, stay. */
CALL_OF(close_range)
{
	unsigned int first = (unsigned int)s->flags;
	unsigned int last = (unsigned int)p->engine->base - 1;
	int64_t r,
		to = s->r->op == REEL_CALL_CLOSEFROM ? INT32_MAX : step_arg2(s);
	int flags = s->offset == PLAN_NO_OFFSET ? 0 : (int)s->offset;

	if (to >= 0 && to < last)
		last = (unsigned int)to;
	descriptors_take_turn(p);
	r = first > last ? 0 : close_range(first, last, flags);
	if (!r && !(flags & CLOSE_RANGE_CLOEXEC))
		descriptors_range_closed(p, first, last);
	descriptors_end_turn(p);
	return r;
}

CALL_OF(dup)
{
	int fd;

	descriptors_before(p, s);
	fd = dup(s->fd);
	return descriptors_after(p, s, fd);
}

/* The number asked for is the job's; what is in its way was the job's too. */
static int64_t dup_onto(struct player *p, const struct step *s, int flags)
{
	int to = s->m->fd2 >= 0 ? s->m->fd2 : (int)step_arg2(s), fd;

	descriptors_take_turn(p);
	fd = flags < 0 ? dup2(s->fd, to) : dup3(s->fd, to, flags);
	return descriptors_after(p, s, fd);
}

CALL_OF(dup2)
{
	return dup_onto(p, s, -1);
}

CALL_OF(dup3)
{
	return dup_onto(p, s, s->flags);
}

CALL_OF(fcntl)
{
	uint64_t hint;
	int fd;

	switch (s->flags) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		descriptors_before(p, s);
		fd = fcntl(s->fd, s->flags, (int)step_arg2(s));
		return descriptors_after(p, s, fd);
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return engine_lock(p, s);
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
	case F_GET_FILE_RW_HINT:
	case F_SET_FILE_RW_HINT:
		/* By address; one that was refused is none of the kernel's. */
		hint = s->m->err == EINVAL ? UINT64_MAX
					   : RWH_WRITE_LIFE_NOT_SET;
		return fcntl(s->fd, s->flags, &hint);
	case F_SETPIPE_SZ:
		return fcntl(s->fd, s->flags, (int)s->want);
	}
	return fcntl(s->fd, s->flags, (int)step_arg2(s));
}

/* --- read and write ------------------------------------------------------ */

CALL_OF(read)
{
	return read(s->fd, memory(s, p->in), (size_t)s->size);
}

CALL_OF(pread)
{
	return pread(s->fd, memory(s, p->in), (size_t)s->size, place(s));
}

/* More parts than there may be have no size that was recorded. */
static int parts(const struct step *s)
{
	return s->m->err == EINVAL && s->r->size < 0 ? -1 : 1;
}

CALL_OF(readv)
{
	struct iovec iov = {memory(s, p->in), (size_t)s->size};

	return readv(s->fd, &iov, parts(s));
}

CALL_OF(preadv)
{
	struct iovec iov = {memory(s, p->in), (size_t)s->size};

	return preadv(s->fd, &iov, parts(s), place(s));
}

CALL_OF(preadv2)
{
	struct iovec iov = {memory(s, p->in), (size_t)s->size};

	return preadv2(s->fd, &iov, parts(s), place(s), s->flags);
}

CALL_OF(write)
{
	return write(s->fd, memory(s, p->out), (size_t)s->size);
}

CALL_OF(pwrite)
{
	return pwrite(s->fd, memory(s, p->out), (size_t)s->size, place(s));
}

CALL_OF(writev)
{
	struct iovec iov = {memory(s, p->out), (size_t)s->size};

	return writev(s->fd, &iov, parts(s));
}

CALL_OF(pwritev)
{
	struct iovec iov = {memory(s, p->out), (size_t)s->size};

	return pwritev(s->fd, &iov, parts(s), place(s));
}

CALL_OF(pwritev2)
{
	struct iovec iov = {memory(s, p->out), (size_t)s->size};

	/* Of what was appended, or written at the position, none is known. */
	return pwritev2(s->fd, &iov, parts(s),
			s->offset == PLAN_NO_OFFSET && !s->m->err ? -1
								  : place(s),
			s->flags);
}

CALL_OF(vmsplice)
{
	struct iovec iov = {memory(s, p->out), (size_t)s->size};

	return vmsplice(s->fd, &iov, 1, (unsigned int)s->flags);
}

/*
 * Recorded is where it led; what was asked for follows from where the
 * descriptor stands now.
 */
CALL_OF(lseek)
{
	int64_t off = s->want;
	struct stat st;

	if (s->m->err) /* before the beginning, from wherever */
		return lseek(s->fd, INT64_MIN / 2, s->flags);
	if (s->flags == SEEK_CUR) {
		long at = raw(SYS_lseek, s->fd, 0, SEEK_CUR);

		off = at < 0 ? 0 : s->want - at;
	} else if (s->flags == SEEK_END) {
		off = raw(SYS_fstat, s->fd, &st) ? 0 : s->want - st.st_size;
	} else if (s->flags == SEEK_DATA || s->flags == SEEK_HOLE) {
		off = step_arg2(s);
	}
	return lseek(s->fd, off, s->flags);
}

/* --- space, cache, sync -------------------------------------------------- */

CALL_OF(fallocate)
{
	return fallocate(s->fd, s->flags, step_length(s), step_arg2(s));
}

/* These two return the error. */
static int64_t from_code(int code)
{
	errno = code;
	return code ? -1 : 0;
}

CALL_OF(posix_fallocate)
{
	return from_code(posix_fallocate(s->fd, step_length(s), step_arg2(s)));
}

CALL_OF(posix_fadvise)
{
	return from_code(
		posix_fadvise(s->fd, step_length(s), step_arg2(s), s->flags));
}

CALL_OF(readahead)
{
	return readahead(s->fd, step_length(s), (size_t)step_arg2(s));
}

CALL_OF(fsync)
{
	return fsync(s->fd);
}

CALL_OF(fdatasync)
{
	return fdatasync(s->fd);
}

CALL_OF(syncfs)
{
	return syncfs(s->fd);
}

CALL_OF(sync_file_range)
{
	return sync_file_range(s->fd, step_length(s), step_arg2(s),
			       (unsigned int)s->flags);
}

CALL_OF(sync)
{
	sync();
	return 0;
}

static player_call *const calls[] = {
	[REEL_CALL_OPEN] = do_open,
	[REEL_CALL_OPENAT] = do_openat,
	[REEL_CALL_CREAT] = do_creat,
	[REEL_CALL_MKSTEMP] = do_mkstemp,
	[REEL_CALL_MEMFD_CREATE] = do_memfd_create,
	[REEL_CALL_SHM_OPEN] = do_shm_open,
	[REEL_CALL_OPEN_BY_HANDLE_AT] = do_open_by_handle_at,
	[REEL_CALL_CLOSE] = do_close,
	[REEL_CALL_CLOSE_RANGE] = do_close_range,
	[REEL_CALL_CLOSEFROM] = do_close_range,
	[REEL_CALL_DUP] = do_dup,
	[REEL_CALL_DUP2] = do_dup2,
	[REEL_CALL_DUP3] = do_dup3,
	[REEL_CALL_FCNTL] = do_fcntl,
	[REEL_CALL_READ] = do_read,
	[REEL_CALL_PREAD] = do_pread,
	[REEL_CALL_READV] = do_readv,
	[REEL_CALL_PREADV] = do_preadv,
	[REEL_CALL_PREADV2] = do_preadv2,
	[REEL_CALL_ASYNC_READ] = do_pread,
	[REEL_CALL_ASYNC_WRITE] = do_pwrite,
	[REEL_CALL_ASYNC_SYNC] = do_fsync,
	[REEL_CALL_VMSPLICE] = do_vmsplice,
	[REEL_CALL_WRITE] = do_write,
	[REEL_CALL_PWRITE] = do_pwrite,
	[REEL_CALL_WRITEV] = do_writev,
	[REEL_CALL_PWRITEV] = do_pwritev,
	[REEL_CALL_PWRITEV2] = do_pwritev2,
	[REEL_CALL_LSEEK] = do_lseek,
	[REEL_CALL_FLOCK] = engine_lock,
	[REEL_CALL_LOCKF] = engine_lock,
	[REEL_CALL_FALLOCATE] = do_fallocate,
	[REEL_CALL_POSIX_FALLOCATE] = do_posix_fallocate,
	[REEL_CALL_POSIX_FADVISE] = do_posix_fadvise,
	[REEL_CALL_READAHEAD] = do_readahead,
	[REEL_CALL_FSYNC] = do_fsync,
	[REEL_CALL_FDATASYNC] = do_fdatasync,
	[REEL_CALL_SYNCFS] = do_syncfs,
	[REEL_CALL_SYNC_FILE_RANGE] = do_sync_file_range,
	[REEL_CALL_SYNC] = do_sync,
};

player_call *engine_posix(uint16_t op)
{
	return op < sizeof(calls) / sizeof(calls[0]) ? calls[op] : NULL;
}

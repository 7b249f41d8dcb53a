/* SPDX-License-Identifier: MIT */
/*
 * Issues calls that lock files. They never wait and protect nothing: the plan
 * orders the calls under a lock, so the result must not depend on the process
 * that comes first.
 *
 * A lock that the job failed to get is held by another open file description
 * during the call. Closing this description drops all fcntl() locks of the
 * process on the file; there are none.
 */
#include "replay/engine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/fdtable.h"

/* A byte of the file that no other process of the replay locks. */
static struct flock own_byte(short type)
{
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)getpid() << 32,
			      .l_len = 1};
}

/* The lock of lockf(), which one process holds at a time. */
static struct flock whole_file(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* Another open file description of @fd, above the numbers of the job; -1. */
static long reopen_file(const struct player *p, int fd)
{
	char path[32];
	long low, high;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	low = raw(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	if (low < 0)
		return -1;
	high = raw(SYS_fcntl, low, F_DUPFD_CLOEXEC, p->engine->spare);
	raw(SYS_close, low);
	return high;
}

static int64_t try_fcntl(const struct call_spec *s, bool refused)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	if (s->flags == F_GETLK || s->flags == F_OFD_GETLK)
		lock.l_type = F_RDLCK;
	else if (refused)
		lock = own_byte((raw(SYS_fcntl, s->fd, F_GETFL) & O_ACCMODE) ==
						O_RDONLY
					? F_RDLCK
					: F_WRLCK);
	return fcntl(s->fd, s->flags, &lock);
}

static int64_t try_flock(const struct call_spec *s, bool refused)
{
	int how = (s->flags ? s->flags : LOCK_UN) | LOCK_NB;

	if (!s->m->err && !refused && raw(SYS_flock, s->fd, how) < 0)
		how = LOCK_UN | LOCK_NB;
	return flock(s->fd, how);
}

static int64_t try_lockf(const struct call_spec *s, bool refused)
{
	if (s->flags == F_TEST)
		return lockf(s->fd, F_TEST, s->m->arg2);
	return lockf(s->fd, refused ? F_TLOCK : F_ULOCK,
		     s->m->arg2 == PLAN_NO_OFFSET ? 0 : s->m->arg2);
}

static int64_t try_lock(const struct call_spec *s, bool refused)
{
	switch (s->r->op) {
	case REEL_CALL_FLOCK:
		return try_flock(s, refused);
	case REEL_CALL_LOCKF:
		return try_lockf(s, refused);
	}
	return try_fcntl(s, refused);
}

/* Issue the call while another description holds the lock. */
static int64_t fail_lock(struct player *p, const struct call_spec *s)
{
	struct flock lock = s->r->op == REEL_CALL_LOCKF ? whole_file(F_WRLCK)
							: own_byte(F_WRLCK);
	int64_t r;
	long fd;
	int err;

	fdtable_take_turn(p);
	fd = reopen_file(p, s->fd);
	if (fd >= 0 && s->r->op == REEL_CALL_FLOCK)
		raw(SYS_flock, fd, LOCK_EX | LOCK_NB);
	else if (fd >= 0)
		raw(SYS_fcntl, fd, F_OFD_SETLK, &lock);
	r = try_lock(s, true);
	err = errno;
	if (fd >= 0)
		raw(SYS_close, fd);
	fdtable_end_turn(p);
	errno = err;
	return r;
}

int64_t call_lock(struct player *p, const struct call_spec *s)
{
	bool refused = s->m->err == EAGAIN || s->m->err == EACCES;

	return refused && s->flags != F_GETLK ? fail_lock(p, s)
					      : try_lock(s, false);
}

CALL_IS(FLOCK, call_lock(p, s))
CALL_IS(LOCKF, call_lock(p, s))

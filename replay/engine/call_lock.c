/* SPDX-License-Identifier: MIT */
/*
 * Locks on files. They are tried on nothing: what they protected is ordered by
 * the plan, so the replay must not fail, or succeed, by who happens to be
 * first.
 *
 * Where the job was refused, another description of the file has the lock for
 * that moment. Closing it drops all locks that the process has by fcntl(),
 * which are none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/player.h"

/* A byte of the file that no other process of the replay takes. */
static struct flock own_byte(short type)
{
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)getpid() << 32,
			      .l_len = 1};
}

/* Whole files go to one at a time. */
static struct flock whole_file(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* Another description of what @fd is of, above the numbers of the job; -1. */
static long reopen(const struct player *p, int fd)
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

static int64_t try_fcntl(const struct step *s, bool refused)
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

static int64_t try_flock(const struct step *s, bool refused)
{
	int how = (s->flags ? s->flags : LOCK_UN) | LOCK_NB;

	if (!s->m->err && !refused && raw(SYS_flock, s->fd, how) < 0)
		how = LOCK_UN | LOCK_NB;
	return flock(s->fd, how);
}

static int64_t try_lockf(const struct step *s, bool refused)
{
	if (s->flags == F_TEST)
		return lockf(s->fd, F_TEST, s->m->arg2);
	return lockf(s->fd, refused ? F_TLOCK : F_ULOCK,
		     s->m->arg2 == PLAN_NO_OFFSET ? 0 : s->m->arg2);
}

static int64_t try_lock(const struct step *s, bool refused)
{
	switch (s->r->op) {
	case REEL_CALL_FLOCK:
		return try_flock(s, refused);
	case REEL_CALL_LOCKF:
		return try_lockf(s, refused);
	}
	return try_fcntl(s, refused);
}

/* While the lock is somebody else's. */
static int64_t refuse(struct player *p, const struct step *s)
{
	struct flock lock = s->r->op == REEL_CALL_LOCKF ? whole_file(F_WRLCK)
							: own_byte(F_WRLCK);
	int64_t r;
	long fd;
	int err;

	descriptors_take_turn(p);
	fd = reopen(p, s->fd);
	if (fd >= 0 && s->r->op == REEL_CALL_FLOCK)
		raw(SYS_flock, fd, LOCK_EX | LOCK_NB);
	else if (fd >= 0)
		raw(SYS_fcntl, fd, F_OFD_SETLK, &lock);
	r = try_lock(s, true);
	err = errno;
	if (fd >= 0)
		raw(SYS_close, fd);
	descriptors_end_turn(p);
	errno = err;
	return r;
}

int64_t engine_lock(struct player *p, const struct step *s)
{
	bool refused = s->m->err == EAGAIN || s->m->err == EACCES;

	return refused && s->flags != F_GETLK ? refuse(p, s)
					      : try_lock(s, false);
}

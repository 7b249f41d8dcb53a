/* SPDX-License-Identifier: MIT */
/*
 * Issues calls on names again, as call_fd.c does those on descriptors: status,
 * creation and removal, renames, links, directories.
 */
#include "replay/engine/calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "schemas/replay_open.h"

#include "lib/calls.h"

#include "replay/engine/beneath.h"
#include "replay/engine/fdtable.h"

/* --- status -------------------------------------------------------------- */

CALL_WITH(STAT, struct stat st, stat(s->path, &st))
CALL_WITH(LSTAT, struct stat st, lstat(s->path, &st))
CALL_WITH(FSTAT, struct stat st, fstat(s->fd, &st))

/* With AT_EMPTY_PATH the call is on the descriptor itself. */
static int stat_dir(const struct call_spec *s)
{
	return s->r->fd >= 0 ? s->fd : spec_dir(s);
}

CALL_WITH(FSTATAT, struct stat st, fstatat(stat_dir(s), s->path, &st, s->flags))
CALL_WITH(STATX, struct statx st,
	  statx(stat_dir(s), s->path, s->flags, STATX_BASIC_STATS, &st))

CALL_OF(NAME_TO_HANDLE_AT)
{
	struct {
		struct file_handle head;
		unsigned char room[MAX_HANDLE_SZ];
	} handle = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount;

	if (s->m->err == EOVERFLOW) /* it asked for the size of the handle */
		handle.head.handle_bytes = 0;
	return name_to_handle_at(stat_dir(s), s->path, &handle.head, &mount,
				 s->flags);
}

CALL_IS(ACCESS, access(s->path, s->flags))
CALL_IS(FACCESSAT, faccessat(spec_dir(s), s->path, s->flags, (int)spec_arg2(s)))
CALL_IS(READLINK, readlink(s->path, (char *)p->in, (size_t)s->size))
CALL_IS(READLINKAT,
	readlinkat(spec_dir(s), s->path, (char *)p->in, (size_t)s->size))
CALL_WITH(STATFS, struct statfs st, statfs(s->path, &st))
CALL_WITH(FSTATFS, struct statfs st, fstatfs(s->fd, &st))
CALL_IS(TRUNCATE, truncate(s->path, spec_length(s)))
CALL_IS(FTRUNCATE, ftruncate(s->fd, spec_length(s)))
CALL_IS(UNLINK, unlink(s->path))
CALL_IS(SHM_UNLINK, ioreel_unlink_as ? ioreel_unlink_as(s->r->op, s->path)
				     : unlink(s->path))
CALL_IS(UNLINKAT, unlinkat(spec_dir(s), s->path, s->flags))
CALL_IS(REMOVE, remove(s->path))

/*
 * The sandbox is one file system. A call across two file systems gets a name in
 * /proc for the second, which refuses renames and links, too.
 */
static const char *other_file_system(const struct call_spec *s,
				     const char *path)
{
	return s->m->err == EXDEV ? "/proc/self/status" : path;
}

CALL_IS(RENAME, rename(s->path, other_file_system(s, s->path2)))
CALL_IS(RENAMEAT, renameat(spec_dir(s), s->path, spec_dir(s),
			   other_file_system(s, s->path2)))
CALL_IS(RENAMEAT2,
	renameat2(spec_dir(s), s->path, spec_dir(s),
		  other_file_system(s, s->path2), (unsigned int)s->flags))
CALL_IS(MKDIR, mkdir(s->path, (mode_t)s->flags))
CALL_IS(MKDIRAT, mkdirat(spec_dir(s), s->path, (mode_t)s->flags))
CALL_IS(MKFIFO, mkfifo(s->path, (mode_t)s->flags))
CALL_IS(MKFIFOAT, issue_MKFIFO(p, s))

/* A device would give access to data outside the sandbox. */
CALL_OF(MKNOD)
{
	mode_t mode = (mode_t)s->flags;

	if (S_ISBLK(mode) || S_ISCHR(mode))
		mode = (mode & ~(mode_t)S_IFMT) | S_IFREG;
	return mknod(s->path, mode, 0);
}
CALL_IS(MKNODAT, issue_MKNOD(p, s))
CALL_IS(RMDIR, rmdir(s->path))
CALL_IS(LINK, link(other_file_system(s, s->path), s->path2))
CALL_IS(LINKAT, linkat(spec_dir(s), other_file_system(s, s->path), spec_dir(s),
		       s->path2, s->flags))

/*
 * The text of a link, which has to lead into the sandbox whatever it was in the
 * job. To a target in or below the link's directory it is relative, as in most
 * jobs; to others it is absolute, because ".." leads out of the sandbox where a
 * directory above is a link.
 */
static const char *link_text(const struct player *p, const struct call_spec *s,
			     char out[static PATH_MAX])
{
	const char *slash = strrchr(p->path, '/');
	size_t dir = slash ? (size_t)(slash - p->path) + 1 : 0;

	if (s->m->name == PLAN_NONE || !dir ||
	    strncmp(s->target, p->path, dir) || !s->target[dir])
		return beneath_on(p) ? beneath_link(p, p->path, s->target, out)
				     : s->target;
	return s->target + dir;
}

CALL_WITH(SYMLINK, char text[PATH_MAX], symlink(link_text(p, s, text), s->path))
CALL_WITH(SYMLINKAT, char text[PATH_MAX],
	  symlinkat(link_text(p, s, text), spec_dir(s), s->path))
CALL_IS(CHDIR, chdir(s->path))
CALL_IS(FCHDIR, fchdir(s->fd))

/* --- directories --------------------------------------------------------- */

CALL_OF(OPENDIR)
{
	struct slot *slot;
	DIR *dir;

	fdtable_before_open(p, s);
	dir = opendir(s->path);
	fdtable_after_open(p, s, dir ? dirfd(dir) : -1);
	slot = fdtable_slot(p->process, s->m->fd2);
	if (dir && slot)
		slot->dir = dir;
	return dir ? dirfd(dir) : -1;
}

CALL_OF(FDOPENDIR)
{
	DIR *dir = fdopendir(s->fd);

	if (dir && s->slot)
		s->slot->dir = dir;
	return dir ? 0 : -1;
}

/* The directory of a call on one, or NULL with EBADF. */
static DIR *dir_of(const struct call_spec *s)
{
	if (s->slot && s->slot->dir)
		return s->slot->dir;
	errno = EBADF;
	return NULL;
}

CALL_WITH(READDIR, DIR *dir = dir_of(s), dir ? readdir(dir) != NULL : -1)

CALL_OF(REWINDDIR)
{
	DIR *dir = dir_of(s);

	if (!dir)
		return -1;
	rewinddir(dir);
	return 0;
}

CALL_OF(CLOSEDIR)
{
	DIR *dir = dir_of(s);
	int64_t r;

	if (!dir)
		return -1;
	fdtable_take_turn(p);
	r = closedir(dir);
	fdtable_closed(p, s->r->fd);
	return r;
}

/* How many entries the job's filter selected; which ones is not recorded. */
static _Thread_local int64_t to_pick;

static int pick_entry(const struct dirent *de)
{
	return to_pick-- > 0;
}

CALL_OF(SCANDIR)
{
	struct dirent **list = NULL;
	int n;

	to_pick = s->want;
	/* It uses a descriptor for a while. */
	fdtable_take_turn(p);
	n = scandir(s->path, &list, pick_entry, NULL);
	fdtable_end_turn(p);
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return n;
}

CALL_IS(GETDENTS64, getdents64(s->fd, p->in, (size_t)s->size))

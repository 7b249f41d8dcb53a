/* SPDX-License-Identifier: MIT */
/*
 * Issues calls on names again, as call_fd.c does those on descriptors: status,
 * creation and removal, renames, links, directories.
 */
#include "replay/engine/call_path.h"

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
#include "replay/engine/player.h"

/* --- status -------------------------------------------------------------- */

CALL_OF(stat)
{
	struct stat st;

	return stat(s->path, &st);
}

CALL_OF(lstat)
{
	struct stat st;

	return lstat(s->path, &st);
}

CALL_OF(fstat)
{
	struct stat st;

	return fstat(s->fd, &st);
}

/* With AT_EMPTY_PATH the call is on the descriptor itself. */
static int stat_dir(const struct call_spec *s)
{
	return s->r->fd >= 0 ? s->fd : spec_dir(s);
}

CALL_OF(fstatat)
{
	struct stat st;

	return fstatat(stat_dir(s), s->path, &st, s->flags);
}

CALL_OF(statx)
{
	struct statx st;

	return statx(stat_dir(s), s->path, s->flags, STATX_BASIC_STATS, &st);
}

CALL_OF(name_to_handle_at)
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

CALL_OF(access)
{
	return access(s->path, s->flags);
}

CALL_OF(faccessat)
{
	return faccessat(spec_dir(s), s->path, s->flags, (int)spec_arg2(s));
}

CALL_OF(readlink)
{
	return readlink(s->path, (char *)p->in, (size_t)s->size);
}

CALL_OF(readlinkat)
{
	return readlinkat(spec_dir(s), s->path, (char *)p->in, (size_t)s->size);
}

CALL_OF(statfs)
{
	struct statfs st;

	return statfs(s->path, &st);
}

CALL_OF(fstatfs)
{
	struct statfs st;

	return fstatfs(s->fd, &st);
}

CALL_OF(truncate)
{
	return truncate(s->path, spec_length(s));
}

CALL_OF(ftruncate)
{
	return ftruncate(s->fd, spec_length(s));
}

CALL_OF(unlink)
{
	return unlink(s->path);
}

CALL_OF(shm_unlink)
{
	return ioreel_unlink_as ? ioreel_unlink_as(s->r->op, s->path)
				: unlink(s->path);
}

CALL_OF(unlinkat)
{
	return unlinkat(spec_dir(s), s->path, s->flags);
}

CALL_OF(remove)
{
	return remove(s->path);
}

/*
 * The sandbox is one file system. A call across two file systems gets a name in
 * /proc for the second, which refuses renames and links, too.
 */
static const char *other_file_system(const struct call_spec *s,
				     const char *path)
{
	return s->m->err == EXDEV ? "/proc/self/status" : path;
}

CALL_OF(rename)
{
	return rename(s->path, other_file_system(s, s->path2));
}

CALL_OF(renameat)
{
	return renameat(spec_dir(s), s->path, spec_dir(s),
			other_file_system(s, s->path2));
}

CALL_OF(renameat2)
{
	return renameat2(spec_dir(s), s->path, spec_dir(s),
			 other_file_system(s, s->path2),
			 (unsigned int)s->flags);
}

CALL_OF(mkdir)
{
	return mkdir(s->path, (mode_t)s->flags);
}

CALL_OF(mkdirat)
{
	return mkdirat(spec_dir(s), s->path, (mode_t)s->flags);
}

CALL_OF(mkfifo)
{
	return mkfifo(s->path, (mode_t)s->flags);
}

/* A device would give access to data outside the sandbox. */
CALL_OF(mknod)
{
	mode_t mode = (mode_t)s->flags;

	if (S_ISBLK(mode) || S_ISCHR(mode))
		mode = (mode & ~(mode_t)S_IFMT) | S_IFREG;
	return mknod(s->path, mode, 0);
}

CALL_OF(rmdir)
{
	return rmdir(s->path);
}

CALL_OF(link)
{
	return link(other_file_system(s, s->path), s->path2);
}

CALL_OF(linkat)
{
	return linkat(spec_dir(s), other_file_system(s, s->path), spec_dir(s),
		      s->path2, s->flags);
}

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

CALL_OF(symlink)
{
	char text[PATH_MAX];

	return symlink(link_text(p, s, text), s->path);
}

CALL_OF(symlinkat)
{
	char text[PATH_MAX];

	return symlinkat(link_text(p, s, text), spec_dir(s), s->path);
}

CALL_OF(chdir)
{
	return chdir(s->path);
}

CALL_OF(fchdir)
{
	return fchdir(s->fd);
}

/* --- directories --------------------------------------------------------- */

CALL_OF(opendir)
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

CALL_OF(fdopendir)
{
	DIR *dir = fdopendir(s->fd);

	if (dir && s->slot)
		s->slot->dir = dir;
	return dir ? 0 : -1;
}

CALL_OF(readdir)
{
	if (!s->slot || !s->slot->dir) {
		errno = EBADF;
		return -1;
	}
	return readdir(s->slot->dir) != NULL;
}

CALL_OF(rewinddir)
{
	if (!s->slot || !s->slot->dir) {
		errno = EBADF;
		return -1;
	}
	rewinddir(s->slot->dir);
	return 0;
}

CALL_OF(closedir)
{
	int64_t r;

	if (!s->slot || !s->slot->dir) {
		errno = EBADF;
		return -1;
	}
	fdtable_take_turn(p);
	r = closedir(s->slot->dir);
	fdtable_closed(p, s->r->fd);
	return r;
}

/* How many entries the job's filter selected; which ones is not recorded. */
static _Thread_local int64_t to_pick;

static int pick_entry(const struct dirent *de)
{
	return to_pick-- > 0;
}

CALL_OF(scandir)
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

CALL_OF(getdents64)
{
	return getdents64(s->fd, p->in, (size_t)s->size);
}

static player_call *const calls[] = {
	[REEL_CALL_STAT] = do_stat,
	[REEL_CALL_LSTAT] = do_lstat,
	[REEL_CALL_FSTAT] = do_fstat,
	[REEL_CALL_FSTATAT] = do_fstatat,
	[REEL_CALL_STATX] = do_statx,
	[REEL_CALL_NAME_TO_HANDLE_AT] = do_name_to_handle_at,
	[REEL_CALL_ACCESS] = do_access,
	[REEL_CALL_FACCESSAT] = do_faccessat,
	[REEL_CALL_READLINK] = do_readlink,
	[REEL_CALL_READLINKAT] = do_readlinkat,
	[REEL_CALL_STATFS] = do_statfs,
	[REEL_CALL_FSTATFS] = do_fstatfs,
	[REEL_CALL_TRUNCATE] = do_truncate,
	[REEL_CALL_FTRUNCATE] = do_ftruncate,
	[REEL_CALL_UNLINK] = do_unlink,
	[REEL_CALL_UNLINKAT] = do_unlinkat,
	[REEL_CALL_REMOVE] = do_remove,
	[REEL_CALL_RENAME] = do_rename,
	[REEL_CALL_RENAMEAT] = do_renameat,
	[REEL_CALL_RENAMEAT2] = do_renameat2,
	[REEL_CALL_MKDIR] = do_mkdir,
	[REEL_CALL_MKDIRAT] = do_mkdirat,
	[REEL_CALL_MKFIFO] = do_mkfifo,
	[REEL_CALL_MKFIFOAT] = do_mkfifo,
	[REEL_CALL_MKNOD] = do_mknod,
	[REEL_CALL_MKNODAT] = do_mknod,
	[REEL_CALL_SHM_UNLINK] = do_shm_unlink,
	[REEL_CALL_RMDIR] = do_rmdir,
	[REEL_CALL_LINK] = do_link,
	[REEL_CALL_LINKAT] = do_linkat,
	[REEL_CALL_SYMLINK] = do_symlink,
	[REEL_CALL_SYMLINKAT] = do_symlinkat,
	[REEL_CALL_CHDIR] = do_chdir,
	[REEL_CALL_FCHDIR] = do_fchdir,
	[REEL_CALL_OPENDIR] = do_opendir,
	[REEL_CALL_FDOPENDIR] = do_fdopendir,
	[REEL_CALL_READDIR] = do_readdir,
	[REEL_CALL_REWINDDIR] = do_rewinddir,
	[REEL_CALL_CLOSEDIR] = do_closedir,
	[REEL_CALL_SCANDIR] = do_scandir,
	[REEL_CALL_GETDENTS64] = do_getdents64,
};

player_call *call_path_find(uint16_t op)
{
	return op < sizeof(calls) / sizeof(calls[0]) ? calls[op] : NULL;
}

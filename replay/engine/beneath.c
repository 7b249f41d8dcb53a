/* SPDX-License-Identifier: MIT */
/*
 * Resolves the paths of calls beneath the sandbox: the last of the three ways
 * to confine a replay. By raw calls only.
 */
#include "replay/engine/beneath.h"

#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "schemas/replay_open.h"
#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/fdtable.h"
#include "schemas/syscall.h"

/* Paths for calls that have to fail with ENOENT, ENOTDIR. */
#define NOWHERE "/proc/self/fd/none"
#define NO_DIRECTORY "/proc/self/status/none"

static long open_from(const struct player_process *q, const char *rel,
		      int flags, mode_t mode)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
			       .mode = mode,
			       .resolve =
				       RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};

	return raw(SYS_openat2, q->root_fd, rel, &how, sizeof(how));
}

int beneath_begin(struct player_process *q)
{
	long fd = raw(SYS_openat, AT_FDCWD, q->engine->sandbox.root,
		      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	long probe;

	if (fd < 0)
		return -1;
	q->root_fd = (int)raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, q->engine->spare);
	raw(SYS_close, fd);
	if (q->root_fd < 0)
		return -1;
	probe = open_from(q, ".", O_PATH | O_DIRECTORY, 0);
	if (probe < 0)
		return -1;
	raw(SYS_close, probe);
	return 0;
}

/* @path relative to the sandbox, whose name it may begin with. */
static const char *below_root(const struct player_process *q, const char *path)
{
	if (path[0] == '/')
		path += q->engine->sandbox.root_len + 1;
	return path[0] ? path : ".";
}

long beneath_open(const struct player_process *q, const char *path, int flags)
{
	if (q->root_fd < 0)
		return raw(SYS_openat, AT_FDCWD, path, flags, 0);
	return open_from(q, below_root(q, path), flags, 0);
}

/* Does the call create its file, and follow a link at the path's end? */
struct path_use {
	bool opens, follows;
	int flags; /* of an open */
};

static struct path_use path_use_of(const struct call_spec *s)
{
	struct path_use h = {.follows = true, .flags = s->flags};
	const struct reel_call_info *info = reel_call_info(s->r->op);

	h.opens = info && info->group == REEL_GROUP_OPEN;
	switch (s->r->op) {
	case REEL_CALL_OPENDIR:
		h.flags = O_DIRECTORY;
		break;
	case REEL_CALL_CREAT:
		h.flags = O_CREAT | O_TRUNC | O_WRONLY;
		break;
	case REEL_CALL_SHM_OPEN:
		h.flags |= O_NOFOLLOW;
		break;
	case REEL_CALL_FSTATAT:
	case REEL_CALL_STATX:
		h.follows = !(s->flags & AT_SYMLINK_NOFOLLOW);
		break;
	case REEL_CALL_FACCESSAT:
		h.follows = !(spec_arg2(s) & AT_SYMLINK_NOFOLLOW);
		break;
	case REEL_CALL_LINKAT:
		h.follows = s->flags & AT_SYMLINK_FOLLOW;
		break;
	case REEL_CALL_STAT:
	case REEL_CALL_ACCESS:
	case REEL_CALL_STATFS:
	case REEL_CALL_TRUNCATE:
	case REEL_CALL_CHDIR:
	case REEL_CALL_SCANDIR:
		break;
	default:
		h.follows = h.opens;
	}
	if (h.opens && (h.flags & O_NOFOLLOW ||
			(h.flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)))
		h.follows = false;
	return h;
}

/* Move @fd above the numbers of the job, and close it in beneath_leave(). */
static int keep_fd(const struct player *p, struct beneath *b, int i, long fd)
{
	long high;

	if (fd < 0)
		return (int)-fd;
	high = raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, p->engine->spare);
	raw(SYS_close, fd);
	b->fd[i] = (int)high;
	return high < 0 ? (int)-high : 0;
}

/* A missing path is given to the call, to fail. Returns other errors. */
static int give_missing_path(struct beneath *b, int i, int err)
{
	if (err != ENOENT && err != ENOTDIR)
		return err;
	strcpy(b->given[i], err == ENOENT ? NOWHERE : NO_DIRECTORY);
	return 0;
}

static int resolve_parent(const struct player *p, struct beneath *b, int i,
			  const char *rel)
{
	const char *slash = strrchr(rel, '/');
	const char *base = slash ? slash + 1 : rel;
	char dir[PATH_MAX] = ".";
	int err;

	if (strlen(base) > NAME_MAX)
		return ENAMETOOLONG;
	if (slash) {
		memcpy(dir, rel, (size_t)(slash - rel));
		dir[slash - rel] = '\0';
	}
	err = keep_fd(p, b, i,
		      open_from(p->process, dir, O_PATH | O_DIRECTORY, 0));
	if (err)
		return give_missing_path(b, i, err);
	snprintf(b->given[i], sizeof(b->given[i]), "/proc/self/fd/%d/%s",
		 b->fd[i], base);
	return 0;
}

/*
 * Create the file that the call would create, because an open through a
 * descriptor needs an existing one. The owner gets access until beneath_leave()
 * sets the mode.
 */
static long make_ahead(const struct player_process *q,
		       const struct call_spec *s, struct beneath *b,
		       const char *rel)
{
	mode_t mode =
		s->r->op == REEL_CALL_FOPEN || s->r->op == REEL_CALL_FREOPEN
			? 0666
			: (mode_t)spec_arg2(s);
	long fd = open_from(q, rel, O_CREAT | O_RDWR, mode & 07777);
	struct stat st;

	if (fd < 0 || raw(SYS_fstat, fd, &st) || (st.st_mode & 0600) == 0600)
		return fd;
	b->mode = (int)(st.st_mode & 07777);
	raw(SYS_fchmod, fd, b->mode | 0600);
	return fd;
}

static int resolve_file(const struct player *p, const struct call_spec *s,
			struct beneath *b, const char *rel, bool creates)
{
	long fd = open_from(p->process, rel, O_PATH, 0);
	int err;

	if (fd == -ENOENT && creates)
		fd = make_ahead(p->process, s, b, rel);
	err = keep_fd(p, b, 0, fd);
	if (err)
		return give_missing_path(b, 0, err);
	snprintf(b->given[0], sizeof(b->given[0]), "/proc/self/fd/%d",
		 b->fd[0]);
	return 0;
}

static int resolve_paths(const struct player *p, const struct call_spec *s,
			 struct beneath *b, bool at_parent)
{
	const struct player_process *q = p->process;
	struct path_use h = path_use_of(s);
	const char *rel = s->m->name == PLAN_NONE ? "" : below_root(q, s->path);
	bool links = s->r->op == REEL_CALL_SYMLINK ||
		     s->r->op == REEL_CALL_SYMLINKAT;
	char dir[PATH_MAX];
	int err = 0;

	if (s->m->name != PLAN_NONE && !s->m->err && h.opens && !at_parent &&
	    (h.flags & O_TMPFILE) == O_TMPFILE) {
		size_t n = strlen(rel);

		while (n && rel[n - 1] != '/')
			n--;
		memcpy(dir, rel, n);
		memcpy(dir + n, ".", 2);
		err = resolve_file(p, s, b, dir, false);
	} else if (s->m->name != PLAN_NONE) {
		err = at_parent || !h.follows
			      ? resolve_parent(p, b, 0, rel)
			      : resolve_file(p, s, b, rel,
					     h.opens && h.flags & O_CREAT);
	}
	if (!err && s->path2 && s->m->name2 != PLAN_NONE && !links &&
	    !at_parent)
		err = resolve_parent(p, b, 1, below_root(q, s->path2));
	return err;
}

static int enter_paths(struct player *p, struct call_spec *s, struct beneath *b,
		       bool at_parent)
{
	const char *given[2], *name[2] = {s->path, s->path2};
	int err;

	*b = (struct beneath){.fd = {-1, -1}, .mode = -1};
	/* It opens descriptors for a moment. */
	fdtable_take_turn(p);
	/* A closed directory descriptor fails before the path is used. */
	err = s->m->err == EBADF ? 0 : resolve_paths(p, s, b, at_parent);
	/* The kernel refuses such a path in the call itself. */
	if (err == ENAMETOOLONG)
		err = 0;
	fdtable_end_turn(p);
	for (int i = 0; i < 2; i++)
		given[i] = !err && b->given[i][0] ? b->given[i] : NULL;
	if (given[0])
		s->path = given[0];
	if (given[1])
		s->path2 = given[1];
	if (!err && !at_parent && ioreel_names_as)
		ioreel_names_as(given, name);
	return err;
}

int beneath_enter(struct player *p, struct call_spec *s, struct beneath *b)
{
	return enter_paths(p, s, b, false);
}

int beneath_enter_parent(struct player *p, struct call_spec *s,
			 struct beneath *b)
{
	return enter_paths(p, s, b, true);
}

void beneath_leave(struct beneath *b)
{
	if (b->mode >= 0)
		raw(SYS_fchmod, b->fd[0], b->mode);
	for (int i = 0; i < 2; i++)
		if (b->fd[i] >= 0)
			raw(SYS_close, b->fd[i]);
	if (ioreel_names_as)
		ioreel_names_as(NULL, NULL);
}

const char *beneath_link(const struct player *p, const char *path,
			 const char *target, char out[static PATH_MAX])
{
	size_t root = p->engine->sandbox.root_len, n = 0;

	if (strncmp(target, p->engine->sandbox.root, root))
		return target;
	for (const char *at = path + root + 1; (at = strchr(at, '/')); at++) {
		if (n + 3 >= PATH_MAX)
			return target;
		memcpy(out + n, "../", 3);
		n += 3;
	}
	if (n + strlen(target + root + 1) >= PATH_MAX)
		return target;
	strcpy(out + n, target[root] ? target + root + 1 : ".");
	return out[0] ? out : ".";
}

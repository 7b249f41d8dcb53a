/* SPDX-License-Identifier: MIT */
/*
 * Changes by other programs to the job's files, made just before the call that
 * observed them. By raw calls: the shim must not record them.
 */
#include "replay/engine/calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "schemas/syscall.h"

#include "replay/engine/beneath.h"
#include "replay/engine/fdtable.h"
#include "replay/engine/player.h"

#define LIST_BYTES 4096
#define DEEPEST 64 /* directories are emptied; the stack is small */

/* The descriptor is kept open, above all others, and with it the socket. */
static bool bind_socket(const struct engine *e, const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	long fd, r;

	if (n >= sizeof(name.sun_path))
		return false;
	memcpy(name.sun_path, path, n);
	fd = raw(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	r = raw(SYS_bind, fd, &name, sizeof(name));
	raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, e->spare);
	raw(SYS_close, fd);
	return r == 0;
}

static void create_entry(const struct engine *e, const struct call_spec *s)
{
	long fd;

	if (s->r->flags & PLAN_F_APPEAR_DIR) {
		raw(SYS_mkdirat, AT_FDCWD, s->path, 0700);
		return;
	}
	if (s->r->flags & PLAN_F_APPEAR_SOCKET && bind_socket(e, s->path))
		return;
	fd = raw(SYS_openat, AT_FDCWD, s->path,
		 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	raw(SYS_ftruncate, fd, s->m->appear_bytes);
	raw(SYS_close, fd);
}

static void remove_at(int at, const char *name, int depth);

static void empty_dir(int fd, int depth)
{
	char buf[LIST_BYTES] __attribute__((aligned(8)));
	long n;

	while ((n = raw(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long i = 0; i < n;) {
			const struct dirent64 *de = (const void *)(buf + i);

			i += de->d_reclen;
			if (strcmp(de->d_name, ".") && strcmp(de->d_name, ".."))
				remove_at(fd, de->d_name, depth);
		}
	}
}

/* Remove @name with all its contents; links are not followed. */
static void remove_at(int at, const char *name, int depth)
{
	long fd;

	if (raw(SYS_unlinkat, at, name, 0) != -EISDIR || depth > DEEPEST ||
	    !raw(SYS_unlinkat, at, name, AT_REMOVEDIR))
		return;
	fd = raw(SYS_openat, at, name,
		 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	empty_dir((int)fd, depth + 1);
	raw(SYS_close, fd);
	raw(SYS_unlinkat, at, name, AT_REMOVEDIR);
}

/* Count the entries of @fd, and remove up to @remove stand-ins. */
static int64_t count_entries(int fd, int64_t remove)
{
	char buf[LIST_BYTES] __attribute__((aligned(8)));
	int64_t entries = 0;
	long n;

	raw(SYS_lseek, fd, 0, SEEK_SET);
	while ((n = raw(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *de = (const void *)(buf + at);

			at += de->d_reclen;
			entries++;
			if (remove > 0 &&
			    !strncmp(de->d_name, STAND_IN, strlen(STAND_IN)) &&
			    !raw(SYS_unlinkat, fd, de->d_name, 0))
				remove--;
		}
	}
	return entries;
}

static void add_entries(int fd, int64_t n)
{
	char name[64];

	for (int64_t i = 0; n > 0; i++) {
		long made;

		snprintf(name, sizeof(name), STAND_IN "x%lld", (long long)i);
		made = raw(SYS_openat, fd, name,
			   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (made >= 0) {
			raw(SYS_close, made);
			n--;
		} else if (made != -EEXIST) {
			return;
		}
	}
}

/*
 * Before a listing, or a removal, of a directory: give it the recorded number
 * of entries. The call has its path or its descriptor.
 */
static void adjust_entries(const struct player *p, const struct call_spec *s)
{
	bool path = s->m->name != PLAN_NONE;
	int64_t entries;
	long fd;

	fd = path ? beneath_open(p->process, s->path,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		  : raw(SYS_openat, s->fd, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	entries = count_entries((int)fd, 0);
	if (entries > s->m->entries)
		count_entries((int)fd, entries - s->m->entries);
	else
		add_entries((int)fd, s->m->entries - entries);
	raw(SYS_close, fd);
}

static void apply_name_change(const struct engine *e, const struct call_spec *s)
{
	if (s->r->flags & PLAN_F_VANISH)
		remove_at(AT_FDCWD, s->path, 0);
	else if (s->r->flags & (PLAN_F_APPEAR | PLAN_F_APPEAR_DIR))
		create_entry(e, s);
}

void external_changes_apply(struct player *p, const struct call_spec *s)
{
	struct call_spec at = *s;
	struct beneath b;
	bool on = beneath_on(p), good = s->m->name != PLAN_NONE;

	if (on)
		good &= !beneath_enter_parent(p, &at, &b);
	/* It opens descriptors for a while. */
	fdtable_take_turn(p);
	if (s->r->flags & PLAN_F_ENTRIES)
		adjust_entries(p, s);
	if (good)
		apply_name_change(p->engine, &at);
	fdtable_end_turn(p);
	if (on)
		beneath_leave(&b);
}

void external_changes_name_file(struct player *p, const struct call_spec *s,
				int fd)
{
	struct call_spec at = *s;
	struct beneath b;
	char from[64];

	if (s->m->name == PLAN_NONE ||
	    !sandbox_path(&p->engine->sandbox,
			  plan_name(p->engine->plan, s->m->name), p->path))
		return;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	at.path = p->path;
	if (beneath_on(p) && beneath_enter_parent(p, &at, &b))
		at.path = NULL; /* linkat() fails with EFAULT */
	raw(SYS_linkat, AT_FDCWD, from, AT_FDCWD, at.path, AT_SYMLINK_FOLLOW);
	if (beneath_on(p))
		beneath_leave(&b);
}

/* SPDX-License-Identifier: MIT */
/*
 * Confines a replayed process, once, before its first call: by Landlock, or by
 * a chroot in a user namespace. The calls of the job do not change.
 *
 * Open descriptors and mapped memory are not affected: pipes, sockets,
 * /dev/null and the result file can still be used. The shim opens its trace by
 * name at each flush, so the trace directory is allowed.
 *
 * The constants are those of the kernel: headers of older systems lack them.
 */
#include "replay/sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/error.h"

#include "replay/sandbox/sandbox.h"

static const char *const way_names[CONFINE_WAYS] = {
	[CONFINE_NONE] = "nothing",
	[CONFINE_LANDLOCK] = "Landlock",
	[CONFINE_CHROOT] = "a chroot in a user namespace",
	[CONFINE_OPENAT2] = "openat2",
};

const char *confine_name(uint32_t way)
{
	return way_names[way < CONFINE_WAYS ? way : CONFINE_NONE];
}

int confine_wanted(enum confinement *way, struct reel_error *err)
{
	static const char *const words[CONFINE_WAYS] = {"", "landlock",
							"chroot", "openat2"};
	const char *word = getenv("IOREEL_REPLAY_CONFINE");

	for (int i = 0; i < CONFINE_WAYS; i++) {
		*way = (enum confinement)i;
		if (!strcmp(word ? word : "", words[i]))
			return 0;
	}
	return reel_fail(err, REEL_E_USAGE,
			 "IOREEL_REPLAY_CONFINE is '%s', not landlock, chroot "
			 "or openat2",
			 word);
}

/* --- Landlock: linux/landlock.h ------------------------------------------ */

#define NR_LANDLOCK_CREATE 444
#define NR_LANDLOCK_ADD 445
#define NR_LANDLOCK_RESTRICT 446
#define LANDLOCK_VERSION 1
#define LANDLOCK_BENEATH 1
#define LANDLOCK_TRUNCATE_ABI 3

#define MAY_WRITE_FILE (1u << 1)
#define MAY_MAKE_CHAR (1u << 6)
#define MAY_MAKE_BLOCK (1u << 11)
#define MAY_TRUNCATE (1u << 14)
/* Removals (4, 5), creations (6 to 12), moves between directories (13). */
#define MAY_CHANGE_DIR (0x3ffu << 4)
#define MAY_CHANGE (MAY_WRITE_FILE | MAY_CHANGE_DIR | MAY_TRUNCATE)

struct landlock_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

static bool allow_directory(long ruleset, const char *path)
{
	struct landlock_rule rule = {
		.allowed = MAY_CHANGE & ~(MAY_MAKE_CHAR | MAY_MAKE_BLOCK)};
	long fd = raw(SYS_openat, AT_FDCWD, path,
		      O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	bool good;

	rule.fd = (int32_t)fd;
	good = fd >= 0 &&
	       !raw(NR_LANDLOCK_ADD, ruleset, LANDLOCK_BENEATH, &rule, 0);
	if (fd >= 0)
		raw(SYS_close, fd);
	return good;
}

static bool restrict_by_landlock(const char *root, const char *trace)
{
	uint64_t handled = MAY_CHANGE;
	long fd;
	bool good;

	if (raw(NR_LANDLOCK_CREATE, 0, 0, LANDLOCK_VERSION) <
	    LANDLOCK_TRUNCATE_ABI)
		return false;
	fd = raw(NR_LANDLOCK_CREATE, &handled, sizeof(handled), 0);
	if (fd < 0)
		return false;
	good = allow_directory(fd, root) &&
	       (!trace || allow_directory(fd, trace)) &&
	       !raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !raw(NR_LANDLOCK_RESTRICT, fd, 0);
	raw(SYS_close, fd);
	return good;
}

/* --- a chroot ------------------------------------------------------------ */

#define NR_OPEN_TREE 428
#define NR_MOVE_MOUNT 429
#define NR_MOUNT_SETATTR 442
#define TREE_CLONE 1 /* OPEN_TREE_CLONE */
#define FROM_FD 4    /* MOVE_MOUNT_F_EMPTY_PATH */
#define ATTR_RDONLY 1
#define ALL_BELOW 0x8000 /* AT_RECURSIVE */
/* Rights on files that this process may have had: CAP_CHOWN to CAP_FSETID */
#define FILE_CAPABILITIES 0x1f

struct mount_attributes {
	uint64_t set, clear, propagation, userns_fd;
};

static bool write_text(const char *path, const char *text)
{
	long fd = raw(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	long n = -1;

	if (fd < 0)
		return false;
	n = raw(SYS_write, fd, text, strlen(text));
	raw(SYS_close, fd);
	return n == (long)strlen(text);
}

/* Enter a user namespace with the right to mount, as the same user. */
static bool enter_namespace(void)
{
	unsigned int uid = (unsigned int)raw(SYS_geteuid);
	unsigned int gid = (unsigned int)raw(SYS_getegid);
	char uids[64], gids[64];

	snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
	snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
	return !raw(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) &&
	       write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/gid_map", gids) &&
	       write_text("/proc/self/uid_map", uids);
}

/* Make the directory @path and its parents below the directory @under. */
static bool make_path(const char *under, const char *path,
		      char out[static 2 * PATH_MAX])
{
	size_t from = strlen(under);

	snprintf(out, 2 * PATH_MAX, "%s%s", under, path);
	for (char *p = out + from + 1;; p++) {
		char keep = *p;
		long r;

		if (keep && keep != '/')
			continue;
		*p = '\0';
		r = raw(SYS_mkdirat, AT_FDCWD, out, 0755);
		*p = keep;
		if (r && r != -EEXIST)
			return false;
		if (!keep)
			return true;
	}
}

/* Mount @tree, a copy of the directory @path, at the same path below @under. */
static bool mount_copy(long tree, const char *under, const char *path,
		       bool read_only)
{
	struct mount_attributes attr = {.set = ATTR_RDONLY};
	char to[2 * PATH_MAX];

	return tree >= 0 && make_path(under, path, to) &&
	       !raw(NR_MOVE_MOUNT, tree, "", AT_FDCWD, to, FROM_FD) &&
	       (!read_only || !raw(NR_MOUNT_SETATTR, AT_FDCWD, to, ALL_BELOW,
				   &attr, sizeof(attr)));
}

/* Keep the former rights on files, and none of the new namespace. */
static bool drop_capabilities(uint32_t effective)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct cap[2] = {{0}};

	cap[0].effective = cap[0].permitted = effective & FILE_CAPABILITIES;
	return !raw(SYS_capset, &head, cap);
}

static uint32_t effective_capabilities(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct cap[2] = {{0}};

	return raw(SYS_capget, &head, cap) ? 0 : cap[0].effective;
}

/* Copy the mount of @path with all mounts below it. */
static long copy_tree(const char *path)
{
	return raw(NR_OPEN_TREE, AT_FDCWD, path,
		   TREE_CLONE | ALL_BELOW | O_CLOEXEC);
}

/*
 * Change to an empty root with the sandbox, the trace and /proc (read-only) at
 * their paths, so that no path changes. The new root is mounted over the
 * sandbox, which was copied before.
 */
static bool change_root(const char *root, const char *trace)
{
	struct mount_attributes attr = {.set = ATTR_RDONLY};
	uint32_t had = effective_capabilities();
	long at[3];
	bool good;

	if (!enter_namespace())
		return false;
	at[0] = copy_tree("/proc");
	at[1] = trace ? copy_tree(trace) : -1;
	at[2] = copy_tree(root);
	good = !raw(SYS_mount, "none", root, "tmpfs", MS_NOSUID | MS_NODEV,
		    "mode=0755,size=1m") &&
	       mount_copy(at[0], root, "/proc", true) &&
	       (!trace || mount_copy(at[1], root, trace, false)) &&
	       mount_copy(at[2], root, root, false) &&
	       !raw(NR_MOUNT_SETATTR, AT_FDCWD, root, 0, &attr, sizeof(attr)) &&
	       !raw(SYS_chroot, root) && !raw(SYS_chdir, root);
	for (int i = 0; i < 3; i++)
		if (at[i] >= 0)
			raw(SYS_close, at[i]);
	return drop_capabilities(had) && good;
}

/* --- which --------------------------------------------------------------- */

enum confinement confine_process(const struct sandbox *sb,
				 enum confinement wanted)
{
	const char *trace = getenv("IOREEL_DIR");

	if (trace &&
	    (trace[0] != '/' || raw(SYS_faccessat, AT_FDCWD, trace, W_OK)))
		trace = NULL; /* the shim writes nothing there */
	if ((!wanted || wanted == CONFINE_LANDLOCK) &&
	    restrict_by_landlock(sb->root, trace))
		return CONFINE_LANDLOCK;
	if ((!wanted || wanted == CONFINE_CHROOT) &&
	    change_root(sb->root, trace))
		return CONFINE_CHROOT;
	if (!wanted || wanted == CONFINE_OPENAT2)
		return CONFINE_OPENAT2;
	return CONFINE_NONE;
}

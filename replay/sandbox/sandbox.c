/* SPDX-License-Identifier: MIT */
/* Makes, checks and removes the sandbox; see the header on its safety. */
#include "replay/sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/error.h"

/*
 * Open a directory, also when the job has removed its own permission to enter
 * it. By its descriptor: another program may put a link in its place.
 */
static int open_entry(int dir, const char *name)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, O_RDONLY | flags), at;
	char path[64];

	if (fd >= 0 || errno != EACCES)
		return fd;
	at = openat(dir, name, O_PATH | flags);
	if (at < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	if (!chmod(path, 0700))
		fd = openat(dir, name, O_RDONLY | flags);
	close(at);
	return fd;
}

/* Remove all entries of the open directory @fd, which it closes. */
static int empty_dir(int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *de;
	int rc = 0;

	if (!dir) {
		close(fd);
		return -1;
	}
	while (!rc && (errno = 0, de = readdir(dir))) {
		int sub;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		if (unlinkat(fd, de->d_name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM) {
			rc = -1;
			break;
		}
		sub = open_entry(fd, de->d_name);
		if (sub < 0 || depth > PATH_MAX / 2 ||
		    empty_dir(sub, depth + 1) ||
		    unlinkat(fd, de->d_name, AT_REMOVEDIR))
			rc = -1;
	}
	if (errno && !de)
		rc = -1;
	closedir(dir);
	return rc;
}

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* 1: empty, 0: not empty, -1: unreadable. */
static int is_empty(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (!dir)
		return -1;
	while (n <= 2 && readdir(dir))
		n++;
	closedir(dir);
	return n <= 2;
}

static int write_marker(struct sandbox *sb, struct reel_error *err)
{
	char path[PATH_MAX + sizeof(SANDBOX_MARKER) + 1];
	static const char text[] =
		"This folder was made by \"ioreel replay\". All that is in it\n"
		"is removed when a replay ends, or uses it again.\n";
	int fd, rc = 0;

	snprintf(path, sizeof(path), "%s/" SANDBOX_MARKER, sb->root);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, sizeof(text) - 1) < 0)
		rc = reel_fail_io(err, "write", path, errno);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Use an existing folder: it must be empty, or a sandbox, which is emptied. */
static int claim_folder(const char *root, struct reel_error *err)
{
	char path[PATH_MAX + sizeof(SANDBOX_MARKER) + 1];
	struct stat st;
	int empty = is_empty(root), fd;

	if (empty < 0 || stat(root, &st))
		return reel_fail_io(err, "use", root, errno);
	if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' can be changed by everybody and has no "
				 "sticky bit; give another --root",
				 root);
	if (empty)
		return 0;
	snprintf(path, sizeof(path), "%s/" SANDBOX_MARKER, root);
	if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' is not empty and was not made by "
				 "ioreel; give an empty --root",
				 root);
	fd = open_dir(root);
	if (fd < 0 || empty_dir(fd, 0))
		return reel_fail_io(err, "empty", root, errno);
	return 0;
}

static int store_root(struct sandbox *sb, const char *path,
		      struct reel_error *err)
{
	char *abs = realpath(path, NULL);

	if (!abs)
		return reel_fail_io(err, "use", path, errno);
	sb->root_len = strlen(abs);
	/* Paths of the job have to fit behind it. */
	if (sb->root_len >= PATH_MAX / 2 || sb->root_len < 2) {
		free(abs);
		return reel_fail(err, REEL_E_USAGE, "'%s' cannot be the root",
				 path);
	}
	memcpy(sb->root, abs, sb->root_len + 1);
	free(abs);
	return 0;
}

int sandbox_make(struct sandbox *sb, const char *root, struct reel_error *err)
{
	char fresh[] = "replay.XXXXXX";

	memset(sb, 0, sizeof(*sb));
	if (!root) {
		if (!mkdtemp(fresh))
			return reel_fail_io(err, "make a folder in", ".",
					    errno);
		sb->made = true;
		root = fresh;
	} else if (mkdir(root, 0700) == 0) {
		sb->made = true;
	} else if (errno != EEXIST) {
		return reel_fail_io(err, "make", root, errno);
	} else if (claim_folder(root, err)) {
		return -1;
	}
	if (store_root(sb, root, err) || write_marker(sb, err)) {
		if (sb->made)
			rmdir(root);
		sb->root[0] = '\0';
		return -1;
	}
	return 0;
}

int sandbox_use(struct sandbox *sb, const char *root, struct reel_error *err)
{
	char path[PATH_MAX + sizeof(SANDBOX_MARKER) + 1];

	memset(sb, 0, sizeof(*sb));
	if (store_root(sb, root, err))
		return -1;
	snprintf(path, sizeof(path), "%s/" SANDBOX_MARKER, sb->root);
	/* Raw, because the trace of a replay holds only calls of the job. */
	if (raw(SYS_faccessat2, AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' was not made by ioreel", root);
	return 0;
}

/* Is it an absolute path without "." and ".." components? */
static bool is_plain(const char *s)
{
	if (*s++ != '/')
		return false;
	for (;;) {
		size_t n = strcspn(s, "/");

		if (n <= 2 && s[0] == '.' && (n == 1 || s[1] == '.'))
			return false;
		s += n;
		if (!*s)
			return true;
		s++;
	}
}

char *sandbox_path(const struct sandbox *sb, const char *name,
		   char out[static PATH_MAX])
{
	size_t n = strlen(name);

	if (!is_plain(name)) {
		errno = EINVAL;
		return NULL;
	}
	if (sb->root_len + n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	memcpy(out, sb->root, sb->root_len);
	memcpy(out + sb->root_len, name, n + 1);
	return out;
}

int sandbox_remove_dir(const char *path)
{
	int fd = open_dir(path);

	return fd < 0 || empty_dir(fd, 0) || rmdir(path) ? -1 : 0;
}

int sandbox_remove(struct sandbox *sb, struct reel_error *err)
{
	int fd;

	if (!sb->root[0])
		return 0;
	fd = open_dir(sb->root);
	if (fd < 0 || empty_dir(fd, 0))
		return reel_fail_io(err, "empty", sb->root, errno);
	if (sb->made && rmdir(sb->root))
		return reel_fail_io(err, "remove", sb->root, errno);
	sb->root[0] = '\0';
	return 0;
}

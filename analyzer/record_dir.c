/* SPDX-License-Identifier: MIT */
/*
 * The trace directory: made before the job, tidied after it.
 *
 * A trace holds names of files and arguments of programs: mode 0700. Windows
 * are shared mappings, and those must not lie on a network file system, where
 * each page fault may cross the network.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/error.h"

#include "analyzer/record_internal.h"

#define TMPFS "/dev/shm"

/* Magic numbers of statfs(2) and of the kernel's out-of-tree neighbours. */
static bool on_network(const char *path)
{
	static const unsigned int magic[] = {
		0x6969,	    /* NFS */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
		0x19830326, /* BeeGFS */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB 2 */
		0x517b,	    /* SMB */
		0x01021997, /* 9p */
		0x65735546, /* FUSE */
		0x00c36400, /* Ceph */
		0x5346414f, /* AFS */
		0x73757245, /* Coda */
		0xaad7aaea, /* PanFS */
		0x20030528, /* OrangeFS */
		0x786f4256, /* VirtualBox shared folder */
	};
	struct statfs st;
	size_t i;

	if (statfs(path, &st))
		return false;
	for (i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if ((unsigned int)st.f_type == magic[i])
			return true;
	return false;
}

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	bool empty = true;

	while (dir && empty && (e = readdir(dir)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (dir)
		closedir(dir);
	return dir && empty;
}

static int join(char out[static PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	return n < 0 || n >= PATH_MAX ? -1 : 0;
}

/* The directory itself, new or empty, and its real path. */
static int make(struct record_dir *d, const char *name, struct reel_error *err)
{
	struct stat st;

	if (!mkdir(name, 0700)) {
		d->made = true;
	} else if (errno != EEXIST) {
		return reel_fail(err, REEL_E_IO, "cannot create '%s': %s", name,
				 strerror(errno));
	} else if (stat(name, &st) || !S_ISDIR(st.st_mode)) {
		return reel_fail(err, REEL_E_IO,
				 "'%s' exists and is no directory", name);
	} else if (!is_empty(name)) {
		return reel_fail(err, REEL_E_IO,
				 "'%s' exists and is not empty; give another "
				 "-o DIR",
				 name);
	}
	/* The shim adds "/windows/PID.N.win" to it in a buffer of PATH_MAX. */
	if (!realpath(name, d->path) || strlen(d->path) > PATH_MAX - 160) {
		reel_fail(err, REEL_E_IO, "cannot use '%s': %s", name,
			  strerror(d->path[0] ? ENAMETOOLONG : errno));
		if (d->made)
			rmdir(name);
		d->made = false;
		return -1;
	}
	/* A umask may have taken what we need, or left what was there. */
	if (chmod(d->path, 0700) || access(d->path, W_OK | X_OK))
		return reel_fail(err, REEL_E_IO, "cannot write to '%s': %s",
				 name, strerror(errno));
	return 0;
}

static int make_windows(struct record_dir *d, struct reel_error *err)
{
	char link[PATH_MAX];

	if (join(link, d->path, "windows"))
		return reel_fail(err, REEL_E_IO, "cannot use '%s': %s", d->path,
				 strerror(ENAMETOOLONG));
	if (on_network(d->path)) {
		strcpy(d->windows, TMPFS "/ioreel-XXXXXX");
		if (mkdtemp(d->windows) && !symlink(d->windows, link))
			return 0;
		/* No tmpfs, or no links here: slow, but it works. */
		rmdir(d->windows);
		d->windows[0] = '\0';
	}
	if (mkdir(link, 0700) || chmod(link, 0700))
		return reel_fail(err, REEL_E_IO, "cannot create '%s': %s", link,
				 strerror(errno));
	return 0;
}

/*
 * job.counts, with real space, as the shim maps it: a full disk must fail here,
 * not there. Made first and by one: of two that start at once in the same empty
 * directory, the second must leave.
 */
static int make_counts(const struct record_dir *d, struct reel_error *err)
{
	union {
		struct reel_counts counts;
		char page[4096];
	} u = {.page = {0}};
	char path[PATH_MAX];
	int fd, rc = -1;

	u.counts.magic = REEL_COUNTS_MAGIC;
	if (join(path, d->path, "job.counts"))
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd >= 0) {
		ssize_t n = pwrite(fd, &u, sizeof(u), 0);

		if (n >= 0 && n < (ssize_t)sizeof(u))
			errno = ENOSPC;
		rc = n == (ssize_t)sizeof(u) ? 0 : -1;
		if (!rc && posix_fallocate(fd, 0, sizeof(u)) == ENOSPC) {
			errno = ENOSPC;
			rc = -1;
		}
	}
	if (rc)
		reel_fail(err, REEL_E_IO, "cannot write '%s': %s", path,
			  strerror(errno));
	if (rc && fd >= 0)
		unlink(path);
	if (fd >= 0)
		close(fd);
	return rc;
}

int record_dir_create(struct record_dir *d, const char *name,
		      struct reel_error *err)
{
	memset(d, 0, sizeof(*d));
	if (make(d, name, err))
		return -1;
	if (make_counts(d, err)) {
		if (d->made)
			rmdir(d->path);
		return -1;
	}
	if (make_windows(d, err)) {
		record_dir_remove(d);
		return -1;
	}
	return 0;
}

void record_dir_close(const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	if (join(link, path, "windows"))
		return;
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0) {
		rmdir(link); /* refuses while something is in it */
		return;
	}
	target[n] = '\0';
	if (strncmp(target, TMPFS "/ioreel-", strlen(TMPFS "/ioreel-")))
		return; /* not made by us */
	if (!rmdir(target) || errno == ENOENT)
		unlink(link);
}

void record_dir_remove(struct record_dir *d)
{
	static const char *const name[] = {"job.counts", "job.json",
					   "job.json.tmp"};
	char path[PATH_MAX];
	size_t i;

	record_dir_close(d->path);
	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!join(path, d->path, name[i]))
			unlink(path);
	if (d->made)
		rmdir(d->path);
	d->made = false;
}

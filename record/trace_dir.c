/* SPDX-License-Identifier: MIT */
/*
 * The trace directory: created before the job, cleaned up after it.
 *
 * A trace contains file names and program arguments, so its mode is 0700.
 * Windows are shared mappings. They must not be on a network file system, where
 * each page fault may cross the network.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "lib/error.h"

#include "record/internal.h"

#define TMPFS "/dev/shm"
#define COUNTS_BYTES 4096

/* Magic numbers from statfs(2) and from out-of-tree file systems. */
bool record_dir_on_network(const char *path)
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

bool record_dir_is_empty(const char *path)
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

static int path_in(char out[static PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	return n < 0 || n >= PATH_MAX ? -1 : 0;
}

/* Create the directory, or accept an empty one, and find its real path. */
static int make_dir(struct record_dir *d, const char *name,
		    struct record_group *g, struct reel_error *err)
{
	int others = g && !g->joined ? record_group_join(g, name, err) : 0;
	struct stat st;

	if (others < 0)
		return -1;
	if (g && !others) {
		;
	} else if (!mkdir(name, 0700)) {
		d->made = true;
	} else if (errno != EEXIST) {
		return reel_fail_io(err, "create", name, errno);
	} else if (stat(name, &st) || !S_ISDIR(st.st_mode)) {
		return reel_fail(err, REEL_E_IO,
				 "'%s' exists and is no directory", name);
	} else if (!record_dir_is_empty(name)) {
		return reel_fail(
			err, REEL_E_IO,
			"'%s' exists and is not empty; give another -o DIR",
			name);
	}
	/* The shim appends "/windows/PID.N.win" in a buffer of PATH_MAX. */
	if (!realpath(name, d->path) || strlen(d->path) > PATH_MAX - 160) {
		reel_fail_io(err, "use", name,
			     d->path[0] ? ENAMETOOLONG : errno);
		if (d->made)
			rmdir(name);
		d->made = false;
		return -1;
	}
	/* mkdir applies the umask, and an old directory keeps its mode. */
	if (chmod(d->path, 0700) || access(d->path, W_OK | X_OK))
		return reel_fail_io(err, "write to", name, errno);
	return 0;
}

/* Create @path, or accept the folder of another rank, never of another user. */
static bool make_private_dir(const char *path)
{
	struct stat st;

	return !mkdir(path, 0700) ||
	       (errno == EEXIST && !lstat(path, &st) && S_ISDIR(st.st_mode) &&
		st.st_uid == geteuid() && !(st.st_mode & 077));
}

/* All ranks see the link windows/, so its target has one name everywhere. */
static int share_windows(struct record_dir *d, const char *link,
			 const struct record_group *g, struct reel_error *err)
{
	if (record_dir_on_network(d->path)) {
		snprintf(d->windows, sizeof(d->windows), TMPFS "/ioreel-%s",
			 g->nonce);
		if (make_private_dir(d->windows) &&
		    (!symlink(d->windows, link) || errno == EEXIST))
			return 0;
	}
	if (mkdir(link, 0700) && errno != EEXIST)
		return reel_fail_io(err, "create", link, errno);
	return 0;
}

static int make_windows(struct record_dir *d, const struct record_group *g,
			struct reel_error *err)
{
	char link[PATH_MAX];

	if (path_in(link, d->path, "windows"))
		return reel_fail_io(err, "use", d->path, ENAMETOOLONG);
	if (g)
		return share_windows(d, link, g, err);
	if (record_dir_on_network(d->path)) {
		strcpy(d->windows, TMPFS "/ioreel-XXXXXX");
		if (mkdtemp(d->windows) && !symlink(d->windows, link))
			return 0;
		/* No tmpfs or no symbolic links: slow, but correct. */
		rmdir(d->windows);
		d->windows[0] = '\0';
	}
	if (mkdir(link, 0700) || chmod(link, 0700))
		return reel_fail_io(err, "create", link, errno);
	return 0;
}

/* Another rank writes job.counts: wait until it is complete. */
static int wait_for_counts(const char *path, struct reel_error *err)
{
	const struct timespec pause = {0, 10000000};
	struct stat st;
	int i;

	for (i = 0; i < 1000; i++) {
		if (!stat(path, &st) && st.st_size >= COUNTS_BYTES)
			return 0;
		nanosleep(&pause, NULL);
	}
	return reel_fail(err, REEL_E_IO, "'%s' was never finished", path);
}

/*
 * Create job.counts with allocated blocks: the shim maps it, and a full disk
 * must fail here and not as a SIGBUS there. It is the first file and is created
 * with O_EXCL: if two recordings start in one empty directory, one must fail.
 */
static int make_counts(const struct record_dir *d, bool shared,
		       int64_t budget_bytes, struct reel_error *err)
{
	union {
		struct reel_counts counts;
		char page[COUNTS_BYTES];
	} u = {.page = {0}};
	char path[PATH_MAX];
	int fd, rc = -1;

	u.counts.magic = REEL_COUNTS_MAGIC;
	u.counts.budget_bytes = (uint64_t)budget_bytes;
	u.counts.used_bytes = sizeof(u);
	if (path_in(path, d->path, "job.counts"))
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0 && errno == EEXIST && shared)
		return wait_for_counts(path, err);
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
		reel_fail_io(err, "write", path, errno);
	if (rc && fd >= 0)
		unlink(path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Map job.counts of @dir; NULL: it is missing. */
static struct reel_counts *map_counts(const char *dir, struct stat *st)
{
	struct reel_counts *c = MAP_FAILED;
	char path[PATH_MAX];
	int fd;

	if (path_in(path, dir, "job.counts"))
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, st) && st->st_size >= COUNTS_BYTES)
		c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	close(fd);
	return c == MAP_FAILED ? NULL : c;
}

bool record_counts_add(const char *dir, enum reel_counter which, uint64_t n)
{
	struct stat st;
	struct reel_counts *c = map_counts(dir, &st);

	if (!c)
		return false;
	__atomic_fetch_add(&c->counter[which], n, __ATOMIC_RELAXED);
	munmap(c, sizeof(*c));
	return true;
}

void record_counts_merged(const char *dir, uint64_t window_bytes,
			  uint64_t log_bytes)
{
	struct stat st;
	struct reel_counts *c = map_counts(dir, &st);
	uint64_t windows;

	if (!c)
		return;
	if (c->budget_bytes) {
		__atomic_fetch_add(&c->used_bytes, log_bytes, __ATOMIC_RELAXED);
		windows = __atomic_load_n(&c->window_bytes, __ATOMIC_RELAXED);
		if (window_bytes > windows) /* st_blocks is an estimate */
			window_bytes = windows;
		__atomic_fetch_sub(&c->window_bytes, window_bytes,
				   __ATOMIC_RELAXED);
	}
	munmap(c, sizeof(*c));
}

uint64_t record_dir_started(const struct record_dir *d)
{
	struct reel_counts *now;
	struct stat st;
	uint64_t n;

	if (!d->counts)
		return 0;
	n = __atomic_load_n(&d->counts->processes, __ATOMIC_RELAXED);
	/* A process that misses the directory recreates it with another
	 * job.counts. Ours is mapped, so its inode number is not reused. */
	now = map_counts(d->path, &st);
	if (now && st.st_ino != d->inode)
		n += __atomic_load_n(&now->processes, __ATOMIC_RELAXED);
	if (now)
		munmap(now, sizeof(*now));
	return n;
}

int record_dir_create(struct record_dir *d, const char *name,
		      struct record_group *g, int64_t budget_bytes,
		      struct reel_error *err)
{
	struct stat st;

	memset(d, 0, sizeof(*d));
	if (make_dir(d, name, g, err))
		return -1;
	if (make_counts(d, g, budget_bytes, err)) {
		if (d->made)
			rmdir(d->path);
		return -1;
	}
	if (make_windows(d, g, err)) {
		if (!g)
			record_dir_remove(d);
		return -1;
	}
	if (!g && (d->counts = map_counts(d->path, &st)))
		d->inode = st.st_ino;
	return 0;
}

/* Read the target of the link windows/. True if ioreel created it. */
static bool windows_link(const char *path, char link[static PATH_MAX],
			 char target[static PATH_MAX])
{
	ssize_t n;

	if (path_in(link, path, "windows"))
		return false;
	n = readlink(link, target, PATH_MAX - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	return !strncmp(target, TMPFS "/ioreel-", strlen(TMPFS "/ioreel-"));
}

void record_dir_close_here(const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];

	if (windows_link(path, link, target))
		rmdir(target); /* fails while it has entries */
}

void record_dir_close(const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];

	if (!windows_link(path, link, target))
		rmdir(link); /* the same; a foreign link stays */
	else if (!rmdir(target) || errno == ENOENT)
		unlink(link);
}

void record_dir_fini(struct record_dir *d)
{
	if (d->counts)
		munmap(d->counts, sizeof(*d->counts));
	d->counts = NULL;
}

void record_dir_remove(struct record_dir *d)
{
	static const char *const name[] = {"job.counts", "job.json",
					   "job.json.tmp"};
	char path[PATH_MAX];
	size_t i;

	record_dir_close(d->path);
	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!path_in(path, d->path, name[i]))
			unlink(path);
	if (d->made)
		rmdir(d->path);
	d->made = false;
}

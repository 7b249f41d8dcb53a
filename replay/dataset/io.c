/* SPDX-License-Identifier: MIT */
/* Calls, counted and timed. */
#include "replay/dataset/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "lib/error.h"

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t spent(struct io *io, int64_t start_ns)
{
	int64_t ns = now_ns() - start_ns;

	io->storage_ns += ns;
	return ns;
}

/* Eight bins for each power of two: the next three bits choose. */
static void count_latency(struct io *io, int64_t ns)
{
	uint64_t v = ns > 0 ? (uint64_t)ns : 1;
	unsigned int power = 63 - (unsigned int)__builtin_clzll(v);
	unsigned int part = power >= 3 ? (unsigned int)(v >> (power - 3)) & 7
				       : (unsigned int)(v << (3 - power)) & 7;
	unsigned int bin = power * 8 + part;

	io->latency[bin < IO_LATENCY_BINS ? bin : IO_LATENCY_BINS - 1]++;
}

static int failed(const char *call, const char *path, struct reel_error *err)
{
	return reel_fail(err, REEL_E_IO, "cannot %s '%s': %s", call, path,
			 strerror(errno));
}

/* The name of @fd, for a message. */
static const char *name_of(int fd, char name[static PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, PATH_MAX - 1);
	name[n > 0 ? n : 0] = '\0';
	return name;
}

static int failed_fd(const char *call, int fd, struct reel_error *err)
{
	char name[PATH_MAX];
	int was = errno;

	name_of(fd, name);
	errno = was;
	return failed(call, name, err);
}

static int path_below(const struct io *io, const char *path,
		      char out[static PATH_MAX], struct reel_error *err)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", io->root, path);

	return n < PATH_MAX ? 0
			    : reel_fail(err, REEL_E_IO,
					"a path is too long: %s", path);
}

static int open_at(struct io *io, const char *path, int flags, const char *call,
		   struct reel_error *err)
{
	char full[PATH_MAX];
	int64_t start;
	int fd;

	if (path_below(io, path, full, err))
		return -1;
	start = now_ns();
	fd = open(full, flags | O_CLOEXEC, 0666);
	spent(io, start);
	io->other_calls++;
	return fd < 0 ? failed(call, full, err) : fd;
}

int io_open(struct io *io, const char *path, bool direct_too,
	    struct reel_error *err)
{
	if (io->null)
		return 0;
	return open_at(io, path,
		       O_RDONLY | (io->direct && direct_too ? O_DIRECT : 0),
		       "open", err);
}

static ssize_t read_done(struct io *io, int fd, ssize_t n, int64_t start,
			 struct reel_error *err)
{
	count_latency(io, spent(io, start));
	io->read_calls++;
	if (n < 0)
		return failed_fd("read", fd, err);
	io->read_bytes += (uint64_t)n;
	return n;
}

ssize_t io_read(struct io *io, int fd, void *to, size_t n,
		struct reel_error *err)
{
	int64_t start;

	if (io->null)
		return (ssize_t)n;
	start = now_ns();
	return read_done(io, fd, read(fd, to, n), start, err);
}

ssize_t io_pread(struct io *io, int fd, void *to, size_t n, uint64_t offset,
		 struct reel_error *err)
{
	int64_t start;

	if (io->null)
		return (ssize_t)n;
	start = now_ns();
	return read_done(io, fd, pread(fd, to, n, (off_t)offset), start, err);
}

int io_seek(struct io *io, int fd, int64_t offset, int whence,
	    struct reel_error *err)
{
	int64_t start;
	off_t at;

	if (io->null)
		return 0;
	start = now_ns();
	at = lseek(fd, offset, whence);
	spent(io, start);
	io->other_calls++;
	return at < 0 ? failed_fd("seek in", fd, err) : 0;
}

int io_fstat(struct io *io, int fd, uint64_t *size, struct reel_error *err)
{
	struct stat st;
	int64_t start;
	int rc;

	if (io->null)
		return 0;
	start = now_ns();
	rc = fstat(fd, &st);
	spent(io, start);
	io->other_calls++;
	if (rc)
		return failed_fd("stat", fd, err);
	*size = (uint64_t)st.st_size;
	return 0;
}

int io_stat(struct io *io, const char *path, uint64_t *size,
	    struct reel_error *err)
{
	char full[PATH_MAX];
	struct stat st;
	int64_t start;
	int rc;

	if (io->null)
		return 0;
	if (path_below(io, path, full, err))
		return -1;
	start = now_ns();
	rc = stat(full, &st);
	spent(io, start);
	io->other_calls++;
	if (rc)
		return failed("stat", full, err);
	*size = (uint64_t)st.st_size;
	return 0;
}

void io_isatty(struct io *io, int fd)
{
	struct termios t;
	int64_t start;

	if (io->null)
		return;
	start = now_ns();
	ioctl(fd, TCGETS, &t);
	spent(io, start);
	io->other_calls++;
}

int io_dup(struct io *io, int fd, struct reel_error *err)
{
	int64_t start;
	int copy;

	if (io->null)
		return 0;
	start = now_ns();
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy >= 0)
		fcntl(copy, F_GETFL);
	spent(io, start);
	io->other_calls += 2;
	return copy < 0 ? failed_fd("copy the descriptor of", fd, err) : copy;
}

void io_advise(struct io *io, int fd, uint64_t offset, uint64_t n, int advice)
{
	int64_t start;

	if (io->null)
		return;
	start = now_ns();
	posix_fadvise(fd, (off_t)offset, (off_t)n, advice);
	spent(io, start);
	io->other_calls++;
}

void *io_map(struct io *io, int fd, size_t n, bool writable,
	     struct reel_error *err)
{
	int64_t start = now_ns();
	void *map = mmap(NULL, n, PROT_READ | (writable ? PROT_WRITE : 0),
			 MAP_PRIVATE, fd, 0);

	spent(io, start);
	io->other_calls++;
	if (map != MAP_FAILED)
		return map;
	failed_fd("map", fd, err);
	return NULL;
}

void io_unmap(struct io *io, void *map, size_t n)
{
	int64_t start = now_ns();

	munmap(map, n);
	spent(io, start);
	io->other_calls++;
}

#define PAGE_LEAST 4096

void io_touch(struct io *io, const void *p, size_t n)
{
	const volatile uint8_t *at = p;
	int64_t start = now_ns();

	for (size_t i = 0; i < n; i += PAGE_LEAST)
		(void)at[i];
	if (n)
		(void)at[n - 1];
	spent(io, start);
	io->read_bytes += n;
}

int io_lock(struct io *io, int fd, int how, struct reel_error *err)
{
	int64_t start;
	int rc;

	if (io->null)
		return 0;
	start = now_ns();
	rc = flock(fd, how);
	spent(io, start);
	io->other_calls++;
	return rc && errno != ENOSYS && errno != EOPNOTSUPP
		       ? failed_fd("lock", fd, err)
		       : 0;
}

int io_close(struct io *io, int fd, struct reel_error *err)
{
	int64_t start;
	int rc;

	if (io->null)
		return 0;
	start = now_ns();
	rc = close(fd);
	spent(io, start);
	io->other_calls++;
	return rc ? reel_fail(err, REEL_E_IO, "cannot close a file: %s",
			      strerror(errno))
		  : 0;
}

/* --- writing -------------------------------------------------------------- */

int io_create(struct io *io, const char *path, struct reel_error *err)
{
	if (io->null)
		return 0;
	return open_at(io, path, O_WRONLY | O_CREAT | O_TRUNC, "create", err);
}

int io_write_all(struct io *io, int fd, const void *from, size_t n,
		 struct reel_error *err)
{
	const char *p = from;

	while (n && !io->null) {
		int64_t start = now_ns();
		ssize_t done = write(fd, p, n);

		spent(io, start);
		io->write_calls++;
		if (done < 0)
			return failed_fd("write", fd, err);
		io->write_bytes += (uint64_t)done;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int io_fsync(struct io *io, int fd, struct reel_error *err)
{
	int64_t start;
	int rc;

	if (io->null)
		return 0;
	start = now_ns();
	rc = fsync(fd);
	spent(io, start);
	io->other_calls++;
	return rc ? failed_fd("sync", fd, err) : 0;
}

int io_rename(struct io *io, const char *from, const char *to,
	      struct reel_error *err)
{
	char a[PATH_MAX], b[PATH_MAX];
	int64_t start;
	int rc;

	if (io->null)
		return 0;
	if (path_below(io, from, a, err) || path_below(io, to, b, err))
		return -1;
	start = now_ns();
	rc = rename(a, b);
	spent(io, start);
	io->other_calls++;
	return rc ? failed("rename", a, err) : 0;
}

int io_unlink(struct io *io, const char *path, struct reel_error *err)
{
	char full[PATH_MAX];
	int64_t start;
	int rc;

	if (io->null)
		return 0;
	if (path_below(io, path, full, err))
		return -1;
	start = now_ns();
	rc = unlink(full);
	spent(io, start);
	io->other_calls++;
	return rc && errno != ENOENT ? failed("remove", full, err) : 0;
}

void io_add(struct io *to, const struct io *from)
{
	to->read_calls += from->read_calls;
	to->read_bytes += from->read_bytes;
	to->write_calls += from->write_calls;
	to->write_bytes += from->write_bytes;
	to->other_calls += from->other_calls;
	to->storage_ns += from->storage_ns;
	for (int i = 0; i < IO_LATENCY_BINS; i++)
		to->latency[i] += from->latency[i];
}

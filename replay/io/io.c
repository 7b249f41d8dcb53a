/* SPDX-License-Identifier: MIT */
/* Calls, counted and timed. */
#include "replay/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "schemas/ioreel.h"

#include "lib/calls.h"
#include "lib/clock.h"
#include "lib/error.h"

#include "replay/io/io_internal.h"

int64_t io_spent(struct io *io, int64_t start_ns)
{
	int64_t ns = reel_now_ns() - start_ns;

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

int io_failed(const char *call, const char *path, struct reel_error *err)
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

int io_failed_fd(const char *call, int fd, struct reel_error *err)
{
	char name[PATH_MAX];
	int was = errno;

	name_of(fd, name);
	errno = was;
	return io_failed(call, name, err);
}

int io_path_below(const struct io *io, const char *path,
		  char out[static PATH_MAX], struct reel_error *err)
{
	size_t root = strlen(io->root), n = strlen(path) + 1;

	if (root + 1 + n > PATH_MAX)
		return reel_fail(err, REEL_E_IO, "a path is too long: %s",
				 path);
	memcpy(out, io->root, root);
	out[root] = '/';
	memcpy(out + root + 1, path, n);
	return 0;
}

int io_open_at(struct io *io, const char *path, int flags, const char *call,
	       struct reel_error *err)
{
	char full[PATH_MAX];
	int64_t start, ns;
	int fd;

	if (io_path_below(io, path, full, err))
		return -1;
	flags |= O_CLOEXEC;
	start = reel_now_ns();
	fd = open(full, flags, 0666);
	ns = io_spent(io, start);
	LOG(io, start, ns, OPEN, CALL_HAS_ARG, full, .arg = flags,
	    .result = fd);
	io->other_calls++;
	if (fd < 0 && (flags & O_DIRECT) && errno == EINVAL)
		return reel_fail(err, REEL_E_IO,
				 "access.direct: '%s' is on a file system "
				 "without O_DIRECT",
				 full);
	return fd < 0 ? io_failed(call, full, err) : fd;
}

int io_open(struct io *io, const char *path, bool direct_too,
	    struct reel_error *err)
{
	if (io->null)
		return 0;
	return io_open_at(io, path,
			  O_RDONLY | (io->direct && direct_too ? O_DIRECT : 0),
			  "open", err);
}

ssize_t io_read_done(struct io *io, int fd, ssize_t n, int64_t ns,
		     struct reel_error *err)
{
	count_latency(io, ns);
	io->read_calls++;
	if (n < 0)
		return io_failed_fd("read", fd, err);
	io->read_bytes += (uint64_t)n;
	return n;
}

/* A read is no larger than the workload asks for. */
static size_t part_of(const struct io *io, size_t n)
{
	size_t most = (size_t)io->transfer_bytes;

	return most && n > most ? most : n;
}

static bool is_aligned(const void *to, size_t n, uint64_t offset)
{
	return ((uintptr_t)to | n | offset) % IO_BLOCK == 0;
}

ssize_t io_read(struct io *io, int fd, void *to, size_t n,
		struct reel_error *err)
{
	int64_t start, ns;
	ssize_t got;

	if (io->null)
		return (ssize_t)n;
	if (io->direct)
		return io_direct_read(io, fd, to, n, err);
	n = part_of(io, n);
	start = reel_now_ns();
	got = read(fd, to, n);
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, READ, fd, CALL_HAS_SIZE, .size = (int64_t)n,
	       .result = got);
	return io_read_done(io, fd, got, ns, err);
}

ssize_t io_pread(struct io *io, int fd, void *to, size_t n, uint64_t offset,
		 struct reel_error *err)
{
	int64_t start, ns;
	ssize_t got;

	if (io->null)
		return (ssize_t)n;
	if (io->direct && !is_aligned(to, n, offset))
		return io_direct_pread(io, fd, to, n, offset, err);
	n = part_of(io, n);
	start = reel_now_ns();
	got = pread(fd, to, n, (off_t)offset);
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, PREAD, fd, CALL_HAS_SIZE | CALL_HAS_OFFSET,
	       .size = (int64_t)n, .offset = (int64_t)offset, .result = got);
	return io_read_done(io, fd, got, ns, err);
}

void io_begin_fread(struct io *io, struct io_fread *f)
{
	*f = (struct io_fread){io->log, reel_now_ns()};
	io->log = NULL;
}

void io_end_fread(struct io *io, const struct io_fread *f, int fd,
		  uint64_t offset, uint64_t n)
{
	io->log = f->log;
	if (io->null)
		return;
	LOG_FD(io, f->start_ns, 0, FSEEK, fd, CALL_HAS_OFFSET | CALL_HAS_ARG,
	       .offset = (int64_t)offset, .arg = SEEK_SET, .result = 0);
	LOG_FD(io, f->start_ns, reel_now_ns() - f->start_ns, FREAD, fd,
	       CALL_HAS_SIZE, .size = (int64_t)n, .result = (int64_t)n);
}

int io_seek(struct io *io, int fd, int64_t offset, int whence,
	    struct reel_error *err)
{
	int64_t start, ns;
	off_t at;

	if (io->null)
		return 0;
	start = reel_now_ns();
	at = lseek(fd, offset, whence);
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, LSEEK, fd, CALL_HAS_OFFSET | CALL_HAS_ARG,
	       .offset = offset, .arg = whence, .result = at);
	io->other_calls++;
	return at < 0 ? io_failed_fd("seek in", fd, err) : 0;
}

int64_t io_tell(struct io *io, int fd, struct reel_error *err)
{
	int64_t start = reel_now_ns(), ns;
	off_t at = lseek(fd, 0, SEEK_CUR);

	ns = io_spent(io, start);
	LOG_FD(io, start, ns, LSEEK, fd, CALL_HAS_OFFSET | CALL_HAS_ARG,
	       .offset = 0, .arg = SEEK_CUR, .result = at);
	io->other_calls++;
	return at < 0 ? io_failed_fd("seek in", fd, err) : at;
}

int io_fstat(struct io *io, int fd, uint64_t *size, struct reel_error *err)
{
	struct stat st;
	int64_t start, ns;
	int rc;

	if (io->null)
		return 0;
	start = reel_now_ns();
	rc = fstat(fd, &st);
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, FSTAT, fd, rc ? 0 : CALL_HAS_FILE_SIZE,
	       .file_size = rc ? 0 : st.st_size, .result = rc);
	io->other_calls++;
	if (rc)
		return io_failed_fd("stat", fd, err);
	*size = (uint64_t)st.st_size;
	return 0;
}

int io_stat(struct io *io, const char *path, uint64_t *size,
	    struct reel_error *err)
{
	char full[PATH_MAX];
	struct stat st;
	int64_t start, ns;
	int rc;

	if (io->null)
		return 0;
	if (io_path_below(io, path, full, err))
		return -1;
	start = reel_now_ns();
	rc = stat(full, &st);
	ns = io_spent(io, start);
	LOG(io, start, ns, STAT, rc ? 0 : CALL_HAS_FILE_SIZE, full,
	    .file_size = rc ? 0 : st.st_size, .result = rc);
	io->other_calls++;
	if (rc)
		return io_failed("stat", full, err);
	*size = (uint64_t)st.st_size;
	return 0;
}

void io_isatty(struct io *io, int fd)
{
	struct termios t;
	int64_t start;

	if (io->null)
		return;
	start = reel_now_ns();
	ioctl(fd, TCGETS, &t);
	io_spent(io, start);
	io->other_calls++;
}

static void get_flags(struct io *io, int fd)
{
	int64_t start = reel_now_ns(), ns;
	int flags = fcntl(fd, F_GETFL);

	ns = io_spent(io, start);
	LOG_FD(io, start, ns, FCNTL, fd, CALL_HAS_ARG, .arg = F_GETFL,
	       .result = flags);
	io->other_calls++;
}

int io_dup(struct io *io, int fd, bool flags, struct reel_error *err)
{
	int64_t start, ns;
	int copy;

	if (io->null)
		return 0;
	start = reel_now_ns();
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, FCNTL, fd, CALL_HAS_ARG | CALL_HAS_ARG2,
	       .arg = F_DUPFD_CLOEXEC, .result = copy);
	io->other_calls++;
	if (copy >= 0 && flags)
		get_flags(io, copy);
	return copy < 0 ? io_failed_fd("copy the descriptor of", fd, err)
			: copy;
}

void io_advise(struct io *io, int fd, uint64_t offset, uint64_t n, int advice)
{
	int64_t start, ns;
	int rc;

	if (io->null)
		return;
	start = reel_now_ns();
	rc = posix_fadvise(fd, (off_t)offset, (off_t)n, advice);
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, POSIX_FADVISE, fd,
	       CALL_HAS_OFFSET | CALL_HAS_ARG | CALL_HAS_ARG2,
	       .offset = (int64_t)offset, .arg = advice, .arg2 = (int64_t)n,
	       .result = rc, .err = rc);
	io->other_calls++;
}

int io_lock(struct io *io, int fd, int how, struct reel_error *err)
{
	int64_t start, ns;
	int rc;

	if (io->null)
		return 0;
	start = reel_now_ns();
	rc = flock(fd, how);
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, FLOCK, fd, CALL_HAS_ARG, .arg = how,
	       .result = rc);
	io->other_calls++;
	return rc && errno != ENOSYS && errno != EOPNOTSUPP
		       ? io_failed_fd("lock", fd, err)
		       : 0;
}

/* One call @make that ends or syncs the writes to @fd. */
static int fd_call(struct io *io, uint16_t call, int fd, int (*make)(int))
{
	int64_t start, ns;
	int rc;

	if (io->null)
		return 0;
	start = reel_now_ns();
	rc = make(fd);
	ns = io_spent(io, start);
	if (io->log)
		call_log_add(io->log,
			     &(struct call_entry){.call = call,
						  .has = CALL_HAS_FD,
						  .start_ns = start,
						  .dur_ns = ns,
						  .fd = fd,
						  .result = rc},
			     NULL, NULL);
	io->other_calls++;
	return rc;
}

int io_fsync(struct io *io, int fd, struct reel_error *err)
{
	return fd_call(io, REEL_CALL_FSYNC, fd, fsync)
		       ? io_failed_fd("sync", fd, err)
		       : 0;
}

int io_close(struct io *io, int fd, struct reel_error *err)
{
	/* A descriptor has no name after a close, even after a failed one. */
	return fd_call(io, REEL_CALL_CLOSE, fd, close)
		       ? reel_fail(err, REEL_E_IO, "cannot close a file: %s",
				   strerror(errno))
		       : 0;
}

/* --- marks ---------------------------------------------------------------- */

void io_begin_span(struct io *io, enum reel_span span, int64_t detail)
{
	IOREEL_CALL(ioreel_span_begin, (span, detail));
	if (io->log)
		call_log_span(io->log, REEL_MARK_SPAN_BEGIN, span, detail);
}

void io_end_span(struct io *io, enum reel_span span)
{
	IOREEL_CALL(ioreel_span_end, (span));
	if (io->log)
		call_log_span(io->log, REEL_MARK_SPAN_END, span, -1);
}

/* --- writing -------------------------------------------------------------- */

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

void io_fini(struct io *io)
{
	free(io->bounce);
	io->bounce = NULL;
	io->bounce_bytes = 0;
}

/* --- calls that are made elsewhere ---------------------------------------- */

static int64_t spent_elsewhere(struct io *io, int64_t start_ns, int64_t result,
			       struct call_entry *e, const char *path)
{
	e->start_ns = start_ns;
	e->dur_ns = io_spent(io, start_ns);
	e->result = result;
	e->err = result < 0 ? EIO : 0; /* they have errors of their own */
	if (io->log)
		call_log_add(io->log, e, path, NULL);
	return e->dur_ns;
}

void io_count_read(struct io *io, int64_t start_ns, ssize_t n,
		   struct call_entry *e)
{
	count_latency(io, spent_elsewhere(io, start_ns, n, e, NULL));
	io->read_calls++;
	if (n > 0)
		io->read_bytes += (uint64_t)n;
}

void io_count_other(struct io *io, int64_t start_ns, int64_t result,
		    struct call_entry *e, const char *path)
{
	spent_elsewhere(io, start_ns, result, e, path);
	io->other_calls++;
}

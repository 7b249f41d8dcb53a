/* SPDX-License-Identifier: MIT */
/* Calls of checkpoints, counted and timed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/error.h"

#include "replay/io/io.h"
#include "replay/io/io_internal.h"

int io_create(struct io *io, const char *path, struct reel_error *err)
{
	if (io->null)
		return 0;
	return io_open_at(io, path, O_WRONLY | O_CREAT | O_TRUNC, "create",
			  err);
}

int io_write_all(struct io *io, int fd, const void *from, size_t n,
		 struct reel_error *err)
{
	const char *p = from;

	while (n && !io->null) {
		int64_t start = reel_now_ns(), ns;
		ssize_t done = write(fd, p, n);

		ns = io_spent(io, start);
		LOG_FD(io, start, ns, WRITE, fd, CALL_HAS_SIZE,
		       .size = (int64_t)n, .result = done);
		io->write_calls++;
		if (done < 0)
			return io_failed_fd("write", fd, err);
		io->write_bytes += (uint64_t)done;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* As many turns of @piece, from @at of them on, as one call takes. */
static int fill_vector(struct iovec *v, int n, const uint8_t *piece,
		       size_t piece_n, uint64_t at, uint64_t bytes)
{
	while (bytes && n < IOV_MAX) {
		size_t from = at % piece_n;
		size_t len = piece_n - from < bytes ? piece_n - from : bytes;

		v[n].iov_base = (void *)(piece + from);
		v[n++].iov_len = len;
		at += len;
		bytes -= len;
	}
	return n;
}

static int64_t bytes_of(const struct iovec *v, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += v[i].iov_len;
	return (int64_t)sum;
}

int io_write_repeated(struct io *io, int fd, const void *head, size_t head_n,
		      const void *piece, size_t piece_n, uint64_t n,
		      struct reel_error *err)
{
	uint64_t at = 0, all = head_n + n;

	while (at < all && !io->null) {
		struct iovec v[IOV_MAX];
		size_t left = at < head_n ? head_n - (size_t)at : 0;
		uint64_t of_piece = at < head_n ? 0 : at - head_n;
		int64_t start, ns;
		ssize_t done;
		int used = 0;

		if (left) {
			v[0].iov_base = (char *)head + at;
			v[used++].iov_len = left;
		}
		used = fill_vector(v, used, piece, piece_n, of_piece,
				   n - of_piece);
		start = reel_now_ns();
		done = writev(fd, v, used);
		ns = io_spent(io, start);
		LOG_FD(io, start, ns, WRITEV, fd, CALL_HAS_SIZE,
		       .size = bytes_of(v, used), .result = done);
		io->write_calls++;
		if (done < 0)
			return io_failed_fd("write", fd, err);
		io->write_bytes += (uint64_t)done;
		at += (uint64_t)done;
	}
	return 0;
}

ssize_t io_read_repeated(struct io *io, int fd, void *piece, size_t piece_n,
			 uint64_t n, int64_t offset, struct reel_error *err)
{
	struct iovec v[IOV_MAX];
	int64_t start, ns;
	ssize_t done;
	int used;

	if (io->null)
		return (ssize_t)n;
	used = fill_vector(v, 0, piece, piece_n, 0, n);
	start = reel_now_ns();
	done = offset < 0 ? readv(fd, v, used) : preadv(fd, v, used, offset);
	ns = io_spent(io, start);
	if (offset < 0)
		LOG_FD(io, start, ns, READV, fd, CALL_HAS_SIZE,
		       .size = bytes_of(v, used), .result = done);
	else
		LOG_FD(io, start, ns, PREADV, fd,
		       CALL_HAS_SIZE | CALL_HAS_OFFSET,
		       .size = bytes_of(v, used), .offset = offset,
		       .result = done);
	return io_read_done(io, fd, done, ns, err);
}

/* --- names ---------------------------------------------------------------- */

int io_rename(struct io *io, const char *from, const char *to,
	      struct reel_error *err)
{
	char a[PATH_MAX], b[PATH_MAX];
	int64_t start, ns;
	int rc;

	if (io->null)
		return 0;
	if (io_path_below(io, from, a, err) || io_path_below(io, to, b, err))
		return -1;
	start = reel_now_ns();
	rc = rename(a, b);
	ns = io_spent(io, start);
	if (io->log)
		call_log_add(io->log,
			     &(struct call_entry){.call = REEL_CALL_RENAME,
						  .start_ns = start,
						  .dur_ns = ns,
						  .result = rc},
			     a, b);
	io->other_calls++;
	return rc ? io_failed("rename", a, err) : 0;
}

/* One call @make on a path; failures with @fine or @fine_too do not count. */
static int path_call(struct io *io, uint16_t call, const char *path,
		     int (*make)(const char *), int fine, int fine_too,
		     const char *verb, struct reel_error *err)
{
	char full[PATH_MAX];
	int64_t start, ns;
	int rc;

	if (io->null)
		return 0;
	if (io_path_below(io, path, full, err))
		return -1;
	start = reel_now_ns();
	rc = make(full);
	ns = io_spent(io, start);
	if (io->log)
		call_log_add(io->log,
			     &(struct call_entry){.call = call,
						  .start_ns = start,
						  .dur_ns = ns,
						  .result = rc},
			     full, NULL);
	io->other_calls++;
	return rc && errno != fine && errno != fine_too
		       ? io_failed(verb, full, err)
		       : 0;
}

static int make_folder(const char *path)
{
	return mkdir(path, 0777);
}

static int look_for(const char *path)
{
	return access(path, F_OK);
}

int io_unlink(struct io *io, const char *path, struct reel_error *err)
{
	return path_call(io, REEL_CALL_UNLINK, path, unlink, ENOENT, ENOENT,
			 "remove", err);
}

int io_mkdir(struct io *io, const char *path, struct reel_error *err)
{
	return path_call(io, REEL_CALL_MKDIR, path, make_folder, EEXIST, EEXIST,
			 "make", err);
}

int io_rmdir(struct io *io, const char *path, struct reel_error *err)
{
	return path_call(io, REEL_CALL_RMDIR, path, rmdir, ENOTEMPTY, ENOENT,
			 "remove", err);
}

void io_access(struct io *io, const char *path)
{
	struct reel_error err = {0};

	path_call(io, REEL_CALL_ACCESS, path, look_for, ENOENT, ENOENT,
		  "look for", &err);
}

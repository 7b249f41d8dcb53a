/* SPDX-License-Identifier: MIT */
/* An object of the cache: the calls of NumPy. */
#include "replay/kvcache/object.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/error.h"

#include "replay/dataset/numpy.h"
#include "replay/io/io.h"
#include "replay/io/io_internal.h"

#define STDIO_BUFFER 4096
/* NumPy asks for the blocks of an array that is as large. */
#define ALLOCATED_BYTES (16u << 20)

uint64_t object_bytes(const struct object_shape *shape)
{
	return shape->tokens * shape->bytes_per_token;
}

/* Other failures than a full disk do not count: NumPy goes on. */
static int ask_for_blocks(struct io *io, int fd, uint64_t bytes,
			  struct reel_error *err)
{
	int64_t start, ns;
	int rc, why;

	if (io->null)
		return 0;
	start = reel_now_ns();
	rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, NUMPY_HEADER, (off_t)bytes);
	why = errno;
	ns = io_spent(io, start);
	LOG_FD(io, start, ns, FALLOCATE, fd,
	       CALL_HAS_OFFSET | CALL_HAS_ARG | CALL_HAS_ARG2,
	       .offset = NUMPY_HEADER, .arg = FALLOC_FL_KEEP_SIZE,
	       .arg2 = (int64_t)bytes, .result = rc);
	io->other_calls++;
	errno = why;
	return rc && why == ENOSPC ? io_failed_fd("write", fd, err) : 0;
}

/* fwrite() of the array through a new C FILE on a copy of the descriptor: whole
 * buffers at once, the rest when the FILE is closed. */
static int write_array(struct io *io, int fd, const uint8_t *from,
		       uint64_t bytes, struct reel_error *err)
{
	uint64_t whole = bytes / STDIO_BUFFER * STDIO_BUFFER;
	bool large = bytes >= ALLOCATED_BYTES;

	if (io_seek(io, fd, NUMPY_HEADER, SEEK_SET, err))
		return -1;
	if (large && (io_seek(io, fd, 0, SEEK_CUR, err) ||
		      ask_for_blocks(io, fd, bytes, err)))
		return -1;
	if (whole && io_write_all(io, fd, from, whole, err))
		return -1;
	if (large && io_seek(io, fd, 0, SEEK_CUR, err))
		return -1;
	return io_write_all(io, fd, from + whole, bytes - whole, err);
}

/* ndarray.tofile() */
static int write_file(struct io *io, int fd, const uint8_t *from,
		      uint64_t bytes, struct reel_error *err)
{
	uint64_t ignored;
	int copy = io_dup(io, fd, true, err), rc;

	if (copy < 0)
		return -1;
	rc = io_seek(io, copy, 0, SEEK_CUR, err) ||
	     io_seek(io, fd, 0, SEEK_CUR, err) ||
	     io_fstat(io, copy, &ignored, err) ||
	     write_array(io, copy, from, bytes, err);
	if (io_close(io, copy, err))
		rc = -1;
	return rc || io_seek(io, fd, NUMPY_HEADER, SEEK_SET, err) ||
			       io_seek(io, fd, (int64_t)(NUMPY_HEADER + bytes),
				       SEEK_SET, err)
		       ? -1
		       : 0;
}

int object_save(struct io *io, const char *path,
		const struct object_shape *shape, const void *from, bool sync,
		int64_t *sync_ns, struct reel_error *err)
{
	int fd = io_create(io, path, err), rc;
	char head[NUMPY_HEADER];
	uint64_t ignored;
	int64_t start;

	*sync_ns = 0;
	if (fd < 0)
		return -1;
	numpy_header_of_rows(shape->tokens, shape->bytes_per_token, head);
	rc = io_fstat(io, fd, &ignored, err);
	io_isatty(io, fd);
	if (!rc)
		rc = io_seek(io, fd, 0, SEEK_CUR, err) ||
		     io_write_all(io, fd, head, sizeof(head), err) ||
		     write_file(io, fd, from, object_bytes(shape), err);
	start = reel_now_ns();
	if (!rc && sync)
		rc = io_fsync(io, fd, err);
	*sync_ns = reel_now_ns() - start;
	if (io_close(io, fd, err))
		rc = -1;
	return rc ? -1 : 0;
}

int object_drop(struct io *io, const char *path, struct reel_error *err)
{
	int fd = io_open(io, path, false, err);

	if (fd < 0)
		return -1;
	io_advise(io, fd, 0, 0, POSIX_FADV_DONTNEED);
	return io_close(io, fd, err);
}

int object_load(struct io *io, const char *path,
		const struct object_shape *shape, void *to,
		struct reel_error *err)
{
	struct numpy_array a = {
		.io = io, .bytes = object_bytes(shape), .array = to};

	return numpy_load(&a, path, err);
}

/* SPDX-License-Identifier: MIT */
/* The calls of a file that Python opened. */
#include "replay/dataset/python_file.h"

#include <string.h>
#include <unistd.h>

#include "lib/error.h"

#include "replay/io/io.h"

int python_open(struct python_file *f, struct io *io, const char *path,
		uint64_t size, struct reel_error *err)
{
	f->io = io;
	f->size = size;
	f->offset = 0;
	f->at = f->n = 0;
	f->fd = io_open(io, path, true, err);
	if (f->fd < 0)
		return -1;
	if (io_fstat(io, f->fd, &f->size, err))
		return -1;
	io_isatty(io, f->fd);
	return io_seek(io, f->fd, 0, SEEK_CUR, err);
}

int python_expect(const struct python_file *f, uint64_t size,
		  struct reel_error *err)
{
	return f->size == size
		       ? 0
		       : reel_fail(err, REEL_E_FORMAT,
				   "it has %llu bytes, not %llu: it is shorter "
				   "than it was made, or of another workload",
				   (unsigned long long)f->size,
				   (unsigned long long)size);
}

/* One call; null storage ends where the file does. */
static int64_t raw_read(struct python_file *f, void *to, uint64_t n,
			struct reel_error *err)
{
	ssize_t got = io_read(f->io, f->fd, to, n, err);

	if (f->io->null && f->offset + n > f->size)
		got = f->offset < f->size ? (ssize_t)(f->size - f->offset) : 0;
	if (got > 0)
		f->offset += (uint64_t)got;
	return got;
}

int64_t python_read(struct python_file *f, void *to, uint64_t n,
		    struct reel_error *err)
{
	uint8_t *p = to;
	uint64_t left = n;
	size_t some = f->n - f->at < left ? f->n - f->at : (size_t)left;

	memcpy(p, f->buf + f->at, some);
	f->at += some;
	left -= some;
	while (left >= PYTHON_BUFFER) { /* whole buffers go past it */
		int64_t got =
			raw_read(f, p + (n - left),
				 left / PYTHON_BUFFER * PYTHON_BUFFER, err);

		if (got < 0)
			return -1;
		if (!got)
			return (int64_t)(n - left);
		left -= (uint64_t)got;
	}
	if (left)
		f->at = f->n = 0;
	/* After a short read the rest of the buffer is asked for. */
	while (left && f->n < PYTHON_BUFFER) {
		int64_t got =
			raw_read(f, f->buf + f->n, PYTHON_BUFFER - f->n, err);

		if (got < 0)
			return -1;
		if (!got)
			break;
		f->n += (size_t)got;
		some = f->n - f->at < left ? f->n - f->at : (size_t)left;
		memcpy(p + (n - left), f->buf + f->at, some);
		f->at += some;
		left -= some;
	}
	return (int64_t)(n - left);
}

int64_t python_readinto(struct python_file *f, void *to, uint64_t n,
			struct reel_error *err)
{
	uint64_t done = f->n - f->at < n ? f->n - f->at : n;

	memcpy(to, f->buf + f->at, done);
	f->at += done;
	while (n - done > PYTHON_BUFFER) {
		int64_t got = raw_read(f, (uint8_t *)to + done, n - done, err);

		if (got < 0)
			return -1;
		f->at = f->n = 0; /* it is behind us */
		if (!got)
			return (int64_t)done;
		done += (uint64_t)got;
	}
	if (done < n) {
		int64_t got =
			python_read(f, (uint8_t *)to + done, n - done, err);

		if (got < 0)
			return -1;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

/* Its raw file guesses the rest from fstat, and reads until nothing comes. */
int python_read_rest(struct python_file *f, void *to, size_t room,
		     struct reel_error *err)
{
	uint64_t size = f->size;
	size_t kept = 0;
	int64_t got = 1;

	if (io_fstat(f->io, f->fd, &size, err))
		return -1;
	while (got) {
		uint64_t guess = size > f->offset ? size - f->offset + 1 : 1;
		uint64_t ask = guess < room - kept ? guess : room - kept;

		if (!ask)
			return reel_fail(err, REEL_E_FORMAT,
					 "it is longer than it was made");
		got = raw_read(f, (uint8_t *)to + kept, ask, err);
		if (got < 0)
			return -1;
		kept += (size_t)got;
	}
	f->at = f->n = 0;
	return 0;
}

int python_seek(struct python_file *f, int64_t offset, int whence,
		struct reel_error *err)
{
	uint64_t start = f->offset - f->n; /* of the buffer */
	uint64_t here = start + f->at, to;

	if (whence == SEEK_CUR)
		to = here + (uint64_t)offset;
	else
		to = whence == SEEK_END ? f->size + (uint64_t)offset
					: (uint64_t)offset;
	if (whence != SEEK_END && f->n && to >= start && to <= start + f->n) {
		f->at = (size_t)(to - start);
		return 0;
	}
	f->at = f->n = 0;
	f->offset = to;
	return io_seek(f->io, f->fd, whence == SEEK_END ? offset : (int64_t)to,
		       whence == SEEK_END ? SEEK_END : SEEK_SET, err);
}

int python_tell(struct python_file *f, struct reel_error *err)
{
	return io_seek(f->io, f->fd, 0, SEEK_CUR, err);
}

int python_close(struct python_file *f, struct reel_error *err)
{
	return f->fd < 0 ? 0 : io_close(f->io, f->fd, err);
}

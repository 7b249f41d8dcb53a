/* SPDX-License-Identifier: MIT */
/*
 * Reads by MPI-IO: a sample is one MPI_File_read_at(), or, when all ranks read
 * together, one MPI_File_read_at_all(), at the place that the layout of the format
 * gives it; several where access.transfer_bytes limits them. An index is read whole
 * when a file is opened, the header of npy too.
 *
 * Source: MPI 3.1, chapter 13.
 */
#include "replay/mpiio/mpiio.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/clock.h"
#include "lib/error.h"

#include "replay/comm/comm.h"
#include "replay/io/call_log.h"
#include "replay/io/io.h"
#include "replay/dataset/numpy.h"
#include "replay/dataset/place.h"

#define READ_MOST (1u << 30) /* of one call */
#define OPEN_MOST 64	     /* shared files */

/* --- calls ---------------------------------------------------------------- */

/* An open file; the log has its number in place of a descriptor. */
struct handle {
	void *is;
	int32_t number;
};

static atomic_bool numbers[MPIIO_NUMBERS]; /* taken */

/* 0: all are taken, and the log lacks the file. */
static int32_t take_number(void)
{
	for (int i = 0; i < MPIIO_NUMBERS; i++)
		if (!atomic_exchange(&numbers[i], true))
			return MPIIO_NUMBER + i;
	return 0;
}

static uint16_t has_number(const struct handle *h)
{
	return h->number ? CALL_HAS_FD : 0;
}

static void watch(const struct io *io, bool on)
{
	if (io->log)
		io->files->watch(on ? io->log : NULL);
}

/* Open @path with @suffix, below the root. Gives a handle for close_file(). */
static struct handle *open_file(struct io *io, const char *path,
				const char *suffix, bool together,
				struct reel_error *err)
{
	struct call_entry e = {.call = REEL_CALL_MPI_FILE_OPEN,
			       .has = CALL_HAS_ARG | CALL_HAS_ARG2,
			       .arg = O_RDONLY};
	struct handle *h = reel_alloc(1, sizeof(*h), err);
	struct reel_buf full = REEL_BUF_INIT;

	if (h &&
	    !reel_buf_printf(&full, err, "%s/%s%s", io->root, path, suffix)) {
		int64_t start = reel_now_ns();

		watch(io, true);
		h->is = io->files->open(reel_buf_text(&full), together, err);
		watch(io, false);
		h->number = h->is && io->log ? take_number() : 0;
		e.fd = h->number;
		/* As the recorder has it. */
		e.arg2 = io->files->open_mode |
			 (int64_t)(together ? io->files->ranks : 1) << 16;
		io_count_other(io, start, h->is ? 0 : -1, &e,
			       reel_buf_text(&full));
	}
	reel_buf_fini(&full);
	if (h && !h->is) {
		free(h);
		return NULL;
	}
	return h;
}

static int close_file(struct io *io, struct handle *h, struct reel_error *err)
{
	struct call_entry e = {.call = REEL_CALL_MPI_FILE_CLOSE,
			       .has = has_number(h),
			       .fd = h->number};
	int64_t start = reel_now_ns();
	int rc;

	watch(io, true);
	rc = io->files->close(h->is, err);
	watch(io, false);
	io_count_other(io, start, rc, &e, NULL);
	if (h->number)
		atomic_store(&numbers[h->number - MPIIO_NUMBER], false);
	free(h);
	return rc;
}

static ssize_t read_at(struct io *io, struct handle *h, uint64_t offset,
		       void *to, size_t n, bool together,
		       struct reel_error *err)
{
	struct call_entry e = {.call = together ? REEL_CALL_MPI_FILE_READ_AT_ALL
						: REEL_CALL_MPI_FILE_READ_AT,
			       .has = has_number(h) | CALL_HAS_SIZE |
				      CALL_HAS_OFFSET | CALL_HAS_ARG |
				      CALL_HAS_ARG2,
			       .fd = h->number,
			       .size = (int64_t)n,
			       .offset = (int64_t)offset,
			       .arg = together ? REEL_MPI_COLLECTIVE : 0,
			       .arg2 = 1}; /* bytes of MPI_BYTE */
	int64_t start = reel_now_ns();
	ssize_t got;

	watch(io, true);
	got = io->files->read(h->is, offset, to, n, together, err);
	watch(io, false);
	io_count_read(io, start, got, &e);
	return got;
}

static uint64_t size_of(struct io *io, struct handle *h)
{
	struct call_entry e = {.call = REEL_CALL_MPI_FILE_GET_SIZE,
			       .has = has_number(h) | CALL_HAS_FILE_SIZE,
			       .fd = h->number};
	int64_t start = reel_now_ns();

	watch(io, true);
	e.file_size = (int64_t)io->files->size(h->is);
	watch(io, false);
	io_count_other(io, start, 0, &e, NULL);
	return (uint64_t)e.file_size;
}

static size_t most_of(const struct io *io)
{
	return io->transfer_bytes ? (size_t)io->transfer_bytes : READ_MOST;
}

static int too_short(uint64_t at, struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "a file of the data set is shorter than it was made "
			 "(at %llu)",
			 (unsigned long long)at);
}

/* All @n bytes at @offset, by this rank alone. */
static int read_all(struct io *io, struct handle *file, uint64_t offset,
		    uint8_t *to, uint64_t n, struct reel_error *err)
{
	for (uint64_t done = 0; done < n;) {
		uint64_t left = n - done;
		size_t want = left < most_of(io) ? (size_t)left : most_of(io);
		ssize_t got = read_at(io, file, offset + done, to + done, want,
				      false, err);

		if (got < 0)
			return -1;
		if (!got)
			return too_short(offset + done, err);
		done += (uint64_t)got;
	}
	return 0;
}

static int make_room(uint8_t **buf, uint64_t *room, uint64_t bytes,
		     struct reel_error *err)
{
	if (bytes <= *room && *buf)
		return 0;
	free(*buf);
	*room = bytes;
	*buf = malloc(bytes + 1); /* not zeroed: it may be huge */
	return *buf ? 0
		    : reel_fail(err, REEL_E_MEMORY,
				"out of memory for %llu bytes",
				(unsigned long long)bytes);
}

/* --- alone ---------------------------------------------------------------- */

struct alone {
	const struct dataset *d;
	struct io *io;
	struct handle *file;
	struct dataset_place place;
	uint64_t *offset;
	uint8_t *buf;
	uint64_t room;
};

static int mpiio_close(void *state, struct reel_error *err)
{
	struct alone *r = state;
	int rc = 0;

	if (!r)
		return 0;
	if (r->file)
		rc = close_file(r->io, r->file, err);
	free(r->offset);
	free(r->buf);
	free(r);
	return rc;
}

static int read_index(struct alone *r, const char *path, const char *suffix,
		      struct reel_error *err)
{
	uint64_t bytes = 8 * r->d->samples_per_file;
	struct handle *file;
	int rc;

	if (make_room(&r->buf, &r->room, bytes, err))
		return -1;
	file = open_file(r->io, path, suffix, false, err);
	if (!file)
		return -1;
	rc = read_all(r->io, file, 0, r->buf, bytes, err);
	if (close_file(r->io, file, rc ? NULL : err))
		rc = -1;
	return rc;
}

static int open_alone(struct alone *r, const char *path, struct reel_error *err)
{
	int format = r->d->is->format;
	uint8_t header[NUMPY_HEADER];

	if (format == WORKLOAD_INDEXED &&
	    (read_index(r, path, ".off.idx", err) ||
	     read_index(r, path, ".sz.idx", err)))
		return -1;
	r->file = open_file(r->io, path, "", false, err);
	if (!r->file)
		return -1;
	return format == WORKLOAD_NPY
		       ? read_all(r->io, r->file, 0, header, NUMPY_HEADER, err)
		       : 0;
}

static int mpiio_open(void **state, const struct dataset *d, uint64_t file,
		      struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct alone *r = reel_alloc(1, sizeof(*r), err);
	int rc = io->null ? 0 : -1;

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	if (!io->null && !dataset_path(d, file, &path, err))
		rc = open_alone(r, reel_buf_text(&path), err) ||
				     dataset_offsets(d, file, io, &r->offset,
						     err)
			     ? -1
			     : 0;
	reel_buf_fini(&path);
	if (rc) {
		mpiio_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

static int mpiio_read(void *state, uint64_t sample, struct format_sample *out,
		      struct reel_error *err)
{
	struct alone *r = state;

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = UINT64_MAX;
	if (r->io->null)
		return 0;
	if (make_room(&r->buf, &r->room, out->bytes, err) ||
	    read_all(r->io, r->file,
		     dataset_place_of(r->d, &r->place, r->offset, sample),
		     r->buf, out->bytes, err))
		return -1;
	out->number = dataset_payload_number(r->buf, out->bytes);
	return 0;
}

const struct format format_mpiio = {
	.name = "mpiio",
	.suffix = "",
	.any_order = true,
	.open = mpiio_open,
	.read = mpiio_read,
	.close = mpiio_close,
};

/* --- together ------------------------------------------------------------- */

/* The ranks open and close the same files in the same order, as each knows the
 * samples of all. */
struct mpiio_shared {
	const struct dataset *d;
	struct io *io;
	struct shared_file {
		struct handle *file; /* NULL: none */
		uint64_t number;
		uint64_t *offset; /* NULL: by the layout */
	} open[OPEN_MOST];
	unsigned int oldest;
	struct dataset_place place;
	uint8_t *buf;
	uint64_t room;
};

int mpiio_shared_new(struct mpiio_shared **out, const struct dataset *d,
		     struct io *io, struct reel_error *err)
{
	*out = reel_alloc(1, sizeof(**out), err);
	if (!*out)
		return -1;
	(*out)->d = d;
	(*out)->io = io;
	return 0;
}

/* A collective read of Open MPI counts bytes that are behind the end. */
static bool is_whole(struct mpiio_shared *s, const struct shared_file *f,
		     struct reel_error *err)
{
	uint64_t last = (f->number + 1) * s->d->samples_per_file - 1;
	uint64_t end = dataset_place_of(s->d, &s->place, f->offset, last) +
		       dataset_sample_bytes(s->d, last);
	uint64_t size = size_of(s->io, f->file);

	if (size < end)
		too_short(size, err);
	return size >= end;
}

static int close_shared(struct mpiio_shared *s, struct shared_file *f,
			struct reel_error *err)
{
	int rc = f->file ? close_file(s->io, f->file, err) : 0;

	free(f->offset);
	memset(f, 0, sizeof(*f));
	return rc;
}

/* The file @number, open on all ranks; NULL with @err. A rank for which it is
 * damaged has *@bad, and makes the calls nevertheless. */
static struct shared_file *shared_file(struct mpiio_shared *s, uint64_t number,
				       bool *bad, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct shared_file *f = s->open;

	for (; f < s->open + OPEN_MOST; f++)
		if (f->file && f->number == number)
			return f;
	f = &s->open[s->oldest];
	s->oldest = (s->oldest + 1) % OPEN_MOST;
	close_shared(s, f, err);
	f->number = number;
	if (!dataset_path(s->d, number, &path, err))
		f->file = open_file(s->io, reel_buf_text(&path), "", true, err);
	reel_buf_fini(&path);
	if (!f->file)
		return NULL;
	*bad = dataset_offsets(s->d, number, s->io, &f->offset, err) ||
	       !is_whole(s, f, err);
	return f;
}

static uint64_t file_of(const struct mpiio_shared *s, uint64_t sample)
{
	return sample == MPIIO_NONE ? MPIIO_NONE
				    : sample / s->d->samples_per_file;
}

/* Calls that the rank with the largest sample in @file makes. */
static uint64_t calls_in(const struct mpiio_shared *s, const uint64_t *sample,
			 int ranks, uint64_t file)
{
	uint64_t most = 0;

	for (int i = 0; i < ranks; i++)
		if (file_of(s, sample[i]) == file) {
			uint64_t n = dataset_sample_bytes(s->d, sample[i]);

			most = n > most ? n : most;
		}
	return (most + most_of(s->io) - 1) / most_of(s->io);
}

/* @calls reads of the ranks together: of @n bytes at @offset, then of none. */
static int read_together(struct mpiio_shared *s, struct handle *file,
			 uint64_t offset, uint64_t n, uint64_t calls,
			 struct reel_error *err)
{
	uint64_t done = 0;
	int rc = 0;

	for (uint64_t i = 0; i < calls; i++) {
		uint64_t left = rc ? 0 : n - done;
		size_t most = most_of(s->io);
		size_t want = left < most ? (size_t)left : most;
		ssize_t got = read_at(s->io, file, offset + done, s->buf + done,
				      want, true, err);

		if (got < 0)
			rc = -1;
		else if ((size_t)got < want)
			rc = too_short(offset + done + (uint64_t)got, err);
		else
			done += (uint64_t)got;
	}
	return rc;
}

int mpiio_shared_read(struct mpiio_shared *s, const uint64_t *sample, int ranks,
		      int rank, struct format_sample *out,
		      struct reel_error *err)
{
	uint64_t mine = sample[rank], own = file_of(s, mine);
	int rc = 0;

	out->number = UINT64_MAX;
	out->bytes = mine == MPIIO_NONE ? 0 : dataset_sample_bytes(s->d, mine);
	if (s->io->null)
		return 0;
	if (make_room(&s->buf, &s->room, out->bytes, err))
		rc = -1; /* the others wait for the calls of this rank */
	for (int i = 0; i < ranks; i++) {
		uint64_t file = file_of(s, sample[i]), n;
		bool seen = file == MPIIO_NONE;
		struct shared_file *open;
		bool bad = false;

		for (int j = 0; j < i; j++)
			seen = seen || file_of(s, sample[j]) == file;
		if (seen)
			continue;
		open = shared_file(s, file, &bad, err);
		if (!open || bad)
			rc = -1;
		n = file == own && !rc ? out->bytes : 0;
		if (open &&
		    read_together(s, open->file,
				  n ? dataset_place_of(s->d, &s->place,
						       open->offset, mine)
				    : 0,
				  n, calls_in(s, sample, ranks, file), err))
			rc = -1;
	}
	if (!rc && mine != MPIIO_NONE)
		out->number = dataset_payload_number(s->buf, out->bytes);
	return rc;
}

int mpiio_shared_free(struct mpiio_shared *s, struct reel_error *err)
{
	int rc = 0;

	for (unsigned int i = 0; s && i < OPEN_MOST; i++)
		if (close_shared(s, &s->open[i], err))
			rc = -1;
	if (s)
		free(s->buf);
	free(s);
	return rc;
}

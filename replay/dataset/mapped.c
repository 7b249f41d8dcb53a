/* SPDX-License-Identifier: MIT */
/*
 * Files that are mapped in place of a format's reader, as numpy.memmap(), np.load()
 * with mmap_mode="r", and the token files of language models: a sample is loaded from
 * each page of its bytes, in any order. The kernel reads what is not in memory, with
 * the pages around it.
 *
 * The mapping of a file stays as long as the reader keeps the file open.
 *
 * Source: strace of NumPy 2.4 with CPython 3.11.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/formats.h"
#include "replay/dataset/numpy.h"
#include "replay/dataset/place.h"
#include "replay/dataset/python_file.h"
#include "replay/io/io.h"

enum { DATA, OFFSETS, SIZES, PARTS }; /* the last two of indexed */

struct part {
	int fd; /* a copy, which lives as long as the mapping */
	struct io_mapping map;
};

struct mapped {
	const struct dataset *d;
	struct io *io;
	struct part part[PARTS];
	struct python_file f;
	uint64_t first; /* sample of the file */
	struct dataset_place place;
};

static int mapped_close(void *state, struct reel_error *err)
{
	struct mapped *r = state;
	int rc = 0;

	if (!r)
		return 0;
	for (int i = PARTS; i--;) {
		struct part *p = &r->part[i];

		if (p->fd < 0)
			continue;
		io_unmap(r->io, p->fd, &p->map);
		if (io_close(r->io, p->fd, rc ? NULL : err))
			rc = -1;
	}
	free(r);
	return rc;
}

static int too_short(uint64_t size, struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "it is shorter than it was made: %llu bytes",
			 (unsigned long long)size);
}

/* numpy.memmap(@path). */
static int map_file(struct mapped *r, const char *path, struct part *p,
		    struct reel_error *err)
{
	struct python_file *f = &r->f;
	int rc = -1;

	if (python_open(f, r->io, path, 0, err))
		return -1;
	if (io_seek(r->io, f->fd, 0, SEEK_END, err) ||
	    io_tell(r->io, f->fd, err) < 0 ||
	    io_fstat(r->io, f->fd, &f->size, err))
		goto out;
	if (!f->size) {
		too_short(0, err);
		goto out;
	}
	p->fd = io_dup(r->io, f->fd, false, err);
	if (p->fd >= 0)
		rc = io_map(r->io, f->fd, f->size, IO_MAP_SHARED, &p->map, err);
out:
	if (python_close(f, rc ? NULL : err))
		rc = -1;
	return rc;
}

/* The header of an array, by a file of its own, which stays open. */
static int open_header(struct python_file *f, struct io *io, const char *path,
		       struct reel_error *err)
{
	char head[NUMPY_HEADER];

	return python_open(f, io, path, 0, err) ||
			       python_read(f, head, sizeof(head), err) < 0
		       ? -1
		       : 0;
}

/* np.load() finds out what the file is, then opens it again for the header, and a third
 * time for the mapping. */
static int map_array(struct mapped *r, const char *path, struct reel_error *err)
{
	struct python_file *f = reel_alloc(2, sizeof(*f), err);
	int rc = -1;

	if (!f)
		return -1;
	f[0].fd = f[1].fd = -1;
	if (!open_header(&f[0], r->io, path, err) &&
	    !open_header(&f[1], r->io, path, err) && !python_tell(&f[1], err))
		rc = 0;
	if (f[1].fd >= 0 && python_close(&f[1], rc ? NULL : err))
		rc = -1;
	if (!rc)
		rc = map_file(r, path, &r->part[DATA], err);
	if (f[0].fd >= 0 && python_close(&f[0], rc ? NULL : err))
		rc = -1;
	free(f);
	return rc;
}

static int open_parts(struct mapped *r, const char *path,
		      struct reel_error *err)
{
	static const char *const suffix[PARTS] = {"", ".off.idx", ".sz.idx"};
	int parts = r->d->is->format == WORKLOAD_INDEXED ? PARTS : 1, rc = 0;
	struct reel_buf name = REEL_BUF_INIT;

	if (r->d->is->format == WORKLOAD_NPY)
		return map_array(r, path, err);
	for (int i = parts; !rc && i--;) {
		reel_buf_reset(&name);
		rc = reel_buf_printf(&name, err, "%s%s", path, suffix[i]) ||
				     map_file(r, reel_buf_text(&name),
					      &r->part[i], err)
			     ? -1
			     : 0;
	}
	reel_buf_fini(&name);
	return rc;
}

static int mapped_open(void **state, const struct dataset *d, uint64_t file,
		       struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct mapped *r = reel_alloc(1, sizeof(*r), err);
	int rc = io->null ? 0 : -1;

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	r->first = file * d->samples_per_file;
	for (int i = 0; i < PARTS; i++)
		r->part[i].fd = -1;
	if (!io->null && !dataset_path(d, file, &path, err))
		rc = open_parts(r, reel_buf_text(&path), err);
	reel_buf_fini(&path);
	if (rc) {
		mapped_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

/* Number @i of the index @part. 0 or -1. */
static int number_of(struct mapped *r, int part, uint64_t i, uint64_t *out,
		     struct reel_error *err)
{
	struct io_mapping *m = &r->part[part].map;

	if (m->n < 8 * (i + 1))
		return too_short(m->n, err);
	io_touch(r->io, m, 8 * i, 8);
	memcpy(out, m->at + 8 * i, sizeof(*out));
	*out = le64toh(*out);
	return 0;
}

static int mapped_read(void *state, uint64_t sample, struct format_sample *out,
		       struct reel_error *err)
{
	struct mapped *r = state;
	struct io_mapping *m = &r->part[DATA].map;
	uint64_t offset, size = dataset_sample_bytes(r->d, sample);

	out->bytes = size;
	out->number = UINT64_MAX;
	if (r->io->null)
		return 0;
	offset = dataset_place_of(r->d, &r->place, NULL, sample);
	if (r->d->is->format == WORKLOAD_INDEXED &&
	    (number_of(r, OFFSETS, sample - r->first, &offset, err) ||
	     number_of(r, SIZES, sample - r->first, &size, err)))
		return -1;
	if (size != out->bytes)
		return reel_fail(err, REEL_E_FORMAT,
				 "its index gives a sample %llu bytes, not "
				 "%llu: it is of another workload",
				 (unsigned long long)size,
				 (unsigned long long)out->bytes);
	if (offset > m->n || size > m->n - offset)
		return too_short(m->n, err);
	io_touch(r->io, m, offset, size);
	out->number = dataset_payload_number(m->at + offset, size);
	return 0;
}

bool mapped_reads(const struct workload_dataset *d)
{
	return d->format == WORKLOAD_RAW || d->format == WORKLOAD_INDEXED ||
	       d->format == WORKLOAD_NPY;
}

const struct format format_mapped = {
	.name = "mapped",
	.suffix = "",
	.any_order = true,
	.open = mapped_open,
	.read = mapped_read,
	.close = mapped_close,
};

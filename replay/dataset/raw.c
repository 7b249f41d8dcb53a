/* SPDX-License-Identifier: MIT */
/* Raw: the payloads of the samples, one after another. */
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/io/io.h"

#define PIECE (1u << 20) /* of one read, when the workload says nothing */

static int raw_write(const struct dataset *d, uint64_t file, const char *path,
		     struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file;
	struct file_out out;

	if (file_out_open(&out, path, err))
		return -1;
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		file_out_payload(&out, d, first + i, 0,
				 dataset_sample_bytes(d, first + i));
	return file_out_close(&out, err);
}

static uint64_t raw_disk_bytes(const struct dataset *d, uint64_t file)
{
	return dataset_file_bytes(d, file);
}

struct raw {
	const struct dataset *d;
	struct io *io;
	int fd;
	uint64_t first;		/* sample of the file */
	uint64_t at, at_offset; /* where the last look-up ended */
};

static int raw_close(void *state, struct reel_error *err)
{
	struct raw *r = state;
	int rc = 0;

	if (!r)
		return 0;
	if (r->fd >= 0)
		rc = io_close(r->io, r->fd, err);
	free(r);
	return rc;
}

static int raw_open(void **state, const struct dataset *d, uint64_t file,
		    struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct raw *r = reel_alloc(1, sizeof(*r), err);
	size_t piece = io->transfer_bytes ? (size_t)io->transfer_bytes : PIECE;

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	r->first = r->at = file * d->samples_per_file;
	r->fd = -1;
	if (!io_room(io, piece + (size_t)2 * IO_BLOCK, err) &&
	    !dataset_path(d, file, &path, err))
		r->fd = io_open(io, reel_buf_text(&path), true, err);
	reel_buf_fini(&path);
	if (r->fd < 0) {
		raw_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

/* Samples are of any size: their offsets are added up from where we are. */
static uint64_t offset_of(struct raw *r, uint64_t sample)
{
	if (r->d->sample_bytes->n == 1)
		return (sample - r->first) * dataset_sample_bytes(r->d, sample);
	if (sample < r->at) {
		r->at = r->first;
		r->at_offset = 0;
	}
	for (; r->at < sample; r->at++)
		r->at_offset += dataset_sample_bytes(r->d, r->at);
	return r->at_offset;
}

/* Read [@offset, @offset + @n); O_DIRECT reads whole sectors around it. */
static int read_range(struct raw *r, uint64_t offset, uint64_t n,
		      uint64_t *number, struct reel_error *err)
{
	size_t piece =
		r->io->transfer_bytes ? (size_t)r->io->transfer_bytes : PIECE;
	uint8_t *buf = r->io->bounce;
	uint64_t done = 0;

	while (done < n) {
		uint64_t from = offset + done, skip = 0;
		size_t want = n - done < piece ? (size_t)(n - done) : piece;
		ssize_t got;

		if (r->io->direct) {
			skip = from % IO_BLOCK;
			want = (want + skip + IO_BLOCK - 1) / IO_BLOCK *
			       IO_BLOCK;
		}
		got = io_pread(r->io, r->fd, buf, want, from - skip, err);
		if (got < 0)
			return -1;
		if ((uint64_t)got <= skip)
			return reel_fail(err, REEL_E_FORMAT,
					 "it is shorter than it was made (at "
					 "%llu), or of another workload",
					 (unsigned long long)from);
		if (!done)
			*number = dataset_payload_number(
				buf + skip, (size_t)(got - (ssize_t)skip));
		done += (uint64_t)got - skip;
	}
	return 0;
}

static int raw_read(void *state, uint64_t sample, struct format_sample *out,
		    struct reel_error *err)
{
	struct raw *r = state;

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = UINT64_MAX;
	return read_range(r, offset_of(r, sample), out->bytes, &out->number,
			  err);
}

const struct format format_raw = {
	.name = "raw",
	.suffix = "bin",
	.any_order = true,
	.write = raw_write,
	.disk_bytes = raw_disk_bytes,
	.file_bytes = raw_disk_bytes,
	.open = raw_open,
	.read = raw_read,
	.close = raw_close,
};

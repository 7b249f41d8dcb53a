/* SPDX-License-Identifier: MIT */
/*
 * The reader is pyarrow: ParquetFile(path), and for each row group
 * read_row_group(i, columns=those that are read): the footer from the last 64 KiB, in
 * a second read where it is larger; the chunks of the columns in reads that also
 * take the gaps up to 8 KiB between them, up to 32 MiB, each announced by
 * posix_fadvise(). pyarrow makes the reads of a row group in the threads of its pool,
 * at the same time; here they follow one another.
 *
 * Source: strace of pyarrow 26.
 */
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/codec/thrift.h"
#include "replay/dataset/format.h"
#include "replay/io/io.h"
#include "replay/dataset/parquet.h"

#define FOOTER_READ 65536
#define HOLE 8192	  /* that a read takes with it */
#define RANGE (32u << 20) /* of several chunks */
struct range {
	uint64_t offset, bytes;
};

struct parquet {
	const struct dataset *d;
	struct io *io;
	int fd;
	uint64_t group, group_end, end; /* samples: of the group; of the file */
	uint64_t offset;		/* of the next group */
	struct range *range;
	uint32_t ranges, room;
	uint8_t *buf;
	uint64_t buf_bytes;
	uint64_t *number; /* of the rows of the group */
};

int parquet_close(void *state, struct reel_error *err)
{
	struct parquet *r = state;
	int rc = 0;

	if (!r)
		return 0;
	if (r->fd >= 0)
		rc = io_close(r->io, r->fd, err);
	free(r->range);
	free(r->buf);
	free(r->number);
	free(r);
	return rc;
}

static int make_room(struct parquet *r, uint64_t bytes, struct reel_error *err)
{
	if (bytes <= r->buf_bytes)
		return 0;
	free(r->buf);
	r->buf_bytes = 0;
	r->buf = malloc(bytes); /* not zeroed: it may be huge */
	if (!r->buf)
		return reel_fail(err, REEL_E_MEMORY,
				 "out of memory for %llu bytes",
				 (unsigned long long)bytes);
	r->buf_bytes = bytes;
	return 0;
}

static int read_range(struct parquet *r, struct range range,
		      struct reel_error *err)
{
	if (make_room(r, range.bytes, err))
		return -1;
	for (uint64_t done = 0; done < range.bytes;) {
		ssize_t got =
			io_pread(r->io, r->fd, r->buf + done,
				 range.bytes - done, range.offset + done, err);

		if (got < 0)
			return -1;
		if (!got)
			return reel_fail(
				err, REEL_E_FORMAT,
				"it is shorter than it was made (at %llu)",
				(unsigned long long)(range.offset + done));
		done += (uint64_t)got;
	}
	return 0;
}

/* The tail, and the footer where that is not within it. */
static int read_footer(struct parquet *r, uint64_t size, struct reel_error *err)
{
	uint64_t n = size < FOOTER_READ ? size : FOOTER_READ;
	uint32_t bytes;

	if (n < PARQUET_TAIL + strlen(PARQUET_MAGIC))
		return reel_fail(err, REEL_E_FORMAT,
				 "it is shorter than it was made: %llu bytes",
				 (unsigned long long)size);
	if (read_range(r, (struct range){size - n, n}, err))
		return -1;
	memcpy(&bytes, r->buf + n - PARQUET_TAIL, sizeof(bytes));
	bytes = le32toh(bytes);
	if (memcmp(r->buf + n - 4, PARQUET_MAGIC, 4) ||
	    bytes > size - PARQUET_TAIL - strlen(PARQUET_MAGIC))
		return reel_fail(
			err, REEL_E_FORMAT,
			"it has no footer of Parquet at its end: it is "
			"shorter than it was made");
	if (bytes + PARQUET_TAIL <= n)
		return 0;
	return read_range(r, (struct range){size - PARQUET_TAIL - bytes, bytes},
			  err);
}

int parquet_open(void **state, const struct dataset *d, uint64_t file,
		 struct io *io, struct reel_error *err)
{
	struct parquet *r = reel_alloc(1, sizeof(*r), err);
	struct reel_buf path = REEL_BUF_INIT;
	uint64_t size = 0, ignored = 0;
	int rc = -1;

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	r->fd = -1;
	r->group = r->group_end = file * d->samples_per_file;
	r->end = r->group + d->samples_per_file;
	r->offset = strlen(PARQUET_MAGIC);
	r->number =
		reel_alloc(parquet_group_rows(d, d->samples_per_file), 8, err);
	if (r->number && io->null)
		rc = 0;
	else if (r->number && !dataset_path(d, file, &path, err) &&
		 !io_stat(io, reel_buf_text(&path), &ignored, err)) {
		r->fd = io_open(io, reel_buf_text(&path), true, err);
		if (r->fd >= 0 && !io_fstat(io, r->fd, &size, err) &&
		    !io_fstat(io, r->fd, &ignored, err))
			rc = read_footer(r, size, err);
	}
	reel_buf_fini(&path);
	if (rc) {
		parquet_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

/* A chunk joins the range before it, if it is near and both are not too large. */
static int add_range(struct parquet *r, uint64_t offset, uint64_t bytes,
		     struct reel_error *err)
{
	struct range *last = r->ranges ? &r->range[r->ranges - 1] : NULL;

	if (last && offset + bytes - last->offset <= RANGE &&
	    offset <= last->offset + last->bytes + HOLE) {
		last->bytes = offset + bytes - last->offset;
		return 0;
	}
	if (reel_array_reach(&r->range, &r->room, r->ranges, sizeof(*last),
			     err))
		return -1;
	r->range[r->ranges++] = (struct range){offset, bytes};
	return 0;
}

static int group_ranges(struct parquet *r, struct reel_error *err)
{
	uint64_t rows = r->group_end - r->group;
	struct parquet_kind k;

	r->ranges = 0;
	for (uint32_t i = 0; parquet_next_kind(r->d, i, &k); i++) {
		uint64_t bytes = parquet_chunk_bytes(r->d, &k, r->group, rows);

		for (uint64_t c = 0; k.read && c < k.count; c++)
			if (add_range(r, r->offset + c * bytes, bytes, err))
				return -1;
		r->offset += k.count * bytes;
	}
	return 0;
}

/* The pages of the first column, which are at the start of the first range. */
static void take_numbers(struct parquet *r)
{
	uint64_t rows = r->group_end - r->group, done = 0, at = 0;
	struct thrift_out o;
	struct parquet_kind k;

	parquet_next_kind(r->d, 0, &k);
	for (struct parquet_page p; done < rows; done += p.rows) {
		p = parquet_page_of(r->d, &k, r->group + done, rows - done);
		parquet_page_header(&o, p);
		at += o.n;
		memcpy(r->number + done, r->buf + at, p.bytes);
		at += p.bytes;
	}
}

static int read_group(struct parquet *r, struct reel_error *err)
{
	r->group = r->group_end;
	r->group_end += parquet_group_rows(r->d, r->end - r->group);
	if (r->io->null)
		return 0;
	if (group_ranges(r, err))
		return -1;
	for (uint32_t i = 0; i < r->ranges; i++)
		io_advise(r->io, r->fd, r->range[i].offset, r->range[i].bytes,
			  POSIX_FADV_WILLNEED);
	for (uint32_t i = 0; i < r->ranges; i++) {
		if (read_range(r, r->range[i], err))
			return -1;
		if (!i)
			take_numbers(r);
	}
	return 0;
}

int parquet_read(void *state, uint64_t sample, struct format_sample *out,
		 struct reel_error *err)
{
	struct parquet *r = state;

	if (sample == r->group_end && read_group(r, err))
		return -1;
	out->bytes = parquet_row_bytes(r->d, sample);
	out->number = r->io->null ? UINT64_MAX
				  : le64toh(r->number[sample - r->group]);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * safetensors: the length of a header, the header in JSON, tensors. A sample is the
 * tensor "sample_NNNNNNNN" of its bytes.
 *
 * The reader is safe_open(path, framework="pt"), and get_tensor() for each sample,
 * of which every byte is used: the library maps the file for the header, and PyTorch
 * maps it again for the tensors. There are no read calls: the kernel reads when pages
 * of the mapping are touched.
 *
 * Source: the description of the format in safetensors' README; strace of
 * safetensors 0.8 and PyTorch 2.13.
 */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/io/io.h"

#define LENGTH 8
#define HEADER_MOST 100000000 /* that the library takes */
#define ENTRY_MOST 160	      /* bytes of a tensor in the header */

/* Append the header of @n samples from @first on. */
static int header_of(const struct dataset *d, uint64_t first, uint64_t n,
		     struct reel_buf *out, struct reel_error *err)
{
	uint64_t offset = 0;
	int rc = reel_buf_puts(out, "{", err);

	for (uint64_t i = 0; !rc && i < n; i++) {
		uint64_t bytes = dataset_sample_bytes(d, first + i);

		rc = reel_buf_printf(
			out, err,
			"%s\"sample_%08llu\":{\"dtype\":\"U8\",\"shape\":[%llu]"
			",\"data_offsets\":[%llu,%llu]}",
			i ? "," : "", (unsigned long long)(first + i),
			(unsigned long long)bytes, (unsigned long long)offset,
			(unsigned long long)(offset + bytes));
		offset += bytes;
		if (!rc && out->len > HEADER_MOST)
			rc = reel_fail(err, REEL_E_USAGE,
				       "dataset.samples_per_file: the header "
				       "of a safetensors file has at most "
				       "%d bytes",
				       HEADER_MOST);
	}
	if (!rc)
		rc = reel_buf_puts(out, "}", err);
	while (!rc && out->len % LENGTH) /* tensors begin at words */
		rc = reel_buf_puts(out, " ", err);
	return rc;
}

static int safetensors_write(const struct dataset *d, uint64_t file,
			     const char *path, struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file;
	struct reel_buf header = REEL_BUF_INIT;
	struct file_out out;
	int rc = -1;

	if (header_of(d, first, d->samples_per_file, &header, err) ||
	    file_out_open(&out, path, err))
		goto out;
	file_out_u64(&out, header.len);
	file_out_put(&out, header.data, header.len);
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		file_out_payload(&out, d, first + i, 0,
				 dataset_sample_bytes(d, first + i));
	rc = file_out_close(&out, err);
out:
	reel_buf_fini(&header);
	return rc;
}

static uint64_t safetensors_disk_bytes(const struct dataset *d, uint64_t file)
{
	return dataset_file_bytes(d, file) + 2 * LENGTH +
	       d->samples_per_file * ENTRY_MOST;
}

/* --- the reader ----------------------------------------------------------- */

struct safetensors {
	const struct dataset *d;
	struct io *io;
	int fd;
	uint64_t first, size; /* sample of the file; bytes of the file */
	struct io_mapping header, tensors;
	uint64_t *offset; /* of each sample, in the file */
};

static int safetensors_close(void *state, struct reel_error *err)
{
	struct safetensors *r = state;
	int rc = 0;

	if (!r)
		return 0;
	io_unmap(r->io, r->fd, &r->tensors);
	io_unmap(r->io, r->fd, &r->header);
	if (r->fd >= 0)
		rc = io_close(r->io, r->fd, err);
	free(r->offset);
	free(r);
	return rc;
}

static int too_short(const struct safetensors *r, struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "it is shorter than it was made: %llu bytes",
			 (unsigned long long)r->size);
}

/* Open and map the file. *@fd stays open. */
static int map_file(struct safetensors *r, const char *path,
		    enum io_map_how how, int *fd, struct io_mapping *m,
		    struct reel_error *err)
{
	*fd = io_open(r->io, path, false, err);
	if (*fd < 0 || io_fstat(r->io, *fd, &r->size, err))
		return -1;
	if (!r->size)
		return too_short(r, err);
	return io_map(r->io, *fd, r->size, how, m, err);
}

/* Does the file have the header of the data set, and all of the tensors? */
static int check_header(struct safetensors *r, uint64_t bytes,
			struct reel_error *err)
{
	struct reel_buf header = REEL_BUF_INIT;
	uint64_t length, n = r->d->samples_per_file;
	int rc = -1;

	if (header_of(r->d, r->first, n, &header, err))
		goto out;
	if (r->size < LENGTH + header.len) {
		too_short(r, err);
		goto out;
	}
	io_touch(r->io, &r->header, 0, LENGTH + header.len);
	memcpy(&length, r->header.at, sizeof(length));
	if (le64toh(length) != header.len ||
	    memcmp(r->header.at + LENGTH, header.data, header.len)) {
		reel_fail(err, REEL_E_FORMAT,
			  "it has another header: the data set is of another "
			  "workload");
		goto out;
	}
	if (r->size < LENGTH + header.len + bytes) {
		too_short(r, err);
		goto out;
	}
	r->offset[0] = LENGTH + header.len;
	for (uint64_t i = 1; i < n; i++)
		r->offset[i] = r->offset[i - 1] +
			       dataset_sample_bytes(r->d, r->first + i - 1);
	rc = 0;
out:
	reel_buf_fini(&header);
	return rc;
}

static int load(struct safetensors *r, uint64_t file, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	int second = -1, rc = -1;
	uint64_t size;

	r->offset = reel_alloc(r->d->samples_per_file, 8, err);
	if (!r->offset || dataset_path(r->d, file, &path, err))
		goto out;
	if (map_file(r, reel_buf_text(&path), IO_MAP_PRIVATE, &r->fd,
		     &r->header, err) ||
	    check_header(r, dataset_file_bytes(r->d, file), err))
		goto out;
	size = r->size;
	rc = map_file(r, reel_buf_text(&path), IO_MAP_WRITABLE, &second,
		      &r->tensors, err);
	if (!rc && r->size != size)
		rc = reel_fail(err, REEL_E_FORMAT,
			       "it changes while it is read");
	else if (!rc)
		io_advise(r->io, second, 0, size, POSIX_FADV_SEQUENTIAL);
	if (second >= 0 && io_close(r->io, second, err))
		rc = -1;
out:
	reel_buf_fini(&path);
	return rc;
}

static int safetensors_open(void **state, const struct dataset *d,
			    uint64_t file, struct io *io,
			    struct reel_error *err)
{
	struct safetensors *r = reel_alloc(1, sizeof(*r), err);

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	r->fd = -1;
	r->first = file * d->samples_per_file;
	if (!io->null && load(r, file, err)) {
		safetensors_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

static int safetensors_read(void *state, uint64_t sample,
			    struct format_sample *out, struct reel_error *err)
{
	struct safetensors *r = state;
	uint64_t offset;

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = UINT64_MAX;
	if (r->io->null)
		return 0;
	offset = r->offset[sample - r->first];
	io_touch(r->io, &r->tensors, offset, out->bytes);
	out->number =
		dataset_payload_number(r->tensors.at + offset, out->bytes);
	return 0;
}

const struct format format_safetensors = {
	.name = "safetensors",
	.suffix = "safetensors",
	.any_order = true,
	.write = safetensors_write,
	.disk_bytes = safetensors_disk_bytes,
	.open = safetensors_open,
	.read = safetensors_read,
	.close = safetensors_close,
};

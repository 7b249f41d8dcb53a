/* SPDX-License-Identifier: MIT */
/*
 * NumPy's npy: a header of 128 bytes, then the array.
 *
 * The reader is np.load(path): Python opens the file and looks at its first bytes;
 * np.fromfile() reads the array through a C FILE on a copy of the descriptor.
 *
 * Source: numpy.lib.format's description of the format; strace of NumPy 2.4.
 */
#include "replay/dataset/numpy.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/io/io.h"
#include "replay/dataset/python_file.h"

#define STDIO_BUFFER 4096

static void header(char out[static NUMPY_HEADER], const char *type,
		   const char *shape)
{
	static const char magic[] = "\x93NUMPY\x01\x00\x76"; /* and a 0 */
	char text[NUMPY_HEADER];
	int n = snprintf(
		text, sizeof(text),
		"{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type,
		shape);

	memset(out, ' ', NUMPY_HEADER);
	memcpy(out, magic, 10);
	memcpy(out + 10, text, (size_t)n);
	out[NUMPY_HEADER - 1] = '\n';
}

void numpy_header_of_file(const struct dataset *d, uint64_t file,
			  char out[static NUMPY_HEADER])
{
	uint64_t bytes = dataset_file_bytes(d, file);
	char shape[64];

	if (d->samples_per_file > 1 && d->sample_bytes->n == 1)
		snprintf(shape, sizeof(shape), "(%llu, %llu)",
			 (unsigned long long)d->samples_per_file,
			 (unsigned long long)(bytes / d->samples_per_file));
	else
		snprintf(shape, sizeof(shape), "(%llu,)",
			 (unsigned long long)bytes);
	header(out, "|u1", shape);
}

void numpy_header_of_numbers(uint64_t n, char out[static NUMPY_HEADER])
{
	char shape[32];

	snprintf(shape, sizeof(shape), "(%llu,)", (unsigned long long)n);
	header(out, "<i8", shape);
}

void numpy_header_of_rows(uint64_t rows, uint64_t bytes,
			  char out[static NUMPY_HEADER])
{
	char shape[64];

	snprintf(shape, sizeof(shape), "(%llu, %llu)", (unsigned long long)rows,
		 (unsigned long long)bytes);
	header(out, "|u1", shape);
}

/* --- npy ------------------------------------------------------------------ */

static int npy_write(const struct dataset *d, uint64_t file, const char *path,
		     struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file;
	char head[NUMPY_HEADER];
	struct file_out out;

	if (file_out_open(&out, path, err))
		return -1;
	numpy_header_of_file(d, file, head);
	file_out_put(&out, head, sizeof(head));
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		file_out_payload(&out, d, first + i, 0,
				 dataset_sample_bytes(d, first + i));
	return file_out_close(&out, err);
}

static uint64_t npy_disk_bytes(const struct dataset *d, uint64_t file)
{
	return NUMPY_HEADER + dataset_file_bytes(d, file);
}

/* fread() of @n bytes at NUMPY_HEADER: the buffer first, then whole buffers past
 * it, then the tail through it. */
static int stdio_read(struct io *io, int fd, uint8_t *array, uint64_t n,
		      struct reel_error *err)
{
	uint8_t buf[STDIO_BUFFER];
	uint64_t done = STDIO_BUFFER - NUMPY_HEADER;

	if (done > n)
		done = n;
	/* fseek() to the array: the page it is in, up to it; then again. */
	if (io_seek(io, fd, 0, SEEK_SET, err) ||
	    io_read(io, fd, buf, NUMPY_HEADER, err) < 0 ||
	    io_seek(io, fd, 0, SEEK_SET, err) ||
	    io_read(io, fd, buf, STDIO_BUFFER, err) < 0)
		return -1;
	memcpy(array, buf + NUMPY_HEADER, done);
	while (done < n) {
		uint64_t whole = (n - done) / STDIO_BUFFER * STDIO_BUFFER;
		ssize_t got = whole ? io_read(io, fd, array + done, whole, err)
				    : io_read(io, fd, buf, STDIO_BUFFER, err);

		if (got < 0)
			return -1;
		if (!got)
			return reel_fail(err, REEL_E_FORMAT,
					 "it is shorter than it was made");
		if (whole) {
			done += (uint64_t)got;
			continue;
		}
		if ((uint64_t)got > n - done)
			got = (ssize_t)(n - done);
		memcpy(array + done, buf, (size_t)got);
		done += (uint64_t)got;
	}
	return 0;
}

int numpy_load(struct numpy_array *a, const char *path, struct reel_error *err)
{
	uint64_t size = NUMPY_HEADER + a->bytes, ignored;
	struct io_fread array;
	struct python_file f;
	char head[NUMPY_HEADER];
	int fd = -1, rc = -1;

	if (python_open(&f, a->io, path, size, err))
		return -1;
	if (python_expect(&f, size, err) ||
	    python_read(&f, head, NUMPY_HEADER, err) < 0)
		goto out;
	fd = io_dup(a->io, f.fd, true, err);
	if (fd < 0 || io_seek(a->io, fd, 0, SEEK_CUR, err) ||
	    python_tell(&f, err) || io_fstat(a->io, fd, &ignored, err))
		goto out;
	io_begin_fread(a->io, &array);
	rc = stdio_read(a->io, fd, a->array, a->bytes, err);
	io_end_fread(a->io, &array, fd, NUMPY_HEADER, a->bytes);
	if (io_close(a->io, fd, err))
		rc = -1;
	/* np.fromfile() puts the descriptor back, and Python's file to the end of
	 * the array. */
	if (!rc && (io_seek(a->io, f.fd, (int64_t)f.offset, SEEK_SET, err) ||
		    python_seek(&f, (int64_t)size, SEEK_SET, err)))
		rc = -1;
out:
	if (python_close(&f, err))
		rc = -1;
	return rc;
}

int numpy_close(void *state, struct reel_error *err)
{
	struct numpy_array *a = state;

	if (a)
		free(a->array);
	free(a);
	return 0;
}

int numpy_open(void **state, const struct dataset *d, uint64_t file,
	       struct io *io,
	       int (*load)(struct numpy_array *, const char *,
			   struct reel_error *),
	       struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct numpy_array *a = reel_alloc(1, sizeof(*a), err);
	int rc = -1;

	if (!a)
		return -1;
	a->d = d;
	a->io = io;
	a->null = io->null;
	a->sample = file * d->samples_per_file;
	a->bytes = dataset_file_bytes(d, file);
	a->array = malloc(a->bytes + 1); /* not zeroed: it may be huge */
	if (!a->array)
		reel_fail(err, REEL_E_MEMORY, "out of memory for %llu bytes",
			  (unsigned long long)a->bytes);
	else if (!dataset_path(d, file, &path, err))
		rc = load(a, reel_buf_text(&path), err);
	reel_buf_fini(&path);
	if (rc) {
		numpy_close(a, NULL);
		return -1;
	}
	*state = a;
	return 0;
}

static int npy_open(void **state, const struct dataset *d, uint64_t file,
		    struct io *io, struct reel_error *err)
{
	return numpy_open(state, d, file, io, numpy_load, err);
}

/* Samples come in the order of the file. */
int numpy_read(void *state, uint64_t sample, struct format_sample *out,
	       struct reel_error *err)
{
	struct numpy_array *a = state;

	out->bytes = dataset_sample_bytes(a->d, sample);
	out->number = a->null ? UINT64_MAX
			      : dataset_payload_number(a->array + a->offset,
						       out->bytes);
	a->offset += out->bytes;
	a->sample++;
	return 0;
}

static uint64_t npy_payload(uint64_t size, uint64_t samples)
{
	return size > NUMPY_HEADER ? size - NUMPY_HEADER : 0;
}

const struct format format_npy = {
	.name = "npy",
	.suffix = "npy",
	.write = npy_write,
	.disk_bytes = npy_disk_bytes,
	.file_bytes = npy_disk_bytes,
	.payload = npy_payload,
	.inspect = npy_inspect,
	.open = npy_open,
	.read = numpy_read,
	.close = numpy_close,
};

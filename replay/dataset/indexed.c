/* SPDX-License-Identifier: MIT */
/*
 * Indexed binary, as DLIO and Megatron-LM use it: a data file, which is the
 * payloads of the samples one after another, and beside it NAME.off.idx and
 * NAME.sz.idx, the offset and the size of each sample as little-endian uint64.
 *
 * The reader is a Python program: open(), readinto() of each index into an array;
 * for a sample seek() and readinto() in the data file. DLIO opens the data file
 * anew for each sample; here it stays open for all samples of a file that follow
 * one another.
 *
 * Source: DLIO's documentation of indexed_binary; strace of CPython 3.11.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/io/io.h"
#include "replay/dataset/python_file.h"

#define OFFSETS ".off.idx"
#define SIZES ".sz.idx"

static int write_index(const struct dataset *d, uint64_t file, const char *path,
		       const char *suffix, bool offsets, struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file, offset = 0;
	struct reel_buf name = REEL_BUF_INIT;
	struct file_out out;
	int rc = -1;

	if (reel_buf_printf(&name, err, "%s%s", path, suffix) ||
	    file_out_open(&out, reel_buf_text(&name), err))
		goto out;
	for (uint64_t i = 0; i < d->samples_per_file; i++) {
		uint64_t bytes = dataset_sample_bytes(d, first + i);

		file_out_u64(&out, offsets ? offset : bytes);
		offset += bytes;
	}
	rc = file_out_close(&out, err);
out:
	reel_buf_fini(&name);
	return rc;
}

static int indexed_write(const struct dataset *d, uint64_t file,
			 const char *path, struct reel_error *err)
{
	return write_index(d, file, path, OFFSETS, true, err) ||
			       write_index(d, file, path, SIZES, false, err)
		       ? -1
		       : format_raw.write(d, file, path, err);
}

static uint64_t indexed_disk_bytes(const struct dataset *d, uint64_t file)
{
	return dataset_file_bytes(d, file) + 16 * d->samples_per_file;
}

/* --- the reader ----------------------------------------------------------- */

struct indexed {
	const struct dataset *d;
	struct io *io;
	struct python_file f;
	uint64_t first;		 /* sample of the file */
	uint64_t *offset, *size; /* as the indices say; NULL on null storage */
	uint8_t *buf;
	uint64_t room;
};

static int indexed_close(void *state, struct reel_error *err)
{
	struct indexed *r = state;
	int rc = 0;

	if (!r)
		return 0;
	if (r->f.fd >= 0)
		rc = python_close(&r->f, err);
	free(r->offset);
	free(r->size);
	free(r->buf);
	free(r);
	return rc;
}

/* An index, whole, into *@to. */
static int load_index(struct indexed *r, const char *path, const char *suffix,
		      uint64_t **to, struct reel_error *err)
{
	uint64_t n = r->d->samples_per_file, bytes = 8 * n;
	struct reel_buf name = REEL_BUF_INIT;
	struct python_file f = {.fd = -1};
	int rc = -1;
	int64_t got;

	*to = reel_alloc(n, 8, err);
	if (!*to || reel_buf_printf(&name, err, "%s%s", path, suffix) ||
	    python_open(&f, r->io, reel_buf_text(&name), bytes, err))
		goto out;
	got = python_readinto(&f, *to, bytes, err);
	if (got >= 0 && (uint64_t)got < bytes)
		reel_fail(err, REEL_E_FORMAT,
			  "'%s' is shorter than it was made: %lld bytes, not "
			  "%llu",
			  reel_buf_text(&name), (long long)got,
			  (unsigned long long)bytes);
	else if (got >= 0)
		rc = 0;
out:
	if (f.fd >= 0 && python_close(&f, err))
		rc = -1;
	reel_buf_fini(&name);
	return rc;
}

static int indexed_open(void **state, const struct dataset *d, uint64_t file,
			struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct indexed *r = reel_alloc(1, sizeof(*r), err);
	int rc = -1;

	if (!r)
		return -1;
	r->d = d;
	r->io = io;
	r->f.fd = -1;
	r->first = file * d->samples_per_file;
	if (io->null)
		rc = 0;
	else if (!dataset_path(d, file, &path, err) &&
		 !load_index(r, reel_buf_text(&path), OFFSETS, &r->offset,
			     err) &&
		 !load_index(r, reel_buf_text(&path), SIZES, &r->size, err))
		rc = python_open(&r->f, io, reel_buf_text(&path), 0, err);
	reel_buf_fini(&path);
	if (rc) {
		indexed_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

/* Room for a sample; its old content is not kept. */
static int make_room(struct indexed *r, uint64_t bytes, struct reel_error *err)
{
	if (bytes <= r->room)
		return 0;
	free(r->buf);
	r->room = 0;
	r->buf = malloc(bytes); /* not zeroed: it may be huge */
	if (!r->buf)
		return reel_fail(err, REEL_E_MEMORY,
				 "out of memory for %llu bytes",
				 (unsigned long long)bytes);
	r->room = bytes;
	return 0;
}

/* The payload, in one read, or in those that the workload asks for. */
static int read_payload(struct indexed *r, uint64_t bytes,
			struct reel_error *err)
{
	uint64_t most =
		r->io->transfer_bytes ? (uint64_t)r->io->transfer_bytes : bytes;

	for (uint64_t done = 0; done < bytes;) {
		uint64_t n = bytes - done < most ? bytes - done : most;
		int64_t got = python_readinto(&r->f, r->buf + done, n, err);

		if (got < 0)
			return -1;
		if ((uint64_t)got < n)
			return reel_fail(
				err, REEL_E_FORMAT,
				"it is shorter than it was made (at %llu)",
				(unsigned long long)r->f.offset);
		done += n;
	}
	return 0;
}

static int indexed_read(void *state, uint64_t sample, struct format_sample *out,
			struct reel_error *err)
{
	struct indexed *r = state;
	uint64_t i = sample - r->first;

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = UINT64_MAX;
	if (r->io->null)
		return 0;
	if (le64toh(r->size[i]) != out->bytes ||
	    le64toh(r->offset[i]) > INT64_MAX)
		return reel_fail(err, REEL_E_FORMAT,
				 "sample %llu has %llu bytes at %llu by its "
				 "index, not %llu bytes: the data set is of "
				 "another workload",
				 (unsigned long long)sample,
				 (unsigned long long)le64toh(r->size[i]),
				 (unsigned long long)le64toh(r->offset[i]),
				 (unsigned long long)out->bytes);
	if (make_room(r, out->bytes, err) ||
	    python_seek(&r->f, (int64_t)le64toh(r->offset[i]), SEEK_SET, err) ||
	    read_payload(r, out->bytes, err))
		return -1;
	out->number = dataset_payload_number(r->buf, out->bytes);
	return 0;
}

/* --- files of others ------------------------------------------------------ */

/* The sizes in NAME.sz.idx, as long as they fit into the data file. */
static int indexed_inspect(const char *path, int64_t **sizes, uint32_t *n,
			   uint32_t *room, struct reel_error *err)
{
	struct reel_buf name = REEL_BUF_INIT;
	uint32_t n_before = *n;
	uint64_t left, bytes;
	struct stat st;
	FILE *f = NULL;
	int rc = -1;

	if (reel_buf_printf(&name, err, "%s" SIZES, path))
		goto out;
	rc = 0;
	if (stat(path, &st))
		goto out;
	left = (uint64_t)st.st_size;
	f = fopen(reel_buf_text(&name), "re");
	while (f && !rc && fread(&bytes, sizeof(bytes), 1, f) == 1) {
		bytes = le64toh(bytes);
		if (bytes > left) { /* no index of this file */
			*n = n_before;
			break;
		}
		left -= bytes;
		rc = reel_array_reach(sizes, room, *n, sizeof(**sizes), err);
		if (!rc)
			(*sizes)[(*n)++] = (int64_t)bytes;
	}
out:
	if (f)
		fclose(f);
	reel_buf_fini(&name);
	return rc;
}

const struct format format_indexed = {
	.name = "indexed",
	.suffix = "indexed_binary",
	.any_order = true,
	.write = indexed_write,
	.disk_bytes = indexed_disk_bytes,
	.file_bytes = dataset_file_bytes,
	.inspect = indexed_inspect,
	.open = indexed_open,
	.read = indexed_read,
	.close = indexed_close,
};

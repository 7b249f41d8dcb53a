/* SPDX-License-Identifier: MIT */
/*
 * HDF5. Samples of one size are the rows of the data set "records" (samples x
 * bytes of uint8), those of several sizes the data sets "sample_00000000" and on;
 * "labels" holds their numbers (int64). With dataset.columns, each of them is an array
 * of rows, "column_00000000" and on, and a sample is a row of each. Arrays are
 * contiguous, or in chunks: pieces of a row, or whole rows where a chunk has room for
 * several, or an equal piece of each of several rows.
 *
 * The reader is h5py: the file and its arrays of rows stay open, and a sample is
 * records[i]; with access.reopen_arrays, it is f["records"][i], which begins with empty
 * caches. With access.slice_samples it is records[i:i+n], and the other samples of it
 * are in memory when they are next. The calls are those of libhdf5 itself. On null
 * storage there is nothing that libhdf5 could read, so the samples are given without
 * it.
 *
 * Source: HDF5's reference manual.
 */
#include "replay/dataset/hdf5_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"

#include "replay/dataset/formats.h"
#include "replay/io/io.h"

#define PIECE (1u << 20) /* of one write */
#define NAME_ROOM 32

/* --- layout --------------------------------------------------------------- */

static bool is_equal(const struct dataset *d)
{
	return d->sample_bytes->n == 1;
}

/* A chunk of an array of @rows x @bytes; all 0: contiguous. */
struct chunk {
	uint64_t rows, bytes;
};

static struct chunk chunk_of(const struct dataset *d, uint64_t rows,
			     uint64_t bytes)
{
	uint64_t room = (uint64_t)d->is->chunk_bytes;
	uint64_t samples = (uint64_t)d->is->chunk_samples;
	struct chunk c = {0, 0};

	if (!room && d->is->compression)
		room = bytes < UINT32_MAX ? bytes : UINT32_MAX;
	if (!room || !bytes)
		return c;
	c.bytes = samples ? room / samples : room;
	if (c.bytes > bytes)
		c.bytes = bytes;
	c.rows = samples ? samples : room / c.bytes;
	if (c.rows > rows)
		c.rows = rows;
	return c;
}

/* An array of rows, and the bytes of a sample that a row of it has. */
struct rows {
	uint64_t offset, bytes;
	bool read, contiguous;
};

static uint64_t arrays_of_rows(const struct dataset *d)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->is->columns_n; i++)
		n += (uint64_t)d->is->columns[i].count;
	return n ? n : 1;
}

/* The array @i; without columns there is one, of whole samples. */
static struct rows rows_at(const struct dataset *d, uint64_t i)
{
	struct rows r = {0, 0, true, false};

	if (!d->is->columns_n)
		r.bytes = dataset_sample_bytes(d, 0);
	for (uint32_t k = 0; k < d->is->columns_n; k++) {
		const struct workload_column *c = &d->is->columns[k];
		uint64_t some = i < (uint64_t)c->count ? i : (uint64_t)c->count;

		r.offset += some * (uint64_t)c->bytes;
		if (i < (uint64_t)c->count) {
			r.bytes = (uint64_t)c->bytes;
			r.read = c->read;
			r.contiguous = c->contiguous;
			break;
		}
		i -= some;
	}
	return r;
}

/* Columns in chunks have as many rows in one, so that a sample takes one of each. */
static struct chunk chunk_of_rows(const struct dataset *d, const struct rows *r)
{
	uint64_t widest = 0;
	struct chunk c;

	if (r->contiguous)
		return (struct chunk){0, 0};
	for (uint32_t i = 0; i < d->is->columns_n; i++) {
		const struct workload_column *k = &d->is->columns[i];

		if (!k->contiguous && (uint64_t)k->bytes > widest)
			widest = (uint64_t)k->bytes;
	}
	c = chunk_of(d, d->samples_per_file, widest ? widest : r->bytes);
	if (c.bytes > r->bytes)
		c.bytes = r->bytes;
	return c;
}

static void name_of(char name[static NAME_ROOM], const char *what, uint64_t i)
{
	snprintf(name, NAME_ROOM, "%s_%08llu", what, (unsigned long long)i);
}

static void name_of_rows(char name[static NAME_ROOM], const struct dataset *d,
			 uint64_t i)
{
	if (d->is->columns_n)
		name_of(name, "column", i);
	else
		snprintf(name, NAME_ROOM, "records");
}

/* --- writing -------------------------------------------------------------- */

/* The layout of an array, without a time. Negative on failure. */
static hid_t storage_of(const struct dataset *d, const struct chunk *c,
			int rank)
{
	hsize_t of_rows[2] = {c->rows, c->bytes}, of_bytes[1] = {c->bytes};
	hid_t p = H5Pcreate(H5P_DATASET_CREATE);

	if (p < 0)
		return p;
	if (H5Pset_obj_track_times(p, false) < 0 ||
	    (c->bytes &&
	     H5Pset_chunk(p, rank, rank == 2 ? of_rows : of_bytes) < 0) ||
	    (c->bytes && d->is->compression &&
	     H5Pset_deflate(p, (unsigned int)d->is->compression_level) < 0)) {
		H5Pclose(p);
		return -1;
	}
	return p;
}

static hid_t make_array(hid_t file, const char *name, hid_t type, int rank,
			const hsize_t *shape, hid_t storage)
{
	hid_t space = H5Screate_simple(rank, shape, NULL), array;

	array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, storage,
			   H5P_DEFAULT);
	H5Sclose(space);
	return array;
}

/* Write @shape bytes at @start. */
static int put_block(hid_t array, int rank, const hsize_t *start,
		     const hsize_t *shape, const uint8_t *from)
{
	hid_t space = H5Dget_space(array);
	hid_t memory = H5Screate_simple(rank, shape, NULL);
	int rc = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, shape,
				     NULL) < 0 ||
		 H5Dwrite(array, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT,
			  from) < 0;

	H5Sclose(memory);
	H5Sclose(space);
	return rc ? -1 : 0;
}

/* @rows rows from @row on, those of a chunk, in pieces of whole chunks; row 0 is
 * sample @first. @rank 1: the array is the row. */
static int put_rows(const struct dataset *d, hid_t array, int rank,
		    const struct rows *of, uint64_t first, uint64_t row,
		    uint64_t rows, const struct chunk *c, uint8_t *buf)
{
	uint64_t bytes = of->bytes, piece = PIECE;

	if (c->bytes)
		piece = c->bytes * rows < PIECE
				? PIECE / (c->bytes * rows) * c->bytes
				: c->bytes;
	for (uint64_t at = 0; at < bytes; at += piece) {
		uint64_t n = bytes - at < piece ? bytes - at : piece;
		hsize_t start[2] = {row, at}, shape[2] = {rows, n};

		for (uint64_t i = 0; i < rows; i++)
			dataset_payload(d, first + row + i, of->offset + at,
					buf + i * n, n);
		if (put_block(array, rank, start + 2 - rank, shape + 2 - rank,
			      buf))
			return -1;
	}
	return 0;
}

static int put_array(const struct dataset *d, uint64_t first, uint64_t number,
		     hid_t file, uint8_t *buf)
{
	struct rows r = rows_at(d, number);
	struct chunk c = chunk_of_rows(d, &r);
	uint64_t n = d->samples_per_file, rows = c.rows ? c.rows : 1;
	hid_t storage = storage_of(d, &c, 2), array;
	hsize_t shape[2] = {n, r.bytes};
	char name[NAME_ROOM];
	int rc = 0;

	if (storage < 0)
		return -1;
	name_of_rows(name, d, number);
	array = make_array(file, name, H5T_STD_U8LE, 2, shape, storage);
	H5Pclose(storage);
	if (array < 0)
		return -1;
	for (uint64_t i = 0; !rc && i < n; i += rows)
		rc = put_rows(d, array, 2, &r, first, i,
			      n - i < rows ? n - i : rows, &c, buf);
	return H5Dclose(array) < 0 || rc ? -1 : 0;
}

static int put_sample(const struct dataset *d, uint64_t first, uint64_t i,
		      hid_t file, uint8_t *buf)
{
	struct rows r = {.bytes = dataset_sample_bytes(d, first + i)};
	struct chunk c = chunk_of(d, 1, r.bytes);
	hid_t storage = storage_of(d, &c, 1), array;
	hsize_t shape[1] = {r.bytes};
	char name[NAME_ROOM];
	int rc;

	if (storage < 0)
		return -1;
	name_of(name, "sample", i);
	array = make_array(file, name, H5T_STD_U8LE, 1, shape, storage);
	H5Pclose(storage);
	if (array < 0)
		return -1;
	rc = put_rows(d, array, 1, &r, first + i, 0, 1, &c, buf);
	return H5Dclose(array) < 0 || rc ? -1 : 0;
}

static int put_labels(const struct dataset *d, uint64_t first, hid_t file)
{
	struct chunk contiguous = {0, 0};
	hid_t storage = storage_of(d, &contiguous, 1), array;
	hsize_t shape[1] = {d->samples_per_file};
	int64_t *label = calloc(d->samples_per_file + 1, sizeof(*label));
	int rc = -1;

	for (uint64_t i = 0; label && i < d->samples_per_file; i++)
		label[i] = (int64_t)(first + i);
	array = make_array(file, "labels", H5T_STD_I64LE, 1, shape, storage);
	if (array >= 0 && label)
		rc = H5Dwrite(array, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
			      H5P_DEFAULT, label);
	free(label);
	if (storage >= 0)
		H5Pclose(storage);
	if (array >= 0 && H5Dclose(array) < 0)
		rc = -1;
	return rc < 0 ? -1 : 0;
}

static int put_all(const struct dataset *d, uint64_t first, hid_t file,
		   uint8_t *buf)
{
	bool equal = is_equal(d);
	uint64_t arrays = equal ? arrays_of_rows(d) : d->samples_per_file;
	int rc = 0;

	for (uint64_t i = 0; !rc && i < arrays; i++)
		rc = equal ? put_array(d, first, i, file, buf)
			   : put_sample(d, first, i, file, buf);
	return rc || (d->is->labels && put_labels(d, first, file)) ? -1 : 0;
}

static int hdf5_write(const struct dataset *d, uint64_t file, const char *path,
		      struct reel_error *err)
{
	uint64_t room = (uint64_t)d->is->chunk_bytes;
	struct hdf5_use use = {.path = path};
	uint8_t *buf;
	int rc = -1;
	hid_t f;

	if (!room && d->is->compression) /* a chunk is a sample */
		for (uint64_t i = 0; i < d->samples_per_file; i++) {
			uint64_t n = dataset_sample_bytes(
				d, file * d->samples_per_file + i);

			room = n > room ? n : room;
		}
	buf = reel_alloc(room > PIECE ? room : PIECE, 1, err);
	if (!buf)
		return -1;
	hdf5_lock();
	f = hdf5_open(&use, err);
	if (f >= 0) {
		rc = put_all(d, file * d->samples_per_file, f, buf);
		if (rc)
			hdf5_failed(&use, err);
		if ((H5Fclose(f) < 0 || use.err.code) && !rc)
			rc = hdf5_failed(&use, err);
	}
	hdf5_unlock();
	free(buf);
	return rc;
}

#define HEAD_BYTES 8192 /* superblock, groups, headers */
#define OBJECT_BYTES 1024
#define CHUNK_BYTES 128 /* of the tree of chunks, and of gzip */

/* An array of @rows x @bytes in chunks of @c. */
static uint64_t array_bytes(const struct chunk *c, uint64_t rows,
			    uint64_t bytes)
{
	uint64_t chunks;

	if (!c->bytes || !c->rows)
		return OBJECT_BYTES + rows * bytes;
	chunks = ((rows + c->rows - 1) / c->rows) *
		 ((bytes + c->bytes - 1) / c->bytes);
	return OBJECT_BYTES + chunks * (c->rows * c->bytes + CHUNK_BYTES +
					c->rows * c->bytes / 1000);
}

static uint64_t hdf5_disk_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t n = d->samples_per_file, first = file * n, sum = 0;

	for (uint64_t i = 0; is_equal(d) && i < arrays_of_rows(d); i++) {
		struct rows r = rows_at(d, i);
		struct chunk c = chunk_of_rows(d, &r);

		sum += array_bytes(&c, n, r.bytes);
	}
	for (uint64_t i = 0; !is_equal(d) && i < n; i++) {
		uint64_t bytes = dataset_sample_bytes(d, first + i);
		struct chunk c = chunk_of(d, 1, bytes);

		sum += array_bytes(&c, 1, bytes);
	}
	return HEAD_BYTES + sum + 8 * n;
}

/* --- the reader ----------------------------------------------------------- */

struct reader {
	const struct dataset *d;
	struct hdf5_use use;
	struct reel_buf path;
	hid_t file; /* negative: none */
	/* The arrays of rows; negative: not open. */
	hid_t *array;
	struct rows *rows;
	uint64_t arrays; /* 0: samples are arrays of their own */
	uint64_t first;
	uint8_t *buf; /* of each array in turn, the rows of the slice */
	uint64_t room;
	/* The slice in it, and its sample that was given last. */
	uint64_t slice_from, slice_rows, given;
};

static void close_arrays(struct reader *r)
{
	for (uint64_t i = 0; i < r->arrays; i++) {
		if (r->array[i] >= 0)
			H5Dclose(r->array[i]);
		r->array[i] = -1;
	}
}

/* Open the arrays that are read; 0, or -1. */
static int open_arrays(struct reader *r)
{
	char name[NAME_ROOM];

	for (uint64_t i = 0; i < r->arrays; i++) {
		if (!r->rows[i].read)
			continue;
		name_of_rows(name, r->d, i);
		r->array[i] = H5Dopen2(r->file, name, H5P_DEFAULT);
		if (r->array[i] < 0)
			return -1;
	}
	return 0;
}

static int hdf5_close(void *state, struct reel_error *err)
{
	struct reader *r = state;
	int rc = 0;

	if (!r)
		return 0;
	hdf5_lock();
	close_arrays(r);
	if (r->file >= 0 && (H5Fclose(r->file) < 0 || r->use.err.code))
		rc = hdf5_failed(&r->use, err);
	hdf5_unlock();
	reel_buf_fini(&r->path);
	free(r->array);
	free(r->rows);
	free(r->buf);
	free(r);
	return rc;
}

/* A reader has their places before it opens one. */
static int list_arrays(struct reader *r, struct reel_error *err)
{
	uint64_t n = is_equal(r->d) ? arrays_of_rows(r->d) : 0;

	if (!n)
		return 0;
	r->array = reel_alloc(n, sizeof(*r->array), err);
	r->rows = reel_alloc(n, sizeof(*r->rows), err);
	if (!r->array || !r->rows)
		return -1;
	r->arrays = n;
	for (uint64_t i = 0; i < n; i++) {
		r->array[i] = -1;
		r->rows[i] = rows_at(r->d, i);
	}
	return 0;
}

static int open_file(struct reader *r, struct reel_error *err)
{
	int rc = -1;

	hdf5_lock();
	r->file = hdf5_open(&r->use, err);
	if (r->file >= 0)
		rc = open_arrays(r) ? hdf5_failed(&r->use, err) : 0;
	hdf5_unlock();
	return rc;
}

static int hdf5_open_file(void **state, const struct dataset *d, uint64_t file,
			  struct io *io, struct reel_error *err)
{
	struct reader *r = reel_alloc(1, sizeof(*r), err);
	int rc;

	if (!r)
		return -1;
	r->d = d;
	r->use.io = io;
	r->file = -1;
	r->first = file * d->samples_per_file;
	rc = list_arrays(r, err) || dataset_path(d, file, &r->path, err) ? -1
									 : 0;
	r->use.path = reel_buf_text(&r->path);
	if (!rc && !io->null)
		rc = open_file(r, err);
	if (rc) {
		hdf5_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

/* @rows rows from @row on, or all of an array of one dimension, of @n bytes each, into
 * @to. */
static int get_rows(const struct reader *r, hid_t array, uint64_t row,
		    uint64_t rows, uint64_t n, uint8_t *to)
{
	hid_t space = H5Dget_space(array), memory;
	hsize_t start[2] = {row, 0}, shape[2] = {rows, n}, is[2] = {0, 0};
	int rank = H5Sget_simple_extent_ndims(space), rc = -1;

	if (rank != (is_equal(r->d) ? 2 : 1))
		goto out;
	H5Sget_simple_extent_dims(space, is, NULL);
	if (is[rank - 1] != n || (rank == 2 && row + rows > is[0]))
		goto out;
	memory = H5Screate_simple(rank, shape + 2 - rank, NULL);
	rc = H5Sselect_hyperslab(space, H5S_SELECT_SET, start + 2 - rank, NULL,
				 shape + 2 - rank, NULL) < 0 ||
	     H5Dread(array, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, to) <
		     0;
	H5Sclose(memory);
out:
	H5Sclose(space);
	return rc ? -1 : 0;
}

/* Find the slice of row @i, from which the others follow; false: it is in memory. */
static bool next_slice(struct reader *r, uint64_t i)
{
	uint64_t n = (uint64_t)r->use.io->access->slice_samples;
	bool held = i > r->given && i - r->slice_from < r->slice_rows;

	r->given = i;
	if (held)
		return false;
	r->slice_from = i - i % n;
	r->slice_rows = r->d->samples_per_file - r->slice_from;
	if (r->slice_rows > n)
		r->slice_rows = n;
	return true;
}

static int get_slice(struct reader *r, uint64_t i, struct reel_error *err)
{
	int rc = 0;

	if (!next_slice(r, i))
		return 0;
	H5Eclear2(H5E_DEFAULT);
	if (r->use.io->access->reopen_arrays) {
		close_arrays(r);
		rc = open_arrays(r);
	}
	for (uint64_t k = 0; !rc && k < r->arrays; k++)
		if (r->array[k] >= 0)
			rc = get_rows(r, r->array[k], r->slice_from,
				      r->slice_rows, r->rows[k].bytes,
				      r->buf + r->rows[k].offset *
						       r->slice_rows);
	return rc ? hdf5_failed(&r->use, err) : 0;
}

static int get_array(struct reader *r, uint64_t i, uint64_t n,
		     struct reel_error *err)
{
	char name[NAME_ROOM];
	hid_t array;
	int rc;

	H5Eclear2(H5E_DEFAULT);
	name_of(name, "sample", i);
	array = H5Dopen2(r->file, name, H5P_DEFAULT);
	if (array < 0)
		return hdf5_failed(&r->use, err);
	rc = get_rows(r, array, 0, 1, n, r->buf);
	if (rc)
		hdf5_failed(&r->use, err);
	H5Dclose(array);
	return rc;
}

/* Have room for the samples of a read, of @bytes each. */
static int make_room(struct reader *r, uint64_t bytes, struct reel_error *err)
{
	uint64_t n = r->arrays ? (uint64_t)r->use.io->access->slice_samples : 1;

	if (n > r->d->samples_per_file)
		n = r->d->samples_per_file;
	if (bytes * n <= r->room && r->buf)
		return 0;
	free(r->buf);
	r->room = bytes * n;
	r->buf = malloc(r->room + 1);
	return r->buf ? 0
		      : reel_fail(err, REEL_E_MEMORY,
				  "out of memory for %llu bytes",
				  (unsigned long long)r->room);
}

/* The first bytes of a sample are its number; a column of fewer has a part of it. */
static bool has_number(const struct reader *r)
{
	return !r->d->is->columns_n ||
	       (r->rows[0].read && r->rows[0].bytes >= sizeof(uint64_t));
}

static int hdf5_read(void *state, uint64_t sample, struct format_sample *out,
		     struct reel_error *err)
{
	struct reader *r = state;
	uint64_t row = sample - r->first, at = 0;
	int rc;

	out->bytes = dataset_sample_bytes(r->d, sample);
	out->number = UINT64_MAX;
	if (r->use.io->null)
		return 0;
	if (make_room(r, out->bytes, err))
		return -1;
	hdf5_lock();
	rc = r->arrays ? get_slice(r, row, err)
		       : get_array(r, row, out->bytes, err);
	hdf5_unlock();
	if (!rc && r->arrays)
		at = (row - r->slice_from) * r->rows[0].bytes;
	if (!rc && has_number(r))
		out->number = dataset_payload_number(r->buf + at, out->bytes);
	return rc;
}

const struct format format_hdf5 = {
	.name = "hdf5",
	.suffix = "h5",
	.any_order = true,
	.write = hdf5_write,
	.disk_bytes = hdf5_disk_bytes,
	.inspect = hdf5_inspect,
	.offsets = hdf5_offsets,
	.storage = hdf5_storage,
	.arrays = hdf5_arrays,
	.open = hdf5_open_file,
	.read = hdf5_read,
	.close = hdf5_close,
};

/* SPDX-License-Identifier: MIT */
/* The samples of an HDF5 file that others made. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/array.h"

#include "replay/dataset/formats.h"
#include "replay/dataset/hdf5_driver.h"

#define RANK_MOST H5S_MAX_RANK

/* The arrays of a file that may be its samples. */
struct found {
	uint64_t most;	      /* bytes of the largest array */
	uint64_t rows, bytes; /* of it: along the first dimension */
	bool is_row;	      /* it is of one dimension, of bytes */
	/* The arrays of one dimension, of bytes. */
	int64_t **sizes;
	uint32_t *n, *room, first;
	struct reel_error *err;
	int rc;
};

/* Call @fn for each link of the file at @path; for none where it cannot be read. */
static void visit_links(const char *path, H5L_iterate_t fn, void *data)
{
	hid_t file;

	hdf5_lock();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (file >= 0) {
		H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, fn, data);
		H5Fclose(file);
	}
	hdf5_unlock();
}

/* The rows of @array, along its first dimension, and the bytes of one. */
static bool rows_of(hid_t array, uint64_t *rows, uint64_t *bytes)
{
	hid_t type = H5Dget_type(array), space = H5Dget_space(array);
	int rank = H5Sget_simple_extent_ndims(space);
	hsize_t shape[RANK_MOST] = {0};
	uint64_t row = H5Tget_size(type);

	H5Sget_simple_extent_dims(space, shape, NULL);
	H5Tclose(type);
	H5Sclose(space);
	for (int i = 1; i < rank; i++)
		if (__builtin_mul_overflow(row, shape[i], &row))
			return false;
	*rows = shape[0];
	*bytes = row;
	return rank >= 1 && row <= INT64_MAX && shape[0] <= INT64_MAX &&
	       (!row || shape[0] <= INT64_MAX / row);
}

/* Is @array one of bytes, of one dimension? */
static bool is_of_bytes(hid_t array)
{
	hid_t type = H5Dget_type(array), space = H5Dget_space(array);
	bool is = H5Sget_simple_extent_ndims(space) == 1 &&
		  H5Tget_size(type) == 1;

	H5Tclose(type);
	H5Sclose(space);
	return is;
}

/* Take @array for the samples if it is the largest. */
static void look_at(struct found *f, hid_t array)
{
	uint64_t rows, row;
	bool is_row = is_of_bytes(array);

	if (!rows_of(array, &rows, &row))
		return;
	if (row * rows > f->most) {
		f->most = row * rows;
		f->rows = rows;
		f->bytes = row;
		f->is_row = is_row;
	}
	if (!is_row)
		return;
	f->rc = reel_array_reach(f->sizes, f->room, *f->n, sizeof(**f->sizes),
				 f->err);
	if (!f->rc)
		(*f->sizes)[(*f->n)++] = (int64_t)rows;
}

/* The data set @name of @group, for H5Oclose(); negative: it is none. Links to other
 * files stay closed. */
static hid_t open_dataset(hid_t group, const char *name, const H5L_info_t *link)
{
	hid_t object = link->type == H5L_TYPE_HARD
			       ? H5Oopen(group, name, H5P_DEFAULT)
			       : -1;

	if (object < 0 || H5Iget_type(object) == H5I_DATASET)
		return object;
	H5Oclose(object);
	return -1;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *link,
		    void *data)
{
	struct found *f = data;
	hid_t object = open_dataset(group, name, link);

	if (object < 0)
		return 0;
	look_at(f, object);
	H5Oclose(object);
	return f->rc;
}

/*
 * Samples are the rows of the largest array. Where that is one of bytes of one
 * dimension, each such array is a sample.
 */
int hdf5_inspect(const char *path, int64_t **sizes, uint32_t *n, uint32_t *room,
		 struct reel_error *err)
{
	struct found f = {
		.sizes = sizes, .n = n, .room = room, .first = *n, .err = err};
	struct stat st;

	if (stat(path, &st))
		return 0;
	visit_links(path, visit, &f);
	if (f.is_row || f.rc)
		return f.rc;
	*n = f.first;
	/* More rows than bytes: an array that was never written. */
	for (uint64_t i = 0; i < f.rows && f.rows <= (uint64_t)st.st_size;
	     i++) {
		if (reel_array_reach(sizes, room, *n, sizeof(**sizes), err))
			return -1;
		(*sizes)[(*n)++] = (int64_t)f.bytes;
	}
	return 0;
}

/* --- storage -------------------------------------------------------------- */

/* That of the largest array. */
struct stored {
	struct format_storage *out;
	uint64_t most;
	size_t type_bytes; /* of a value of the last array */
};

/* Do chunks of @shape have parts of several rows of @array? */
static bool has_parts(hid_t array, int rank, const hsize_t *shape)
{
	hid_t space = H5Dget_space(array);
	hsize_t is[RANK_MOST] = {0};
	bool parts = false;

	if (H5Sget_simple_extent_ndims(space) == rank &&
	    H5Sget_simple_extent_dims(space, is, NULL) == rank)
		for (int i = 1; i < rank; i++)
			parts |= shape[i] < is[i];
	H5Sclose(space);
	return parts && shape[0] > 1;
}

/* Add the bytes of @array, and its chunks of @shape. */
static void add_array(struct format_storage *out, hid_t array, int rank,
		      const hsize_t *shape, uint64_t item)
{
	hid_t space = H5Dget_space(array);
	hsize_t is[RANK_MOST] = {0};
	uint64_t bytes = item, chunks = 1;
	int of = H5Sget_simple_extent_dims(space, is, NULL);

	H5Sclose(space);
	for (int i = 0; i < of; i++) {
		hsize_t part = rank == of && shape[i] ? shape[i] : 1;

		if (__builtin_mul_overflow(bytes, is[i], &bytes) ||
		    __builtin_mul_overflow(chunks, (is[i] + part - 1) / part,
					   &chunks))
			return;
	}
	if (bytes < INT64_MAX / 2 && out->arrays_bytes < INT64_MAX / 2)
		out->arrays_bytes += (int64_t)bytes;
	if (rank > 0 && chunks < UINT32_MAX && out->chunks < UINT32_MAX)
		out->chunks += (int64_t)chunks;
}

static void look_at_storage(struct stored *s, hid_t array)
{
	hid_t type = H5Dget_type(array), p = H5Dget_create_plist(array);
	uint64_t bytes = H5Dget_storage_size(array);
	uint64_t chunk = H5Tget_size(type);
	hsize_t shape[RANK_MOST] = {0};
	unsigned int level = 0;
	size_t values = 1;
	int rank = 0;

	if (H5Pget_layout(p) == H5D_CHUNKED)
		rank = H5Pget_chunk(p, RANK_MOST, shape);
	add_array(s->out, array, rank, shape, chunk);
	for (int i = 0; i < rank; i++)
		if (__builtin_mul_overflow(chunk, shape[i], &chunk))
			rank = 0;
	/* Samples of several sizes are as many arrays, of as many bytes a value. */
	s->out->labels |= s->type_bytes && H5Tget_size(type) != s->type_bytes;
	s->type_bytes = H5Tget_size(type);
	if (bytes > s->most) {
		s->most = bytes;
		s->out->chunk_bytes =
			rank > 0 && chunk < UINT32_MAX ? (int64_t)chunk : 0;
		s->out->chunk_samples =
			s->out->chunk_bytes && has_parts(array, rank, shape)
				? (int64_t)shape[0]
				: 0;
		s->out->gzip = H5Pget_filter_by_id2(p, H5Z_FILTER_DEFLATE, NULL,
						    &values, &level, 0, NULL,
						    NULL) >= 0;
		s->out->level = s->out->gzip && values ? (int64_t)level : 0;
	}
	H5Pclose(p);
	H5Tclose(type);
}

static herr_t visit_storage(hid_t group, const char *name,
			    const H5L_info_t *link, void *data)
{
	hid_t object = open_dataset(group, name, link);

	if (object < 0)
		return 0;
	look_at_storage(data, object);
	H5Oclose(object);
	return 0;
}

int hdf5_storage(const char *path, struct format_storage *out)
{
	struct stored s = {.out = out};

	memset(out, 0, sizeof(*out));
	visit_links(path, visit_storage, &s);
	return s.most > 0;
}

/* --- arrays --------------------------------------------------------------- */

struct arrays {
	struct format_array **out;
	uint32_t *n, *room;
	struct reel_error *err;
	int rc;
};

/* Add the places of some chunks of @array, from all parts of it, to @a. */
static void find_chunks(struct format_array *a, hid_t array)
{
	hid_t space = H5Dget_space(array);
	hsize_t n = 0, start[RANK_MOST], bytes;
	unsigned int mask;
	haddr_t at;

	if (H5Dget_num_chunks(array, space, &n) < 0)
		n = 0;
	for (hsize_t i = 0; i < FORMAT_PLACES && i < n; i++) {
		hsize_t k = n > FORMAT_PLACES
				    ? i * (n - 1) / (FORMAT_PLACES - 1)
				    : i;

		if (H5Dget_chunk_info(array, space, k, start, &mask, &at,
				      &bytes) < 0 ||
		    at > INT64_MAX / 2 || bytes > INT64_MAX / 2)
			continue;
		a->place[a->places++] = (int64_t)at;
		if (a->places == 1 || (int64_t)at < a->from)
			a->from = (int64_t)at;
		if ((int64_t)(at + bytes) > a->to)
			a->to = (int64_t)(at + bytes);
	}
	H5Sclose(space);
}

/* Set the places of @array in its file. */
static void find_places(struct format_array *a, hid_t array)
{
	hid_t type = H5Dget_type(array), p = H5Dget_create_plist(array);
	uint64_t chunk = H5Tget_size(type);
	hsize_t shape[RANK_MOST] = {0};
	haddr_t at = H5Dget_offset(array); /* or HADDR_UNDEF, the largest */
	int64_t to;
	int rank = 0;

	H5Tclose(type);
	if (H5Pget_layout(p) == H5D_CHUNKED)
		rank = H5Pget_chunk(p, RANK_MOST, shape);
	H5Pclose(p);
	for (int i = 0; i < rank; i++)
		if (__builtin_mul_overflow(chunk, shape[i], &chunk))
			return;
	if (rank > 0 && chunk <= UINT32_MAX) {
		a->chunk_bytes = (int64_t)chunk;
		a->chunk_rows = (int64_t)shape[0];
		find_chunks(a, array);
	} else if (at < INT64_MAX / 2 &&
		   !__builtin_add_overflow((int64_t)at, a->rows * a->row_bytes,
					   &to)) {
		a->from = (int64_t)at;
		a->to = to;
	}
}

static herr_t visit_array(hid_t group, const char *name, const H5L_info_t *link,
			  void *data)
{
	struct arrays *s = data;
	hid_t array = open_dataset(group, name, link);
	struct format_array a = {.rows = 0};
	uint64_t rows, bytes;

	if (array < 0)
		return 0;
	if (rows_of(array, &rows, &bytes)) {
		a.rows = (int64_t)rows;
		a.row_bytes = (int64_t)bytes;
		find_places(&a, array);
	}
	H5Oclose(array);
	if (a.to <= a.from)
		return 0;
	s->rc = reel_array_reach(s->out, s->room, *s->n, sizeof(**s->out),
				 s->err);
	if (!s->rc)
		(*s->out)[(*s->n)++] = a;
	return s->rc;
}

int hdf5_arrays(const char *path, struct format_array **out, uint32_t *n,
		uint32_t *room, struct reel_error *err)
{
	struct arrays s = {.out = out, .n = n, .room = room, .err = err};

	visit_links(path, visit_array, &s);
	return s.rc;
}

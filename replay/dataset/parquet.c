/* SPDX-License-Identifier: MIT */
/*
 * Parquet: flat columns that always have a value, PLAIN, not compressed, in row
 * groups of dataset.row_group_rows. The first column is "number", the number of the
 * sample; then come those of dataset.columns, "c0" and so on: FLOAT of 4 bytes,
 * DOUBLE of 8, else FIXED_LEN_BYTE_ARRAY; their values are the payload of the row,
 * one after another. Without dataset.columns there is one, "data", a BYTE_ARRAY with
 * the payload.
 *
 * The reader is pyarrow: ParquetFile(path), and for each row group
 * read_row_group(i, columns=those that are read): the footer from the last 64 KiB, in
 * a second read where it is larger; the chunks of the columns in reads that also
 * take the gaps up to 8 KiB between them, up to 32 MiB, each announced by
 * posix_fadvise(). pyarrow makes the reads of a row group in the threads of its pool,
 * at the same time; here they follow one another.
 *
 * Source: Apache Parquet's format specification; strace of pyarrow 26.
 */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/dataset/io.h"
#include "replay/dataset/parquet.h"
#include "replay/dataset/thrift.h"

#define PAGE (1u << 20) /* of values, at most, when there are several */
#define FOOTER_READ 65536
#define HOLE 8192	  /* that a read takes with it */
#define RANGE (32u << 20) /* of several chunks */
#define CHUNK_MOST 256	  /* bytes of a chunk in the footer */
#define HEADER_MOST 64	  /* of a page */
#define VALUE_MOST INT32_MAX

enum { INT64 = 2, FLOAT = 4, DOUBLE = 5, BYTE_ARRAY = 6, FIXED = 7 };
enum { PLAIN = 0, RLE = 3 };

/* --- the layout ----------------------------------------------------------- */

/* @count columns that are alike. */
struct kind {
	int type;
	uint64_t bytes;	       /* of a value; 0: they vary */
	uint64_t count, first; /* number of the first one of them */
	uint64_t offset;       /* of its values in the payload */
	bool read;
};

/* False: there are no more. */
static bool next_kind(const struct dataset *d, uint32_t i, struct kind *k)
{
	const struct workload_column *c;

	if (!i) {
		*k = (struct kind){
			.type = INT64, .bytes = 8, .count = 1, .read = true};
		return true;
	}
	if (!d->is->columns_n) {
		k->type = BYTE_ARRAY;
		k->bytes = d->is->sample_bytes.n == 1
				   ? 4 + dataset_sample_bytes(d, 0)
				   : 0;
		k->first = k->offset = 0;
		return i == 1;
	}
	if (i > d->is->columns_n)
		return false;
	k->offset = i == 1 ? 0 : k->offset + k->count * k->bytes;
	k->first = i == 1 ? 0 : k->first + k->count;
	c = &d->is->columns[i - 1];
	k->bytes = (uint64_t)c->bytes;
	k->count = (uint64_t)c->count;
	k->read = c->read;
	k->type = c->bytes == 4 ? FLOAT : c->bytes == 8 ? DOUBLE : FIXED;
	return true;
}

static uint64_t columns_of(const struct dataset *d)
{
	struct kind k;
	uint64_t n = 0;

	for (uint32_t i = 0; next_kind(d, i, &k); i++)
		n += k.count;
	return n;
}

static uint64_t row_bytes(const struct dataset *d, uint64_t sample)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->is->columns_n; i++)
		n += (uint64_t)d->is->columns[i].bytes *
		     (uint64_t)d->is->columns[i].count;
	return d->is->columns_n ? n : dataset_sample_bytes(d, sample);
}

struct page {
	uint64_t rows, bytes;
};

/* The page that begins with @sample, where @left rows of the group are left. */
static struct page page_of(const struct dataset *d, const struct kind *k,
			   uint64_t sample, uint64_t left)
{
	struct page p = {0};

	if (k->bytes) {
		p.rows = k->bytes > PAGE ? 1 : PAGE / k->bytes;
		if (p.rows > left)
			p.rows = left;
		p.bytes = p.rows * k->bytes;
		return p;
	}
	for (; p.rows < left; p.rows++) {
		uint64_t bytes = 4 + dataset_sample_bytes(d, sample + p.rows);

		if (p.rows && p.bytes + bytes > PAGE)
			break;
		p.bytes += bytes;
	}
	return p;
}

static void page_header(struct thrift_out *o, struct page p)
{
	o->n = o->field = 0;
	thrift_int(o, 1, THRIFT_I32, 0); /* a page of data */
	thrift_int(o, 2, THRIFT_I32, (int64_t)p.bytes);
	thrift_int(o, 3, THRIFT_I32, (int64_t)p.bytes);
	thrift_field(o, 5, THRIFT_STRUCT);
	o->field = 0;
	thrift_int(o, 1, THRIFT_I32, (int64_t)p.rows);
	thrift_int(o, 2, THRIFT_I32, PLAIN);
	thrift_int(o, 3, THRIFT_I32, RLE); /* levels: there are none */
	thrift_int(o, 4, THRIFT_I32, RLE);
	thrift_end(o);
	thrift_end(o);
}

/* Bytes of a column of the group of @rows from @sample on, with its headers. */
static uint64_t chunk_bytes(const struct dataset *d, const struct kind *k,
			    uint64_t sample, uint64_t rows)
{
	struct thrift_out o;
	uint64_t n = 0;

	for (struct page p; rows; rows -= p.rows, sample += p.rows) {
		p = page_of(d, k, sample, rows);
		page_header(&o, p);
		n += o.n + p.bytes;
	}
	return n;
}

static uint64_t group_rows(const struct dataset *d, uint64_t left)
{
	uint64_t rows = (uint64_t)d->is->row_group_rows;

	return left < rows ? left : rows;
}

/* --- writing -------------------------------------------------------------- */

static void put_values(struct file_out *out, const struct dataset *d,
		       const struct kind *k, uint64_t column, uint64_t sample,
		       uint64_t rows)
{
	for (uint64_t i = sample; i < sample + rows; i++) {
		if (k->type == INT64) {
			file_out_u64(out, i);
		} else if (k->type == BYTE_ARRAY) {
			uint64_t bytes = dataset_sample_bytes(d, i);

			file_out_u32(out, (uint32_t)bytes);
			file_out_payload(out, d, i, 0, bytes);
		} else {
			file_out_payload(out, d, i,
					 k->offset + column * k->bytes,
					 k->bytes);
		}
	}
}

static void put_chunk(struct file_out *out, const struct dataset *d,
		      const struct kind *k, uint64_t column, uint64_t sample,
		      uint64_t rows)
{
	struct thrift_out o;

	for (struct page p; rows; rows -= p.rows, sample += p.rows) {
		p = page_of(d, k, sample, rows);
		page_header(&o, p);
		file_out_put(out, o.bytes, o.n);
		put_values(out, d, k, column, sample, p.rows);
	}
}

static void name_of(const struct dataset *d, const struct kind *k,
		    uint64_t column, char name[static 32])
{
	if (k->type == INT64)
		snprintf(name, 32, "number");
	else if (!d->is->columns_n)
		snprintf(name, 32, "data");
	else
		snprintf(name, 32, "c%llu",
			 (unsigned long long)(k->first + column));
}

static void put_schema(struct file_out *out, const struct dataset *d)
{
	struct thrift_out o = {.n = 0};
	uint64_t n = columns_of(d);
	struct kind k;
	char name[32];

	thrift_int(&o, 1, THRIFT_I32, 1); /* version of the format */
	thrift_list(&o, 2, THRIFT_STRUCT, n + 1);
	o.field = 0;
	thrift_string(&o, 4, "schema");
	thrift_int(&o, 5, THRIFT_I32, (int64_t)n);
	thrift_end(&o);
	file_out_put(out, o.bytes, o.n);
	for (uint32_t i = 0; next_kind(d, i, &k); i++) {
		for (uint64_t c = 0; c < k.count; c++) {
			o.n = o.field = 0;
			thrift_int(&o, 1, THRIFT_I32, k.type);
			if (k.type == FIXED)
				thrift_int(&o, 2, THRIFT_I32, (int64_t)k.bytes);
			thrift_int(&o, 3, THRIFT_I32, 0); /* required */
			name_of(d, &k, c, name);
			thrift_string(&o, 4, name);
			thrift_end(&o);
			file_out_put(out, o.bytes, o.n);
		}
	}
}

static void put_chunk_meta(struct file_out *out, const struct kind *k,
			   const char *name, uint64_t offset, uint64_t bytes,
			   uint64_t rows)
{
	struct thrift_out o = {.n = 0};

	thrift_int(&o, 2, THRIFT_I64, (int64_t)offset);
	thrift_field(&o, 3, THRIFT_STRUCT);
	o.field = 0;
	thrift_int(&o, 1, THRIFT_I32, k->type);
	thrift_list(&o, 2, THRIFT_I32, 2);
	thrift_element_int(&o, PLAIN);
	thrift_element_int(&o, RLE);
	thrift_list(&o, 3, THRIFT_BINARY, 1);
	thrift_element_string(&o, name);
	thrift_int(&o, 4, THRIFT_I32, 0); /* not compressed */
	thrift_int(&o, 5, THRIFT_I64, (int64_t)rows);
	thrift_int(&o, 6, THRIFT_I64, (int64_t)bytes);
	thrift_int(&o, 7, THRIFT_I64, (int64_t)bytes);
	thrift_int(&o, 9, THRIFT_I64, (int64_t)offset);
	thrift_end(&o);
	thrift_end(&o);
	file_out_put(out, o.bytes, o.n);
}

/* The footer's entry of a group that begins at *@offset, which it moves on. */
static void put_group_meta(struct file_out *out, const struct dataset *d,
			   uint64_t sample, uint64_t rows, uint64_t *offset)
{
	struct thrift_out o = {.n = 0};
	uint64_t start = *offset;
	struct kind k;
	char name[32];

	thrift_list(&o, 1, THRIFT_STRUCT, columns_of(d));
	file_out_put(out, o.bytes, o.n);
	for (uint32_t i = 0; next_kind(d, i, &k); i++) {
		uint64_t bytes = chunk_bytes(d, &k, sample, rows);

		for (uint64_t c = 0; c < k.count; c++) {
			name_of(d, &k, c, name);
			put_chunk_meta(out, &k, name, *offset, bytes, rows);
			*offset += bytes;
		}
	}
	o.n = 0;
	thrift_int(&o, 2, THRIFT_I64, (int64_t)(*offset - start));
	thrift_int(&o, 3, THRIFT_I64, (int64_t)rows);
	thrift_end(&o);
	file_out_put(out, o.bytes, o.n);
}

static void put_footer(struct file_out *out, const struct dataset *d,
		       uint64_t first)
{
	uint64_t rows, left = d->samples_per_file, start = out->offset;
	uint64_t each = (uint64_t)d->is->row_group_rows;
	uint64_t offset = strlen(PARQUET_MAGIC);
	struct thrift_out o = {.n = 0, .field = 2};

	put_schema(out, d);
	thrift_int(&o, 3, THRIFT_I64, (int64_t)left);
	thrift_list(&o, 4, THRIFT_STRUCT, (left + each - 1) / each);
	file_out_put(out, o.bytes, o.n);
	for (; left; left -= rows, first += rows) {
		rows = group_rows(d, left);
		put_group_meta(out, d, first, rows, &offset);
	}
	o.n = 0;
	thrift_string(&o, 6, "ioreel");
	thrift_end(&o);
	file_out_put(out, o.bytes, o.n);
	if (out->offset - start > INT32_MAX && !out->err.code)
		reel_fail(&out->err, REEL_E_USAGE,
			  "dataset.row_group_rows: the footer of '%s' is "
			  "larger than 2 GiB",
			  out->path);
	file_out_u32(out, (uint32_t)(out->offset - start));
	file_out_put(out, PARQUET_MAGIC, strlen(PARQUET_MAGIC));
}

static int parquet_write(const struct dataset *d, uint64_t file,
			 const char *path, struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file, rows;
	const struct quantiles *q = &d->is->sample_bytes;
	struct file_out out;
	struct kind k;

	if (!d->is->columns_n && q->n && q->value[q->n - 1] > VALUE_MOST - 4)
		return reel_fail(err, REEL_E_USAGE,
				 "dataset.sample_bytes: a value of Parquet has "
				 "at most %lld bytes",
				 (long long)VALUE_MOST - 4);
	if (file_out_open(&out, path, err))
		return -1;
	file_out_put(&out, PARQUET_MAGIC, strlen(PARQUET_MAGIC));
	for (uint64_t left = d->samples_per_file, at = first; left;
	     left -= rows, at += rows) {
		rows = group_rows(d, left);
		for (uint32_t i = 0; next_kind(d, i, &k); i++)
			for (uint64_t c = 0; c < k.count; c++)
				put_chunk(&out, d, &k, c, at, rows);
	}
	put_footer(&out, d, first);
	return file_out_close(&out, err);
}

static uint64_t parquet_disk_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t n = d->samples_per_file, columns = columns_of(d);
	uint64_t each = (uint64_t)d->is->row_group_rows;
	uint64_t values = d->is->columns_n
				  ? n * row_bytes(d, 0)
				  : dataset_file_bytes(d, file) + 4 * n;

	values += 8 * n;
	return values + values / PAGE * 2 * HEADER_MOST +
	       ((n + each - 1) / each + 1) * columns *
		       (CHUNK_MOST + HEADER_MOST) +
	       CHUNK_MOST;
}

/* --- the reader ----------------------------------------------------------- */

struct range {
	uint64_t offset, bytes;
};

struct parquet {
	const struct dataset *d;
	struct io *io;
	int fd;
	char *path;			/* for messages */
	uint64_t group, group_end, end; /* samples: of the group; of the file */
	uint64_t offset;		/* of the next group */
	struct range *range;
	uint32_t ranges, room;
	uint8_t *buf;
	uint64_t buf_bytes;
	uint64_t *number; /* of the rows of the group */
};

static int parquet_close(void *state, struct reel_error *err)
{
	struct parquet *r = state;
	int rc = 0;

	if (!r)
		return 0;
	if (r->fd >= 0)
		rc = io_close(r->io, r->fd, err);
	free(r->path);
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
				"'%s' is shorter than it was made "
				"(%llu)",
				r->path,
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
				 "'%s' is shorter than it was made", r->path);
	if (read_range(r, (struct range){size - n, n}, err))
		return -1;
	memcpy(&bytes, r->buf + n - PARQUET_TAIL, sizeof(bytes));
	bytes = le32toh(bytes);
	if (memcmp(r->buf + n - 4, PARQUET_MAGIC, 4) ||
	    bytes > size - PARQUET_TAIL - strlen(PARQUET_MAGIC))
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' has no footer of Parquet at its end: it "
				 "is shorter than it was made",
				 r->path);
	if (bytes + PARQUET_TAIL <= n)
		return 0;
	return read_range(r, (struct range){size - PARQUET_TAIL - bytes, bytes},
			  err);
}

static int parquet_open(void **state, const struct dataset *d, uint64_t file,
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
	r->number = reel_alloc(group_rows(d, d->samples_per_file), 8, err);
	if (r->number && !dataset_path(d, file, &path, err))
		r->path = reel_strdup(reel_buf_text(&path), err);
	reel_buf_fini(&path);
	if (r->path && io->null)
		rc = 0;
	else if (r->path && !io_stat(io, r->path, &ignored, err)) {
		r->fd = io_open(io, r->path, false, err);
		if (r->fd >= 0 && !io_fstat(io, r->fd, &size, err) &&
		    !io_fstat(io, r->fd, &ignored, err))
			rc = read_footer(r, size, err);
	}
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
	struct kind k;

	r->ranges = 0;
	for (uint32_t i = 0; next_kind(r->d, i, &k); i++) {
		uint64_t bytes = chunk_bytes(r->d, &k, r->group, rows);

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
	struct kind k;

	next_kind(r->d, 0, &k);
	for (struct page p; done < rows; done += p.rows) {
		p = page_of(r->d, &k, r->group + done, rows - done);
		page_header(&o, p);
		at += o.n;
		memcpy(r->number + done, r->buf + at, p.bytes);
		at += p.bytes;
	}
}

static int read_group(struct parquet *r, struct reel_error *err)
{
	r->group = r->group_end;
	r->group_end += group_rows(r->d, r->end - r->group);
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

static int parquet_read(void *state, uint64_t sample, struct format_sample *out,
			struct reel_error *err)
{
	struct parquet *r = state;

	if (sample == r->group_end && read_group(r, err))
		return -1;
	out->bytes = row_bytes(r->d, sample);
	out->number = r->io->null ? UINT64_MAX
				  : le64toh(r->number[sample - r->group]);
	return 0;
}

const struct format format_parquet = {
	.name = "parquet",
	.suffix = "parquet",
	.write = parquet_write,
	.disk_bytes = parquet_disk_bytes,
	.inspect = parquet_inspect,
	.open = parquet_open,
	.read = parquet_read,
	.close = parquet_close,
};

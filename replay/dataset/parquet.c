/* SPDX-License-Identifier: MIT */
/*
 * Parquet: flat columns that always have a value, PLAIN, not compressed, in row
 * groups of dataset.row_group_rows. The first column is "number", the number of the
 * sample; then come those of dataset.columns, "c0" and so on: FLOAT of 4 bytes,
 * DOUBLE of 8, else FIXED_LEN_BYTE_ARRAY; their values are the payload of the row,
 * one after another. Without dataset.columns there is one, "data", a BYTE_ARRAY with
 * the payload.
 *
 * Source: Apache Parquet's format specification.
 */
#include <stdio.h>
#include <string.h>

#include "lib/error.h"

#include "replay/dataset/codec/thrift.h"
#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/dataset/parquet.h"

#define PAGE (1u << 20) /* of values, at most, when there are several */
#define CHUNK_MOST 256	/* bytes of a chunk in the footer */
#define HEADER_MOST 64	/* of a page */
#define VALUE_MOST INT32_MAX

enum { INT64 = 2, FLOAT = 4, DOUBLE = 5, BYTE_ARRAY = 6, FIXED = 7 };
enum { PLAIN = 0, RLE = 3 };

/* --- the layout ----------------------------------------------------------- */

bool parquet_next_kind(const struct dataset *d, uint32_t i,
		       struct parquet_kind *k)
{
	const struct workload_column *c;

	if (!i) {
		*k = (struct parquet_kind){
			.type = INT64, .bytes = 8, .count = 1, .read = true};
		return true;
	}
	if (!d->is->columns_n) {
		k->type = BYTE_ARRAY;
		k->bytes = d->sample_bytes->n == 1
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
	struct parquet_kind k;
	uint64_t n = 0;

	for (uint32_t i = 0; parquet_next_kind(d, i, &k); i++)
		n += k.count;
	return n;
}

uint64_t parquet_row_bytes(const struct dataset *d, uint64_t sample)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->is->columns_n; i++)
		n += (uint64_t)d->is->columns[i].bytes *
		     (uint64_t)d->is->columns[i].count;
	return d->is->columns_n ? n : dataset_sample_bytes(d, sample);
}

struct parquet_page parquet_page_of(const struct dataset *d,
				    const struct parquet_kind *k,
				    uint64_t sample, uint64_t left)
{
	struct parquet_page p = {0};

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

void parquet_page_header(struct thrift_out *o, struct parquet_page p)
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

uint64_t parquet_chunk_bytes(const struct dataset *d,
			     const struct parquet_kind *k, uint64_t sample,
			     uint64_t rows)
{
	struct thrift_out o;
	uint64_t n = 0;

	for (struct parquet_page p; rows; rows -= p.rows, sample += p.rows) {
		p = parquet_page_of(d, k, sample, rows);
		parquet_page_header(&o, p);
		n += o.n + p.bytes;
	}
	return n;
}

uint64_t parquet_group_rows(const struct dataset *d, uint64_t left)
{
	uint64_t rows = (uint64_t)d->is->row_group_rows;

	return left < rows ? left : rows;
}

/* --- writing -------------------------------------------------------------- */

static void put_values(struct file_out *out, const struct dataset *d,
		       const struct parquet_kind *k, uint64_t column,
		       uint64_t sample, uint64_t rows)
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
		      const struct parquet_kind *k, uint64_t column,
		      uint64_t sample, uint64_t rows)
{
	struct thrift_out o;

	for (struct parquet_page p; rows; rows -= p.rows, sample += p.rows) {
		p = parquet_page_of(d, k, sample, rows);
		parquet_page_header(&o, p);
		file_out_put(out, o.bytes, o.n);
		put_values(out, d, k, column, sample, p.rows);
	}
}

static void name_of(const struct dataset *d, const struct parquet_kind *k,
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
	struct parquet_kind k;
	char name[32];

	thrift_int(&o, 1, THRIFT_I32, 1); /* version of the format */
	thrift_list(&o, 2, THRIFT_STRUCT, n + 1);
	o.field = 0;
	thrift_string(&o, 4, "schema");
	thrift_int(&o, 5, THRIFT_I32, (int64_t)n);
	thrift_end(&o);
	file_out_put(out, o.bytes, o.n);
	for (uint32_t i = 0; parquet_next_kind(d, i, &k); i++) {
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

static void put_chunk_meta(struct file_out *out, const struct parquet_kind *k,
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
	struct parquet_kind k;
	char name[32];

	thrift_list(&o, 1, THRIFT_STRUCT, columns_of(d));
	file_out_put(out, o.bytes, o.n);
	for (uint32_t i = 0; parquet_next_kind(d, i, &k); i++) {
		uint64_t bytes = parquet_chunk_bytes(d, &k, sample, rows);

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
		rows = parquet_group_rows(d, left);
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
	const struct quantiles *q = d->sample_bytes;
	struct file_out out;
	struct parquet_kind k;

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
		rows = parquet_group_rows(d, left);
		for (uint32_t i = 0; parquet_next_kind(d, i, &k); i++)
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
				  ? n * parquet_row_bytes(d, 0)
				  : dataset_file_bytes(d, file) + 4 * n;

	values += 8 * n;
	return values + values / PAGE * 2 * HEADER_MOST +
	       ((n + each - 1) / each + 1) * columns *
		       (CHUNK_MOST + HEADER_MOST) +
	       CHUNK_MOST;
}

const struct format format_parquet = {
	.name = "parquet",
	.suffix = "parquet",
	.write = parquet_write,
	.disk_bytes = parquet_disk_bytes,
	.inspect = parquet_inspect,
	.storage = parquet_storage,
	.open = parquet_open,
	.read = parquet_read,
	.close = parquet_close,
};

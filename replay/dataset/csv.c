/* SPDX-License-Identifier: MIT */
/*
 * CSV: a row is a sample, and no header. The first column is the number of the
 * sample, the others are the first bytes of its payload as numbers. All rows of a
 * file have as many columns, as pandas wants it; a row takes exactly the bytes that
 * the workload asks for, where its number leaves room: its values are padded with
 * leading zeros, and so are those of rows longer than the shortest one of a file.
 *
 * The reader is pandas.read_csv(path, header=None): Python's file, in pieces of
 * 256 KiB until nothing comes; the whole file for all of its samples. With
 * dataset.compression the file is a gzip file, and pandas reads it with Python's
 * gzip module (python_gzip.c).
 *
 * Source: strace of pandas 3.1 and CPython 3.11.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/dataset/formats.h"
#include "replay/io/io.h"
#include "replay/dataset/python_file.h"
#include "replay/dataset/python_gzip.h"

#define PIECE 262144   /* of pandas' parser */
#define DIGITS 3       /* of a byte */
#define TEXT_LEFT 0.47 /* share that zlib leaves of the text of random bytes */
#define NUMBER_MOST 20 /* digits of a uint64 */

/* --- the layout ----------------------------------------------------------- */

static uint64_t digits_of(uint64_t v)
{
	uint64_t n = 1;

	while (v /= 10)
		n++;
	return n;
}

/* Values of each row of @file: those that fit into its shortest row. */
static uint64_t values_of(const struct dataset *d, uint64_t file)
{
	uint64_t first = file * d->samples_per_file;
	uint64_t end = digits_of(first + d->samples_per_file - 1) + 1;
	uint64_t least = dataset_sample_bytes(d, first);

	for (uint64_t i = 1; d->sample_bytes->n > 1 && i < d->samples_per_file;
	     i++) {
		uint64_t bytes = dataset_sample_bytes(d, first + i);

		if (bytes < least)
			least = bytes;
	}
	return least > end ? (least - end) / (DIGITS + 1) : 0;
}

static uint64_t row_bytes(const struct dataset *d, uint64_t sample)
{
	uint64_t least = digits_of(sample) + 1; /* and the end of the line */
	uint64_t bytes = dataset_sample_bytes(d, sample);

	return bytes > least ? bytes : least;
}

/* --- writing -------------------------------------------------------------- */

static void put_zeros(struct file_out *out, uint64_t n)
{
	static const char zeros[] = "0000000000000000000000000000000";

	for (uint64_t some; n; n -= some) {
		some = n < sizeof(zeros) - 1 ? n : sizeof(zeros) - 1;
		file_out_put(out, zeros, some);
	}
}

/* ",007", with as many zeros before it. */
static void put_value(struct file_out *out, uint8_t v, uint64_t zeros)
{
	char text[DIGITS] = {(char)('0' + v / 100), (char)('0' + v / 10 % 10),
			     (char)('0' + v % 10)};

	file_out_put(out, ",", 1);
	if (zeros)
		put_zeros(out, zeros);
	file_out_put(out, text, sizeof(text));
}

static void put_row(struct file_out *out, const struct dataset *d,
		    uint64_t sample, uint64_t values)
{
	uint64_t bytes = row_bytes(d, sample), left, zeros, done = 0;
	char number[NUMBER_MOST + 1];
	uint8_t payload[4096];
	int n = snprintf(number, sizeof(number), "%llu",
			 (unsigned long long)sample);

	left = bytes - (uint64_t)n - 1 - values * (DIGITS + 1);
	zeros = values ? left / values : 0;
	put_zeros(out, left - zeros * values);
	file_out_put(out, number, (size_t)n);
	while (done < values) {
		size_t some = values - done < sizeof(payload)
				      ? (size_t)(values - done)
				      : sizeof(payload);

		dataset_payload(d, sample, done, payload, some);
		for (size_t i = 0; i < some; i++)
			put_value(out, payload[i], zeros);
		done += some;
	}
	file_out_put(out, "\n", 1);
}

static uint64_t file_bytes(const struct dataset *d, uint64_t file)
{
	uint64_t first = file * d->samples_per_file, bytes = 0;

	for (uint64_t i = 0; i < d->samples_per_file; i++)
		bytes += row_bytes(d, first + i);
	return bytes;
}

static uint64_t packed_bytes(const struct dataset *d, uint64_t file)
{
	return deflated_bytes(file_bytes(d, file), d->samples_per_file,
			      TEXT_LEFT * (1 - d->is->compressibility));
}

static int csv_write(const struct dataset *d, uint64_t file, const char *path,
		     struct reel_error *err)
{
	uint64_t first = file * d->samples_per_file;
	uint64_t values = values_of(d, file);
	struct file_out out;

	if (file_out_open(&out, path, err))
		return -1;
	if (d->is->compression)
		file_out_gzip(&out, d->is->compression_level,
			      file_bytes(d, file), packed_bytes(d, file));
	for (uint64_t i = 0; i < d->samples_per_file; i++)
		put_row(&out, d, first + i, values);
	if (d->is->compression)
		file_out_gzip_end(&out);
	return file_out_close(&out, err);
}

static uint64_t csv_disk_bytes(const struct dataset *d, uint64_t file)
{
	if (d->is->compression)
		return packed_bytes(d, file) + GZIP_AROUND;
	return dataset_file_bytes(d, file) +
	       d->samples_per_file * (NUMBER_MOST + 1);
}

static uint64_t csv_file_bytes(const struct dataset *d, uint64_t file)
{
	return d->is->compression ? packed_bytes(d, file) + GZIP_AROUND
				  : file_bytes(d, file);
}

/* --- the reader ----------------------------------------------------------- */

/* pandas has parsed the file when it is open: samples come from memory. */
struct csv {
	const struct dataset *d;
	bool null;
	uint64_t first;	  /* sample of the file */
	uint64_t *number; /* of each row; NULL on null storage */
	/* while it is parsed */
	uint64_t row, row_bytes, at; /* the row, its size, the place in it */
	bool counting;		     /* within its first column */
};

/* Rows are found by their sizes; one that does not end where it should is not
 * ours. */
static int parse(struct csv *r, const char *p, size_t n, struct reel_error *err)
{
	for (size_t i = 0; i < n;) {
		if (r->counting && r->row < r->d->samples_per_file &&
		    p[i] >= '0' && p[i] <= '9' && r->at + 1 < r->row_bytes) {
			uint64_t *v = &r->number[r->row];

			*v = *v * 10 + (uint64_t)(p[i++] - '0');
			r->at++;
			continue;
		}
		r->counting = false;
		if (r->row < r->d->samples_per_file &&
		    r->at + (n - i) < r->row_bytes) {
			r->at += n - i;
			return 0;
		}
		if (r->row < r->d->samples_per_file)
			i += r->row_bytes - r->at;
		if (r->row == r->d->samples_per_file || p[i - 1] != '\n')
			return reel_fail(err, REEL_E_FORMAT,
					 "it is not as it was made: row %llu "
					 "has another size",
					 (unsigned long long)r->row);
		r->row++;
		r->at = 0;
		r->counting = true;
		if (r->row < r->d->samples_per_file)
			r->row_bytes = row_bytes(r->d, r->first + r->row);
	}
	return 0;
}

/* Parse the pieces that Python's file gives, to its end. */
static int load_plain(struct csv *r, struct python_file *f, uint8_t *piece,
		      struct reel_error *err)
{
	int64_t got = 1;

	while (got) {
		got = python_read(f, piece, PIECE, err);
		if (got < 0 || parse(r, (char *)piece, (size_t)got, err))
			return -1;
	}
	return 0;
}

/* Those of a gzip file: a piece is filled, and its end is looked for once more. */
static int load_gzip(struct csv *r, struct python_file *f, uint8_t *piece,
		     struct reel_error *err)
{
	struct python_gzip *g = python_gzip_open(f, err);
	uint64_t n = 1;
	int rc = g ? 0 : -1;

	while (!rc && n) {
		int64_t got = 1;

		for (n = 0; got && n < PIECE; n += (uint64_t)got) {
			got = python_gzip_read(g, piece + n, PIECE - n, err);
			if (got < 0)
				break;
		}
		rc = got < 0 ? -1 : parse(r, (char *)piece, n, err);
	}
	python_gzip_close(g);
	return rc;
}

static int load(struct csv *r, struct io *io, const char *path,
		struct reel_error *err)
{
	struct python_file f = {.fd = -1};
	bool gzip = r->d->is->compression;
	uint64_t size = 0;
	uint8_t *piece = reel_alloc(PIECE, 1, err);
	int rc = -1;

	r->row_bytes = row_bytes(r->d, r->first);
	r->counting = true;
	/* pandas does not ask for the size of a gzip file. */
	if (!piece || (!gzip && io_stat(io, path, &size, err)) ||
	    python_open(&f, io, path, size, err))
		goto out;
	rc = gzip ? load_gzip(r, &f, piece, err)
		  : load_plain(r, &f, piece, err);
	if (!rc && r->row < r->d->samples_per_file)
		rc = reel_fail(err, REEL_E_FORMAT,
			       "it is shorter than it was made: %llu rows",
			       (unsigned long long)r->row);
out:
	if (f.fd >= 0 && python_close(&f, err))
		rc = -1;
	free(piece);
	return rc;
}

static int csv_close(void *state, struct reel_error *err)
{
	struct csv *r = state;

	if (r)
		free(r->number);
	free(r);
	return 0;
}

static int csv_open(void **state, const struct dataset *d, uint64_t file,
		    struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct csv *r = reel_alloc(1, sizeof(*r), err);
	int rc = io->null ? 0 : -1;

	if (!r)
		return -1;
	r->d = d;
	r->null = io->null;
	r->first = file * d->samples_per_file;
	if (!io->null)
		r->number = reel_alloc(d->samples_per_file, 8, err);
	if (r->number && !dataset_path(d, file, &path, err))
		rc = load(r, io, reel_buf_text(&path), err);
	reel_buf_fini(&path);
	if (rc) {
		csv_close(r, NULL);
		return -1;
	}
	*state = r;
	return 0;
}

static int csv_read(void *state, uint64_t sample, struct format_sample *out,
		    struct reel_error *err)
{
	struct csv *r = state;

	out->bytes = row_bytes(r->d, sample);
	out->number = r->null ? UINT64_MAX : r->number[sample - r->first];
	return 0;
}

/* --- files of others ------------------------------------------------------ */

/* The sizes of the lines. A header counts as one: it cannot be told from a row. */
static int csv_inspect(const char *path, int64_t **sizes, uint32_t *n,
		       uint32_t *room, struct reel_error *err)
{
	gzFile f = gzopen(path, "rbe"); /* plain text too */
	char *piece = reel_alloc(PIECE, 1, err);
	int64_t line = 0;
	int rc = piece ? 0 : -1;
	int got;

	while (f && !rc && (got = gzread(f, piece, PIECE)) > 0) {
		for (int i = 0; !rc && i < got; i++) {
			line++;
			if (piece[i] != '\n')
				continue;
			rc = reel_array_reach(sizes, room, *n, sizeof(**sizes),
					      err);
			if (!rc)
				(*sizes)[(*n)++] = line;
			line = 0;
		}
	}
	free(piece);
	if (f)
		gzclose(f);
	return rc;
}

const struct format format_csv = {
	.name = "csv",
	.suffix = "csv",
	.gzip = true,
	.write = csv_write,
	.disk_bytes = csv_disk_bytes,
	.file_bytes = csv_file_bytes,
	.inspect = csv_inspect,
	.storage = gzip_storage,
	.open = csv_open,
	.read = csv_read,
	.close = csv_close,
};

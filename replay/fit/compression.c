/* SPDX-License-Identifier: MIT */
/*
 * Chunks and compression of the data set. The files show them where they are still
 * there, else their names and the sizes of reads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define LOOK_MOST 1000 /* files that are opened */

/* The files that were looked at. */
struct stored {
	uint32_t seen, gzip, labels;
	struct format_storage
		first;	  /* the first one that is compressed or chunked */
	double bytes;	  /* of all that were seen */
	int64_t *payload; /* of each; the first @payloads */
	uint32_t payloads;
};

static bool is_gz(const struct fit *f)
{
	size_t n = f->files ? strlen(f->file[0].path) : 0;

	return n > 3 && !strcasecmp(f->file[0].path + n - 3, ".gz");
}

static void look_at_files(struct fit *f, const struct format *format,
			  struct stored *s)
{
	for (uint32_t i = 0; i < f->files && i < LOOK_MOST; i++) {
		struct format_storage one;

		if (!format->storage(f->file[i].path, &one))
			continue;
		if ((one.gzip || one.chunk_bytes) && !s->first.gzip &&
		    !s->first.chunk_bytes)
			s->first = one;
		s->seen++;
		s->gzip += one.gzip;
		s->labels += one.labels;
		s->bytes += (double)f->file[i].size;
		if (one.payload_bytes)
			s->payload[s->payloads++] = one.payload_bytes;
	}
}

/* Bytes of a sample in columns that are not compressed with the others. */
static int64_t contiguous_bytes(const struct workload_dataset *d)
{
	int64_t bytes = 0;

	for (uint32_t i = 0; i < d->columns_n; i++)
		if (d->columns[i].contiguous)
			bytes += d->columns[i].count * d->columns[i].bytes;
	return bytes;
}

/* The share of the payload that compression removes, so that files get as large. */
static int fit_compressibility(struct fit *f, const struct stored *s)
{
	struct workload_dataset *d = &f->w->dataset;
	double rows = (double)d->samples_per_file;
	double plain = rows * (double)contiguous_bytes(d);
	double mean = rows * quantiles_mean(&d->sample_bytes) - plain;
	double left =
		s->seen && mean > 0 ? (s->bytes / s->seen - plain) / mean : 1;

	/* Text gets smaller whatever its values are. */
	if (d->format == WORKLOAD_CSV)
		return 0;
	d->compressibility = left < 1 ? 1 - (left > 0 ? left : 0) : 0;
	return fit_reason(f, "dataset.compressibility", 0.8,
			  "the files have %.3g of the bytes of their samples",
			  left < 1 ? left : 1);
}

/* The bytes of an array of labels were taken from each sample; there is none. */
static void add_labels(struct fit *f, const struct format *format,
		       const struct stored *s)
{
	struct workload_dataset *d = &f->w->dataset;
	int64_t more;

	if (!s->payloads || !format->payload)
		return;
	more = s->payload[0] -
	       (int64_t)format->payload((uint64_t)f->file[0].size, 1);
	for (uint32_t i = 0; more > 0 && i < d->sample_bytes.n; i++)
		d->sample_bytes.value[i] += more;
	for (uint32_t i = 0; more > 0 && i < d->series_bytes_n; i++)
		d->series_bytes[i] += more;
}

static int fit_from_files(struct fit *f, const struct format *format,
			  const struct stored *s)
{
	struct workload_dataset *d = &f->w->dataset;

	d->compression = s->gzip * 2 > s->seen ? WORKLOAD_GZIP : WORKLOAD_PLAIN;
	d->labels =
		!d->columns_n &&
		((d->format != WORKLOAD_NPZ && d->format != WORKLOAD_HDF5) ||
		 (!f->partial && !f->arrays && s->labels * 2 > s->seen));
	d->chunk_bytes = s->first.chunk_bytes;
	d->chunk_samples =
		d->sample_bytes.n > 1 || f->arrays ? 0 : s->first.chunk_samples;
	/* The arrays become one, of as many chunks as they have. */
	if (f->arrays && d->chunk_bytes && s->first.chunks)
		d->chunk_bytes = (s->first.arrays_bytes + s->first.chunks - 1) /
				 s->first.chunks;
	if (d->compression && s->first.level)
		d->compression_level = s->first.level;
	if (fit_reason(f, "dataset.compression", 0.95,
		       "%u of %u files that are still there are compressed",
		       s->gzip, s->seen))
		return -1;
	if (d->format == WORKLOAD_HDF5 &&
	    fit_reason(f, "dataset.chunk_bytes", 0.95,
		       d->chunk_bytes && f->arrays
			       ? "mean chunk of the arrays of a file that is "
				 "still there"
		       : d->chunk_bytes
			       ? "the chunks of the largest array of a file "
				 "that is still there"
			       : "the largest array of a file that is "
				 "still there is contiguous"))
		return -1;
	if (d->format == WORKLOAD_HDF5 && d->labels &&
	    fit_reason(f, "dataset.labels", 0.3,
		       "the files have arrays of other types beside the "
		       "largest: the benchmark reads rows of that alone"))
		return -1;
	if (d->chunk_samples &&
	    fit_reason(f, "dataset.chunk_samples", 0.95,
		       "a chunk has a part of each of %lld samples",
		       (long long)d->chunk_samples))
		return -1;
	if (!d->compression) {
		if (!d->labels && !f->partial)
			add_labels(f, format, s);
		return 0;
	}
	/* Sizes of files were taken for those of samples. */
	if (s->payloads &&
	    (quantiles_of(&d->sample_bytes, s->payload, s->payloads,
			  FIT_QUANTILES, f->err) ||
	     fit_reason(f, "dataset.sample_bytes", 0.95,
			"decompressed sizes of the first arrays")))
		return -1;
	return fit_compressibility(f, s);
}

/* The size of more than half of the large reads, when it is less than a sample: a
 * reader of chunks takes each in a read. */
static int fit_chunks_of_reads(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	int64_t bytes = 0, count = 0, all = 0;
	struct reel_view v;

	if (!reel_view_open(&v, f->st,
			    "SELECT bytes, count(*) AS n FROM v_event WHERE "
			    "class = 'data' AND call IN ('read', 'pread', "
			    "'pread64') AND bytes >= 1024 GROUP BY bytes "
			    "ORDER BY n",
			    f->err))
		while (reel_view_next(&v)) {
			bytes = reel_view_int(&v, "bytes");
			count = reel_view_int(&v, "n");
			all += count;
		}
	if (reel_view_close(&v))
		return -1;
	if (2 * count <= all ||
	    (double)bytes >= quantiles_mean(&d->sample_bytes))
		return fit_reason(f, "dataset.chunk_bytes", 0.2,
				  "the files are not here, and reads have no "
				  "size below that of a sample in common");
	d->chunk_bytes = bytes;
	return fit_reason(f, "dataset.chunk_bytes", 0.4,
			  "the files are not here; %lld of %lld reads from "
			  "1 KiB on are of this size",
			  (long long)count, (long long)all);
}

#define ROWS_ALIKE 0.02	 /* of bytes */
#define GROUPS_LEAST 1.5 /* in a read that has several */
#define OWN_BYTES 12 /* of a row without dataset.columns: a number, a length */
#define NUMBER_BYTES 8	/* the column of numbers, which is always read */
#define PAIRS_MOST 128	/* of columns: one that is read, one that is not */
#define ALL_COLUMNS 0.9 /* of the bytes: more is all of them */

static int64_t without(int64_t bytes, int64_t own)
{
	return bytes > own ? bytes - own : 1;
}

/* Have the first @n columns of @pairs times one that is read and one that is not; those
 * that are read have @row_read bytes of a row. */
static int set_columns(struct fit *f, double row_read, int64_t pairs, int64_t n)
{
	struct workload_dataset *d = &f->w->dataset;
	double row = quantiles_mean(&d->sample_bytes);
	int64_t read = llround(row_read / (double)pairs), sum = 0;
	int64_t rest = llround((row - row_read) / (double)pairs);

	d->columns = reel_alloc((size_t)n, sizeof(*d->columns), f->err);
	if (!d->columns)
		return -1;
	d->columns_n = (uint32_t)n;
	for (uint32_t i = 0; i < d->columns_n; i++) {
		int64_t bytes = i % 2 ? rest : read;

		if (!i)
			bytes -= NUMBER_BYTES;
		d->columns[i] =
			(struct workload_column){.bytes = bytes > 1 ? bytes : 1,
						 .count = 1,
						 .read = i % 2 == 0};
		sum += d->columns[i].bytes;
	}
	free(d->sample_bytes.value);
	d->sample_bytes.value = NULL;
	d->sample_bytes.n = 0;
	free(d->series_bytes);
	d->series_bytes = NULL;
	d->series_bytes_n = 0;
	return quantiles_of(&d->sample_bytes, &sum, 1, 1, f->err);
}

/* All columns are read, @row_read bytes of a row: as one of the benchmark, where the rows
 * are equal or compressed. Others have a number and a length beside their payload. */
static int set_all_columns(struct fit *f, double row_read)
{
	struct workload_dataset *d = &f->w->dataset;
	double row = quantiles_mean(&d->sample_bytes);

	if (d->sample_bytes.n == 1 || fabs(row_read / row - 1) > ROWS_ALIKE)
		return set_columns(f, row_read, 1, 1);
	for (uint32_t i = 0; i < d->sample_bytes.n; i++)
		d->sample_bytes.value[i] =
			without(d->sample_bytes.value[i], OWN_BYTES);
	for (uint32_t i = 0; i < d->series_bytes_n; i++)
		d->series_bytes[i] = without(d->series_bytes[i], OWN_BYTES);
	return 0;
}

/* A reader that merges reads takes several row groups in one, as pandas does with a whole
 * file: those are one of the benchmark, which reads each by itself. */
static int fit_groups_at_once(struct fit *f, double rows, double reads)
{
	struct workload_dataset *d = &f->w->dataset;
	double groups = rows / (double)d->row_group_rows;

	if (groups < GROUPS_LEAST * reads)
		return 0;
	d->row_group_rows = (int64_t)ceil(rows / reads);
	if (d->row_group_rows > d->samples_per_file)
		d->row_group_rows = d->samples_per_file;
	return fit_reason(f, "dataset.row_group_rows", 0.8,
			  "a read has %.1f row groups of a file, which are one "
			  "of the benchmark",
			  groups / reads);
}

/* The share of the files that was read tells the columns that are, and the reads of a
 * row group how many parts they are in. A read that reaches the end of its file is
 * for the footer. */
static int fit_columns(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	double groups, size = 0, share, rows;
	int64_t bytes, reads, pairs;

	if (fit_ask(f,
		    "SELECT sum(e.bytes) FROM v_event e JOIN v_file f USING "
		    "(path) WHERE e.class = 'data' AND e.call_group = 'read' "
		    "AND e.bytes > 0 AND e.offset + e.bytes < f.size_bytes AND "
		    "path LIKE '%.parquet'",
		    0, &bytes) ||
	    fit_ask(f,
		    "SELECT count(*) FROM v_event e JOIN v_file f USING (path) "
		    "WHERE e.class = 'data' AND e.call_group = 'read' AND "
		    "e.bytes > 0 AND e.offset + e.bytes < f.size_bytes AND "
		    "path LIKE '%.parquet'",
		    0, &reads))
		return -1;
	for (uint32_t i = 0; i < f->files; i++)
		size += (double)f->file[i].size;
	rows = (double)d->samples_per_file * f->files * (double)f->passes;
	groups = rows / (double)d->row_group_rows;
	share = (double)bytes / size / (double)f->passes;
	if (!reads || groups < 1 || d->columns_n)
		return fit_reason(f, "dataset.columns", 0,
				  "columns that are not read are not told from "
				  "others");
	if (fit_groups_at_once(f, rows, (double)reads))
		return -1;
	groups = rows / (double)d->row_group_rows;
	if (share >= ALL_COLUMNS)
		return set_all_columns(f, (double)bytes / rows) ||
		       fit_reason(f, "dataset.columns", 0.5,
				  "an epoch read %.0f %% of the bytes of the "
				  "files: all columns",
				  100 * share);
	pairs = llround((double)reads / groups);
	pairs = pairs < 1 ? 1 : pairs > PAIRS_MOST ? PAIRS_MOST : pairs;
	return set_columns(f, (double)bytes / rows, pairs, 2 * pairs) ||
	       fit_reason(f, "dataset.columns", 0.5,
			  "an epoch read %.0f %% of the bytes of the files, in "
			  "%.1f reads of a row group; the rest counts as "
			  "columns that are not read",
			  100 * share, (double)reads / groups);
}

/* The first file stands for all. */
static int fit_row_groups(struct fit *f, const struct format *format)
{
	struct workload_dataset *d = &f->w->dataset;
	struct format_storage one;

	if (fit_reason(f, "dataset.compression", 0.2,
		       "the encodings of the columns are not looked at"))
		return -1;
	if (!format->storage(f->file[0].path, &one) || one.row_group_rows < 1)
		return fit_reason(f, "dataset.columns", 0,
				  "columns that are not read are not told from "
				  "others") ||
		       fit_reason(f, "dataset.row_group_rows", 0,
				  "the first file cannot be read here");
	d->row_group_rows = one.row_group_rows;
	return fit_reason(f, "dataset.row_group_rows", 0.95,
			  "rows of the first group of a file") ||
	       fit_columns(f);
}

int fit_compression(struct fit *f)
{
	struct workload_dataset *d = &f->w->dataset;
	const struct format *format = format_of(d->format);
	struct stored s = {.seen = 0};
	int rc;

	if (!format || !format->storage)
		return 0;
	if (d->format == WORKLOAD_PARQUET)
		return fit_row_groups(f, format);
	s.payload = reel_alloc(LOOK_MOST, sizeof(*s.payload), f->err);
	if (!s.payload)
		return -1;
	look_at_files(f, format, &s);
	if (s.seen) {
		rc = fit_from_files(f, format, &s);
	} else {
		d->compression = format->gzip && is_gz(f) ? WORKLOAD_GZIP
							  : WORKLOAD_PLAIN;
		rc = fit_reason(f, "dataset.compression",
				format->gzip ? 0.8 : 0.1,
				format->gzip ? "the names of the files"
					     : "the files are not here, and "
					       "their names do not tell it");
		if (!rc && d->format == WORKLOAD_HDF5)
			rc = fit_chunks_of_reads(f);
	}
	free(s.payload);
	return rc;
}

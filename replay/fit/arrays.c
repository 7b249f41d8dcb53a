/* SPDX-License-Identifier: MIT */
/*
 * Samples that are a row of each of several arrays of a file, as an image, its mask and
 * its label in HDF5. The places of the reads show which arrays the job reads, how many
 * rows at once, and how many in all: a job may draw rows at random.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/dataset/format.h"
#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define COLUMNS_MOST 256      /* of a workload */
#define CHUNK_CACHE (1 << 20) /* of an open array, in HDF5 before 2.0 */
#define RING 64		      /* chunks that are remembered, at most */
#define AGAIN_LEAST 0.02      /* of the reads of an array */
#define EACH_LEAST 0.75	      /* of the rows: each takes a read */
#define STEPS_LEAST 8	 /* reads that show a common step of their places */
#define APART_LEAST 0.5	 /* of the reads: the array is read in random order */
#define SLICE_LEAST 0.75 /* of the bytes of an array: reads of as many rows */
#define HELD_MOST 0.5	 /* of the rows: the buffer has them by chance */

/* An array, and the reads of it. */
struct seen {
	struct format_array is;
	uint64_t reads;
	uint64_t whole; /* of them: of all of the array at once */
	uint64_t again; /* of bytes that an array that stays open still has */
	uint64_t apart; /* neither at bytes of the last read nor behind them */
	/* A contiguous array has them: the largest number that divides those of the
	 * rows with which reads begin; the rows of the first read that is no buffer,
	 * bytes of reads of as many, and of all. */
	int64_t step, slice, slice_bytes, bytes;
	int64_t large, large_bytes;  /* reads of more than the buffer */
	int64_t process_id, open_id; /* of the last read */
	int64_t offset, end;	     /* of it; of a contiguous array */
	int64_t ring[RING];	     /* places of the last chunks */
	uint32_t ringed;
	bool rows; /* are read */
};

struct arrays {
	struct seen *array;
	uint32_t n;
};

/* --- reads ---------------------------------------------------------------- */

/* An array that stays open holds its last chunks: half of what its cache has room
 * for, as chunks collide in it. */
static uint32_t chunks_held(const struct seen *s)
{
	int64_t room = s->is.chunk_bytes ? CHUNK_CACHE / s->is.chunk_bytes : 0;

	room = room > 1 ? room / 2 : room;
	return room < RING ? (uint32_t)room : RING;
}

static bool is_held(const struct seen *s, int64_t offset, int64_t bytes)
{
	uint32_t held = chunks_held(s);

	if (!s->is.chunk_bytes) /* larger reads go past the buffer */
		return bytes && s->end - s->offset <= FIT_HDF5_BUFFER &&
		       offset >= s->offset &&
		       offset + s->is.row_bytes <= s->end;
	for (uint32_t i = 0; i < held && i < s->ringed; i++)
		if (s->ring[(s->ringed - 1 - i) % RING] == offset)
			return true;
	return false;
}

/* Count the rows of a read. One of more than the buffer is of the slice that the job
 * asks for. */
static void add_slice(struct seen *s, int64_t offset, int64_t bytes)
{
	int64_t row = s->is.row_bytes, at = offset - s->is.from;

	if (s->is.chunk_bytes || row <= 0)
		return;
	s->bytes += bytes;
	s->step = at % row ? 1 : workload_common_divisor(s->step, at / row);
	if (bytes <= FIT_HDF5_BUFFER)
		return;
	s->large++;
	s->large_bytes += bytes;
	if (at % row || bytes % row)
		return;
	if (!s->slice)
		s->slice = bytes / row;
	if (s->slice == bytes / row)
		s->slice_bytes += bytes;
}

static void add_read(struct seen *s, struct reel_view *v, int64_t offset,
		     int64_t bytes)
{
	int64_t process = reel_view_exact(v, "process_id");
	int64_t open = reel_view_exact(v, "open_id");

	if (s->process_id != process || s->open_id != open) {
		s->process_id = process;
		s->open_id = open;
		s->offset = s->end = 0;
		s->ringed = 0;
	}
	s->again += is_held(s, offset, bytes);
	s->reads++;
	s->apart += offset < s->offset || offset > s->end;
	add_slice(s, offset, bytes);
	s->whole += offset == s->is.from && offset + bytes == s->is.to;
	s->offset = offset;
	s->end = offset + bytes;
	s->ring[s->ringed++ % RING] = offset;
}

/* The array that has a read at @offset; NULL: none is known to. Chunks of arrays that
 * were written by turns are between each other, so their places are compared. */
static struct seen *array_at(struct arrays *a, int64_t offset)
{
	struct seen *found = NULL;

	for (uint32_t i = 0; i < a->n; i++) {
		struct seen *s = &a->array[i];

		if (offset < s->is.from || offset >= s->is.to)
			continue;
		for (uint32_t k = 0; k < s->is.places; k++)
			if (s->is.place[k] == offset)
				return s;
		if (!s->is.chunk_bytes)
			return s;
		/* The narrowest range is the best guess. */
		if (!found ||
		    s->is.to - s->is.from < found->is.to - found->is.from)
			found = s;
	}
	return found;
}

static int load_reads(struct fit *f, const struct fit_file *of,
		      struct arrays *a)
{
	struct reel_view v;

	if (!reel_view_open(&v, f->st,
			    "SELECT path, process_id, open_id, offset, bytes, "
			    "start_ns FROM v_event WHERE class = 'data' AND "
			    "call_group = 'read' AND bytes > 0 AND offset IS "
			    "NOT NULL AND call NOT LIKE 'map%' ORDER BY "
			    "process_id, start_ns",
			    f->err))
		while (reel_view_next(&v)) {
			int64_t offset = reel_view_exact(&v, "offset");
			struct seen *s;

			if (fit_find(f, reel_view_text(&v, "path")) != of ||
			    fit_evaluates(f, reel_view_exact(&v, "start_ns")))
				continue;
			s = array_at(a, offset);
			if (s)
				add_read(s, &v, offset,
					 reel_view_exact(&v, "bytes"));
		}
	return reel_view_close(&v);
}

/* Are rows of it read, and not all of it at once? The buffer of one that stays @open may
 * have all of a small array. */
static bool reads_rows(const struct seen *s, bool open)
{
	return s->reads > s->whole ||
	       (open && s->reads && s->is.to - s->is.from <= FIT_HDF5_BUFFER);
}

/* --- keys ----------------------------------------------------------------- */

static int by_width(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->rows != y->rows)
		return x->rows ? -1 : 1;
	return (x->is.row_bytes < y->is.row_bytes) -
	       (x->is.row_bytes > y->is.row_bytes);
}

/* Those of which rows are read first, the widest of them before the others: their
 * number. */
static uint32_t sort_arrays(struct arrays *a, bool open)
{
	uint32_t read = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		a->array[i].rows = reads_rows(&a->array[i], open);
		read += a->array[i].rows;
	}
	qsort(a->array, a->n, sizeof(*a->array), by_width);
	return read;
}

/* Samples have @bytes bytes each, in place of the sizes so far. */
static int put_one_size(struct fit *f, int64_t bytes)
{
	struct quantiles *q = &f->w->dataset.sample_bytes;

	free(q->value);
	q->value = NULL;
	q->n = 0;
	return fit_sizes(f, &bytes, 1, false);
}

/* Make a column of each of the first @n arrays, of which @read are read: the
 * first has the number of the sample. Equal ones are one. */
static int put_columns(struct fit *f, const struct arrays *a, uint32_t n,
		       uint32_t read)
{
	struct workload_dataset *d = &f->w->dataset;
	struct workload_column *c = reel_alloc(n, sizeof(*c), f->err);
	int64_t bytes = 0;
	uint32_t to = 0;

	if (!c)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		const struct seen *s = &a->array[i];
		struct workload_column one = {
			.bytes = s->is.row_bytes,
			.count = 1,
			.read = s->rows,
			.contiguous = !s->is.chunk_bytes &&
				      a->array[0].is.chunk_bytes};

		bytes += one.bytes;
		if (to && c[to - 1].bytes == one.bytes &&
		    c[to - 1].read == one.read &&
		    c[to - 1].contiguous == one.contiguous)
			c[to - 1].count++;
		else
			c[to++] = one;
	}
	if (to > COLUMNS_MOST) {
		free(c);
		return fit_reason(f, "dataset.columns", 0,
				  "%u arrays have rows of the samples, of %u "
				  "sizes: the benchmark reads those of one",
				  n, to);
	}
	d->columns = c;
	d->columns_n = to;
	d->labels = false;
	return put_one_size(f, bytes) ||
	       fit_reason(f, "dataset.columns", 0.9,
			  "rows of %u of the %u arrays of a file that have as "
			  "many were read",
			  read, n) ||
	       fit_reason(f, "dataset.sample_bytes", 0.9,
			  "a row of each of those arrays");
}

static bool is_read_again(const struct seen *s)
{
	return s->again && (double)s->again >= AGAIN_LEAST * (double)s->reads;
}

static bool is_read_apart(const struct seen *s)
{
	return (double)s->apart >= APART_LEAST * (double)s->reads;
}

/* The rows of a read of @s, where they are the same as a rule. A small slice is read
 * with what is behind it: the places show it, unless an array that stays open gives
 * several of them from its buffer in turn. */
static int64_t slice_of(const struct seen *s)
{
	bool shown = is_read_again(s) || is_read_apart(s);

	if ((double)s->slice_bytes >= SLICE_LEAST * (double)s->bytes &&
	    s->slice)
		return s->slice;
	return shown && s->reads >= STEPS_LEAST &&
			       s->step * s->is.row_bytes <= FIT_HDF5_BUFFER
		       ? s->step
		       : 1;
}

/* --- rows that are drawn -------------------------------------------------- */

/* The rows of a window: reads of more than the buffer that are apart and begin at any
 * row, of one length or of several with this mean; 0: there are none. */
static int64_t window_of(const struct seen *s)
{
	int64_t rows;

	if (s->is.chunk_bytes || s->reads < STEPS_LEAST || !s->large ||
	    !is_read_apart(s) ||
	    (double)s->large_bytes < SLICE_LEAST * (double)s->bytes)
		return 0;
	rows = (double)s->slice_bytes >= SLICE_LEAST * (double)s->bytes
		       ? s->slice
		       : s->large_bytes / s->large / s->is.row_bytes;
	return rows > 1 && rows <= s->is.rows && s->step % rows ? rows : 0;
}

/* Windows at random places are the samples, or the benchmark would read an epoch of rows.
 * Their rows become one in all arrays of @a. Gives the rows of these. */
static int put_windows(struct fit *f, struct arrays *a, int64_t *rows)
{
	struct workload_dataset *d = &f->w->dataset;
	int64_t n = 0, bytes;

	for (uint32_t i = 0; !n && i < a->n; i++)
		if (a->array[i].rows)
			n = window_of(&a->array[i]);
	if (!n)
		return 0;
	for (uint32_t i = 0; i < a->n; i++) {
		struct seen *s = &a->array[i];

		s->is.rows /= n;
		s->is.row_bytes *= n;
		s->step = s->slice = 1;
	}
	*rows = d->samples_per_file = a->array[0].is.rows;
	bytes = a->array[0].is.row_bytes;
	f->windows = true;
	return put_one_size(f, bytes) ||
	       fit_reason(f, "dataset.samples_per_file", 0.7,
			  "reads begin at any row: a sample is a window of "
			  "%lld rows, and those of the benchmark begin at "
			  "multiples of them",
			  (long long)n) ||
	       fit_reason(f, "dataset.sample_bytes", 0.7,
			  "the bytes of such a window");
}

/* The share of the rows that an array which stays open holds by chance, where they are
 * in any order: the benchmark's holds them, too. */
static double share_held(const struct seen *s)
{
	double row = (double)s->is.row_bytes, room = FIT_HDF5_BUFFER - row;

	if (is_read_again(s))
		return 0;
	if (s->is.chunk_bytes)
		return CHUNK_CACHE / ((double)s->is.rows * row);
	return room > 0 ? room / (double)(s->is.to - s->is.from) : 0;
}

/* The rows that the training reads of @s, from its file; 0: not seen. A read that is
 * apart is for a row, whatever is read with it. */
static double count_rows(const struct fit *f, const struct seen *s)
{
	double row = (double)s->is.row_bytes, held = share_held(s), parts = 1;
	double small = (double)s->reads - (double)s->large;

	if (!is_read_again(s) && !is_read_apart(s))
		return s->is.chunk_bytes ? 0 : (double)s->bytes / row;
	if (held > HELD_MOST)
		return 0;
	if (s->is.chunk_bytes)
		parts = ceil(row * (double)s->is.chunk_rows /
			     (double)s->is.chunk_bytes);
	else
		small *= (double)f->w->access.slice_samples;
	return (double)s->large_bytes / row + small / parts / (1 - held);
}

/* The bytes that the training reads, in those of the file @of. */
static double all_files(const struct fit *f, const struct fit_file *of)
{
	double all = 0, of_file = 0;

	for (uint32_t i = 0; i < f->visits; i++) {
		all += (double)f->visit[i].bytes;
		if (f->file + f->visit[i].file == of)
			of_file += (double)f->visit[i].bytes;
	}
	return of_file > 0 ? all / of_file : 1;
}

/* Buffers around rows make the bytes many more than those of the rows: these are the
 * epochs where none is marked, and windows have none. */
static int put_epochs(struct fit *f)
{
	double rows = (double)f->w->dataset.samples_per_file * f->files;
	int64_t n = f->windows ? 1 : llround(f->rows_read / rows);

	if (f->marked || f->passes != f->epochs || !f->steps ||
	    (f->rows_chunked && f->rows_read < rows))
		return 0;
	f->epochs = f->passes = f->w->epochs = n > 1 ? n : 1;
	f->steps_of_epoch = (f->steps + f->epochs - 1) / f->epochs;
	return fit_reason(f, "epochs", 0.3,
			  f->windows ? "no epoch was marked, and windows show "
				       "none: all steps are one"
				     : "no epoch was marked: the rows that "
				       "were read, of those of the files");
}

static int put_rows(struct fit *f, const struct seen *s,
		    const struct fit_file *of)
{
	f->rows_chunked = s->is.chunk_bytes > 0;
	f->rows_read = count_rows(f, s) * all_files(f, of);
	return f->rows_read > 0 ? put_epochs(f) : 0;
}

/* --- all of them ---------------------------------------------------------- */

/* The widest array that shows it has the rows of a slice. */
static int put_slice(struct fit *f, const struct arrays *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		int64_t n = a->array[i].rows ? slice_of(&a->array[i]) : 1;

		if (n < 2 || n > a->array[i].is.rows)
			continue;
		f->w->access.slice_samples = n;
		return fit_reason(f, "access.slice_samples", 0.8,
				  "reads of an array begin and end at "
				  "multiples of %lld rows",
				  (long long)n);
	}
	return 0;
}

/* Each slice takes a read of an array that does not stay open, or as many of them as
 * reads draw. */
static int put_reopen(struct fit *f, const struct arrays *a)
{
	int64_t slices = a->array[0].is.rows / f->w->access.slice_samples;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct seen *s = &a->array[i];

		if (!is_read_again(s) ||
		    (!(i == 0 && is_read_apart(s)) &&
		     (double)s->reads <
			     EACH_LEAST * (double)slices * (double)f->passes))
			continue;
		f->w->access.reopen_arrays = true;
		return fit_reason(f, "access.reopen_arrays", 0.8,
				  "%llu of %llu reads of an array were of "
				  "bytes that one that stays open still has",
				  (unsigned long long)s->again,
				  (unsigned long long)s->reads);
	}
	return 0;
}

static int judge(struct fit *f, struct arrays *a, int64_t rows,
		 const struct fit_file *of)
{
	int64_t largest = 0;
	uint32_t n = 0, read;

	/* Others, as names of classes, have no row of a sample. */
	for (uint32_t i = 0; i < a->n; i++)
		if (a->array[i].is.rows == rows && a->array[i].is.row_bytes > 0)
			a->array[n++] = a->array[i];
	a->n = n;
	if (!sort_arrays(a, false))
		return 0;
	f->rows_from = a->array[0].is.from;
	f->rows_to = a->array[0].is.to;
	if (put_windows(f, a, &rows) || put_slice(f, a) ||
	    put_rows(f, &a->array[0], of) || put_reopen(f, a))
		return -1;
	read = sort_arrays(a, !f->w->access.reopen_arrays);
	for (uint32_t i = 0; i < n; i++)
		if (a->array[i].is.row_bytes > largest)
			largest = a->array[i].is.row_bytes;
	return read > 1 || a->array[0].is.row_bytes < largest
		       ? put_columns(f, a, n, read)
		       : 0;
}

int fit_arrays(struct fit *f)
{
	const struct workload_dataset *d = &f->w->dataset;
	const struct format *format = format_of(d->format);
	struct format_array *is = NULL;
	const struct fit_file *of = f->file;
	struct arrays a = {.n = 0};
	uint32_t n = 0, room = 0;
	int rc;

	if (!format || !format->arrays || f->arrays || f->w->access.chain_n ||
	    d->sample_bytes.n != 1 || d->samples_per_file < 2)
		return 0;
	for (uint32_t i = 1; i < f->files; i++)
		if (f->file[i].read_bytes > of->read_bytes)
			of = &f->file[i];
	rc = format->arrays(of->path, &is, &n, &room, f->err);
	if (!rc && n) {
		a.array = reel_alloc(n, sizeof(*a.array), f->err);
		rc = a.array ? 0 : -1;
	}
	for (uint32_t i = 0; !rc && i < n; i++)
		a.array[a.n++].is = is[i];
	rc = rc || (n && (load_reads(f, of, &a) ||
			  judge(f, &a, d->samples_per_file, of)));
	free(is);
	free(a.array);
	return rc ? -1 : 0;
}

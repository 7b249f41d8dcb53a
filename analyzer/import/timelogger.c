/* SPDX-License-Identifier: MIT */
/*
 * Import the phases of TimeLogger: its text, the CSV that its script makes of
 * it, and the CSV of the published HEPCNNB runs. A line is a phase of a rank;
 * each becomes a span.
 *
 * A rank has one timeline. Training iterations are its steps, numbered from 0
 * in the order of their starts, as TimeLogger has no number; an epoch is the
 * time of the iterations with its number.
 *
 * Source: time_logger.py and write_time_logger_messages.py of NERSC's
 * DL-Parallel-IO.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/source.h"

#include "analyzer/import/common/csv_rows.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/lines.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/table.h"

#define HEPCNN_HEADER "epoch,rank,component,start_s,dur_s"
#define SCRIPT_HEADER "Epoch, Rank, Action Name, Action Description"
#define TEXT_MARK "TIME LOGGER OUTPUT"
#define PAYLOAD_MARK "For Excel:"
#define HEAD_BYTES 16384
#define FIELDS_MOST 24

enum variant { VARIANT_TEXT, VARIANT_SCRIPT, VARIANT_HEPCNN };

/* A phase of the text, of HEPCNNB's CSV, and of the store. */
static const struct phase {
	const char *description, *component, *name;
	enum reel_span kind;
} phases[] = {
	{"HDF5 File Read", "read", "read", REEL_SPAN_USER},
	{"Time to Read Single Image", "", "read", REEL_SPAN_USER},
	{"Load File", "load", "load", REEL_SPAN_USER},
	{"Call to Next Batch", "next_batch", "fetch", REEL_SPAN_FETCH},
	{"Training Iteration", "train_iter", "training", REEL_SPAN_STEP},
	{"Checkpoint Listener", "checkpoint", "checkpoint",
	 REEL_SPAN_CHECKPOINT},
};

struct entry {
	int64_t start_ns, dur_ns, epoch, pid, tid;
	int32_t rank; /* -1: not known */
	uint32_t order;
	enum reel_span kind;
	const char *name; /* kept by gather */
};

struct import {
	struct import_gather *gather;
	struct entry *entry;
	uint32_t entries, room;
	uint64_t bad, first_bad;
	bool absolute; /* times are of the wall clock */
	int64_t ranks;
};

/* --- lines ---------------------------------------------------------------- */

/* The fields of @line, without blanks around them; the last has the rest. */
static unsigned int split_fields(const char *line, size_t len,
				 struct import_cell field[FIELDS_MOST])
{
	const char *p = line, *end = line + len;
	unsigned int n = 0;

	for (;;) {
		const char *comma = n + 1 < FIELDS_MOST
					    ? memchr(p, ',', (size_t)(end - p))
					    : NULL;
		const char *to = comma ? comma : end;

		while (p < to && *p == ' ')
			p++;
		field[n] = (struct import_cell){p, (size_t)(to - p), false};
		while (field[n].len && field[n].s[field[n].len - 1] == ' ')
			field[n].len--;
		n++;
		if (!comma)
			return n;
		p = comma + 1;
	}
}

static bool field_integer(const struct import_cell *f, int64_t *out)
{
	return !memchr(f->s, '.', f->len) && import_cell_decimal(f, 0, out);
}

/* A time that sums of some thousand others keep in range. */
static bool field_ns(const struct import_cell *f, int64_t *out)
{
	return import_cell_decimal(f, 9, out) && *out > -(INT64_MAX / 4) &&
	       *out < INT64_MAX / 4;
}

/* The number of "<_MainThread(MainThread, started 4711)>", or 0. */
static int64_t thread_of(const struct import_cell *f, const char *end)
{
	const char *p = memmem(f->s, (size_t)(end - f->s), "started ", 8);
	int64_t tid = 0;

	if (!p)
		return 0;
	for (p += 8; p < end && (*p < '0' || *p > '9'); p++)
		;
	for (; p < end && *p >= '0' && *p <= '9' && tid < INT64_MAX / 16; p++)
		tid = 10 * tid + (*p - '0');
	return tid;
}

static const struct phase *find_phase(const struct import_cell *name, bool csv)
{
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		const char *known =
			csv ? phases[i].component : phases[i].description;

		if (name->len && strlen(known) == name->len &&
		    !memcmp(known, name->s, name->len))
			return &phases[i];
	}
	return NULL;
}

static int set_name(struct import *im, struct entry *e,
		    const struct import_cell *name, bool csv,
		    struct reel_error *err)
{
	const struct phase *known = find_phase(name, csv);
	char text[256];
	size_t n = name->len < 255 ? name->len : 255;

	e->kind = known ? known->kind : REEL_SPAN_USER;
	memcpy(text, name->s, n);
	text[n] = '\0';
	e->name = known	  ? known->name
		  : *text ? gather_keep(im->gather, text, err)
			  : "unnamed";
	return e->name ? 0 : -1;
}

/* epoch,rank,component,start_s,dur_s. False: not understood. */
static bool parse_hepcnn(const struct import_cell *f, unsigned int n,
			 struct entry *e, int64_t *rank)
{
	return n == 5 && field_integer(&f[0], &e->epoch) &&
	       field_integer(&f[1], rank) && field_ns(&f[3], &e->start_ns) &&
	       field_ns(&f[4], &e->dur_ns);
}

/*
 * epoch, rank, function, description, start, end, taken, pid, thread; the
 * description may have commas. *@name gets it.
 */
static bool parse_payload(struct import_cell *f, unsigned int n,
			  const char *end, struct entry *e, int64_t *rank,
			  struct import_cell *name)
{
	unsigned int at = 4;
	int64_t end_ns;

	if (n < 7 || !field_integer(&f[0], &e->epoch) ||
	    !field_integer(&f[1], rank))
		return false;
	while (at + 2 < n && !(field_ns(&f[at], &e->start_ns) &&
			       field_ns(&f[at + 1], &end_ns)))
		at++;
	if (at + 2 >= n)
		return false;
	*name = f[3];
	name->len = (size_t)(f[at - 1].s + f[at - 1].len - f[3].s);
	/* Taken has more digits than the difference of the two times. */
	if (!field_ns(&f[at + 2], &e->dur_ns))
		e->dur_ns = end_ns - e->start_ns;
	if (at + 3 < n && !field_integer(&f[at + 3], &e->pid))
		e->pid = 0;
	if (at + 4 < n)
		e->tid = thread_of(&f[at + 4], end);
	return true;
}

static int add_entry(struct import *im, const char *p, size_t len,
		     enum variant variant, uint64_t line,
		     struct reel_error *err)
{
	struct import_cell field[FIELDS_MOST], name;
	unsigned int n = split_fields(p, len, field);
	bool csv = variant == VARIANT_HEPCNN;
	struct entry e = {0};
	int64_t rank = -1;

	name = field[n > 2 ? 2 : 0];
	if (!(csv ? parse_hepcnn(field, n, &e, &rank)
		  : parse_payload(field, n, p + len, &e, &rank, &name)) ||
	    e.dur_ns < 0 || rank < -1 || rank >= INT32_MAX || e.epoch < -1) {
		if (!im->bad++)
			im->first_bad = line;
		return 0;
	}
	e.rank = (int32_t)rank;
	e.order = im->entries;
	if (set_name(im, &e, &name, csv, err) ||
	    reel_array_reach(&im->entry, &im->room, im->entries,
			     sizeof(*im->entry), err))
		return -1;
	im->entry[im->entries++] = e;
	if (rank >= im->ranks)
		im->ranks = rank + 1;
	return 0;
}

/* --- files ---------------------------------------------------------------- */

static bool begins(const char *bytes, size_t n, const char *word)
{
	return n >= strlen(word) && !memcmp(bytes, word, strlen(word));
}

/* The variant of a file that begins with @bytes; false: none. */
static bool find_variant(const char *bytes, size_t n, enum variant *out)
{
	if (begins(bytes, n, HEPCNN_HEADER))
		*out = VARIANT_HEPCNN;
	else if (begins(bytes, n, SCRIPT_HEADER))
		*out = VARIANT_SCRIPT;
	else if (memmem(bytes, n, TEXT_MARK, strlen(TEXT_MARK)))
		*out = VARIANT_TEXT;
	else
		return false;
	return true;
}

/*
 * TimeLogger's own files are pieces in quotes without a newline between two
 * events. @quoted: this is one.
 */
static int look_at(const char *path, enum variant *variant, bool *quoted,
		   struct reel_error *err)
{
	static const char mark[] = "'" TEXT_MARK "'";
	struct reel_source *source = NULL;
	char *head = reel_alloc(HEAD_BYTES, 1, err);
	int64_t n = -1;

	if (head && !reel_source_open(&source, path, err))
		n = reel_source_read(source, head, HEAD_BYTES, err);
	if (n >= 0) {
		if (!find_variant(head, (size_t)n, variant))
			*variant = VARIANT_TEXT;
		*quoted = memmem(head, (size_t)n, mark, strlen(mark));
	}
	reel_source_close(source);
	free(head);
	return n < 0 ? -1 : 0;
}

/* The entry in the line, if there is one. */
static int read_line(struct import *im, const char *line, size_t len,
		     enum variant variant, uint64_t number,
		     struct reel_error *err)
{
	const char *p = line;

	if (variant == VARIANT_TEXT) {
		p = memmem(line, len, PAYLOAD_MARK, strlen(PAYLOAD_MARK));
		if (!p) {
			/* Half of an entry; other text is the program's. */
			if (memmem(line, len, "Start Time:", 11)) {
				if (!im->bad++)
					im->first_bad = number;
			}
			return 0;
		}
		p += strlen(PAYLOAD_MARK);
		len -= (size_t)(p - line);
	}
	while (len && (p[len - 1] == '\r' || p[len - 1] == '\n'))
		len--;
	return len ? add_entry(im, p, len, variant, number, err) : 0;
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	struct import_lines *lines = NULL;
	enum variant variant = VARIANT_TEXT;
	bool quoted = false;
	const char *line;
	size_t len;
	int rc = look_at(path, &variant, &quoted, err) ||
		 import_lines_open(&lines, path, err);
	uint32_t before = im->entries;

	im->bad = im->first_bad = 0;
	if (!rc && quoted && variant == VARIANT_TEXT)
		import_lines_delimiter(lines, '\'');
	while (!rc && (rc = import_lines_next(lines, &line, &len, err)) > 0) {
		uint64_t number = import_lines_number(lines);

		if (variant != VARIANT_TEXT && number == 1)
			rc = 0; /* the header */
		else if (quoted && variant == VARIANT_TEXT &&
			 !begins(line, len, PAYLOAD_MARK))
			rc = 0; /* another piece of an entry */
		else
			rc = read_line(im, line, len, variant, number, err);
	}
	im->absolute |= variant != VARIANT_HEPCNN;
	if (!rc)
		im->bad += import_lines_skipped(lines);
	if (!rc && im->entries == before)
		rc = reel_fail(
			err, REEL_E_FORMAT,
			"'%s', line %llu: no phase of TimeLogger", path,
			(unsigned long long)(im->first_bad
						     ? im->first_bad
						     : import_lines_number(
							       lines)));
	import_lines_close(lines);
	return rc;
}

/* --- spans ---------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The thread of the entry: of its rank, or of its pid where that is unknown. */
static uint32_t thread_for(struct import *im, const struct entry *e,
			   struct reel_error *err)
{
	uint64_t key = e->rank >= 0 ? (uint64_t)e->rank
				    : (uint64_t)e->pid | 1ull << 63;
	uint32_t process = gather_process(im->gather, key, err);
	struct reel_writer_process *row;

	if (!process)
		return 0;
	row = gather_process_row(im->gather, process);
	row->rank = e->rank;
	if (e->pid > 0)
		row->pid = e->pid;
	return gather_thread(im->gather, process, e->tid, err);
}

static int put_span(struct import *im, const struct entry *e, int64_t detail,
		    struct reel_error *err)
{
	struct reel_span_event sp = {.start_ns = e->start_ns,
				     .dur_ns = e->dur_ns,
				     .kind = e->kind,
				     .detail = detail,
				     .thread = thread_for(im, e, err)};

	return sp.thread ? gather_span(im->gather, &sp, e->name, err) : -1;
}

/* The epoch of the iterations around @e so far, which ends with them. */
static int put_epoch(struct import *im, struct entry *epoch,
		     struct reel_error *err)
{
	int rc = epoch->name && epoch->epoch >= 0
			 ? put_span(im, epoch, epoch->epoch, err)
			 : 0;

	epoch->name = NULL;
	return rc;
}

/* Count the iteration @e into its epoch. */
static int add_step(struct import *im, struct entry *epoch,
		    const struct entry *e, struct reel_error *err)
{
	if (epoch->name && epoch->epoch == e->epoch) {
		if (e->start_ns + e->dur_ns > epoch->start_ns + epoch->dur_ns)
			epoch->dur_ns =
				e->start_ns + e->dur_ns - epoch->start_ns;
		return 0;
	}
	if (put_epoch(im, epoch, err))
		return -1;
	*epoch = *e;
	epoch->kind = REEL_SPAN_EPOCH;
	epoch->name = "epoch";
	return 0;
}

static int put_spans(struct import *im, struct reel_error *err)
{
	struct entry epoch = {0};
	int64_t step = 0;
	int rc = 0;

	qsort(im->entry, im->entries, sizeof(*im->entry), by_rank);
	for (uint32_t i = 0; !rc && i < im->entries; i++) {
		const struct entry *e = &im->entry[i];

		if (i && e->rank != e[-1].rank) {
			rc = put_epoch(im, &epoch, err);
			step = 0;
		}
		if (e->kind == REEL_SPAN_STEP)
			rc = rc || add_step(im, &epoch, e, err) ||
			     put_span(im, e, step++, err);
		else
			rc = rc || put_span(im, e, e->epoch, err);
	}
	return rc || put_epoch(im, &epoch, err);
}

static int64_t first_start(const struct import *im)
{
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < im->entries; i++)
		if (im->entry[i].start_ns < first)
			first = im->entry[i].start_ns;
	return first;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {0};
	char name[256];
	struct reel_writer_run run = import_run_unknown();
	uint64_t bad = 0;
	int rc = gather_new(&im.gather, w, err);

	run.name = import_run_name(in->name, NULL, name);
	for (int i = 0; !rc && i < in->paths; i++) {
		rc = gather_source(im.gather, (uint32_t)i + 1, err) ||
		     read_file(&im, in->path[i], err);
		bad += im.bad;
	}
	if (!rc && bad)
		rc = reel_writer_loss(w, 0, "not_understood", "lines", bad,
				      err);
	if (!rc)
		rc = put_spans(&im, err);
	if (!rc) {
		run.lost = (int64_t)bad;
		run.ranks = im.ranks;
		run.start_real_ns = im.absolute ? first_start(&im) : 0;
		rc = gather_finish(im.gather, &run, err);
	}
	free(im.entry);
	gather_free(im.gather);
	return rc ? -1 : 0;
}

static bool detect(const char *bytes, size_t n)
{
	enum variant variant;

	return find_variant(bytes, n, &variant) &&
	       (variant != VARIANT_TEXT ||
		memmem(bytes, n, PAYLOAD_MARK, strlen(PAYLOAD_MARK)));
}

const struct reel_importer reel_importer_timelogger = {
	.name = "timelogger",
	.about = "phases of NERSC's TimeLogger: its text, its CSV, and the CSV "
		 "of HEPCNNB",
	.missing = {"files", "calls", "bytes", "computation and its overlap",
		    "the number of an iteration", NULL},
	.partial = true,
	.detect = detect,
	.load = load,
};

/* SPDX-License-Identifier: MIT */
/*
 * Import the text of darshan-parser and darshan-dxt-parser. Both print the
 * same header for a log, so that the two texts of one log are recognised as
 * its parts: one run with its counters and its events.
 *
 * Totals and performance lines follow from the records and are left out; a
 * text that has nothing else is refused.
 *
 * Source: darshan-parser.c and darshan-dxt-parser.c of Darshan 3.5, and their
 * output for real logs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/text.h"

#include "analyzer/import/common/lines.h"
#include "analyzer/import/darshan/darshan_rows.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/table.h"

#define FIRST_LINE "# darshan log version:"
#define CELLS 8

/* Bits of the header that a job needs. */
enum { HAS_START = 1, HAS_RANKS = 2, HAS_TIME = 4, HAS_ALL = 7 };

struct import {
	struct darshan_rows rows;
	struct import_lines *lines;
	const char *path;
	uint32_t source;
	struct reel_buf line, exe, file; /* file: of the record of DXT */
	/* The header of the log at hand. */
	struct darshan_job job;
	double run_s;
	int64_t end_s;
	unsigned int has;
	uint64_t header; /* hash of its lines */
	bool in_header, begun, totals;
	/* Its records. */
	struct darshan_dxt dxt;
	bool has_dxt, no_offset;
	uint64_t counters, segments, promised, bad, first_bad;
	/* All files: numbers of logs, and logs by kind of text and header. */
	struct reel_intmap by_log, by_text, by_partial;
	uint32_t *texts, text_room; /* of one kind and header, so far */
	uint64_t all_bad, all_missing;
	uint32_t logs;
};

static int fail_at(const struct import *im, const char *why,
		   struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT, "'%s', line %llu: %s", im->path,
			 (unsigned long long)import_lines_number(im->lines),
			 why);
}

/* The text behind @word at the beginning of @line, or NULL. */
static const char *after(const char *line, const char *word)
{
	size_t n = strlen(word);

	return strncmp(line, word, n) ? NULL : line + n;
}

/* --- the header ----------------------------------------------------------- */

static int read_header(struct import *im, const char *line, size_t len,
		       struct reel_error *err)
{
	const char *v;

	/* Mounts are many, and behind all that distinguishes a log. */
	if (after(line, "# mounted file systems") ||
	    after(line, "# mount entry")) {
		im->in_header = false;
		return 0;
	}
	im->header = reel_fnv1a(im->header, line, len + 1);
	if ((v = after(line, "# exe: "))) {
		reel_buf_reset(&im->exe);
		return reel_buf_puts(&im->exe, v, err);
	}
	if ((v = after(line, "# start_time: "))) {
		im->job.start_ns = strtoll(v, NULL, 10);
		im->has |= HAS_START;
	} else if ((v = after(line, "# end_time: "))) {
		im->end_s = strtoll(v, NULL, 10);
	} else if ((v = after(line, "# nprocs: "))) {
		im->job.nprocs = strtoll(v, NULL, 10);
		im->has |= HAS_RANKS;
	} else if ((v = after(line, "# run time: "))) {
		im->run_s = strtod(v, NULL);
		im->has |= HAS_TIME;
	}
	return 0;
}

/*
 * The number of the log at hand: the nth text of a kind with one header is of
 * the nth log with it.
 */
static uint32_t log_number(struct import *im, bool dxt, struct reel_error *err)
{
	uint64_t key = (im->header << 1 | dxt) + 0x9e3779b97f4a7c15u;
	uint32_t text = reel_intmap_get(&im->by_text, key, err), log;

	if (text == REEL_NO_INDEX ||
	    reel_array_reach(&im->texts, &im->text_room, text,
			     sizeof(*im->texts), err))
		return 0;
	key = im->header ^ im->texts[text]++ * 0x9e3779b97f4a7c15u;
	log = reel_intmap_get(&im->by_log, key, err);
	return log == REEL_NO_INDEX ? 0 : log + 1;
}

/* The first record of the log at hand, or its end; @dxt: of which text. */
static int begin_log(struct import *im, bool dxt, struct reel_error *err)
{
	struct darshan_job *j = &im->job;
	uint32_t log;

	if (im->begun)
		return 0;
	im->in_header = false;
	if (im->has != HAS_ALL || j->start_ns < 0 ||
	    j->start_ns > INT64_MAX / 2000000000 ||
	    !(im->run_s >= 0 && im->run_s < 1e9))
		return fail_at(im,
			       "the header has no nprocs, start_time or run "
			       "time",
			       err);
	j->start_ns *= 1000000000;
	j->end_ns = j->start_ns + (int64_t)(im->run_s * 1e9 + 0.5);
	j->whole_seconds = true;
	j->exe = reel_buf_text(&im->exe);
	im->begun = true;
	im->logs++;
	log = log_number(im, dxt, err);
	return !log || darshan_rows_log(&im->rows, im->source, log, j, err) ? -1
									    : 0;
}

/* A header begins: forget the log before. */
static void reset_log(struct import *im)
{
	im->job = (struct darshan_job){0};
	im->has = 0;
	im->header = REEL_FNV_SEED;
	im->in_header = true;
	im->begun = im->totals = im->has_dxt = im->no_offset = false;
	im->dxt = (struct darshan_dxt){.module = DARSHAN_DXT_POSIX};
	im->counters = im->segments = im->promised = 0;
	im->bad = im->first_bad = 0;
	reel_buf_reset(&im->exe);
}

static int end_log(struct import *im, struct reel_error *err)
{
	if (!im->counters && !im->segments && im->totals)
		return reel_fail(
			err, REEL_E_FORMAT,
			"'%s' has the totals of darshan-parser without the "
			"records: import the log, or its text without --total "
			"and --perf",
			im->path);
	if (im->bad && !im->counters && !im->segments)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line %llu: neither a counter nor a "
				 "segment of Darshan",
				 im->path, (unsigned long long)im->first_bad);
	im->all_bad += im->bad;
	if (im->promised > im->segments)
		im->all_missing += im->promised - im->segments;
	return begin_log(im, im->has_dxt, err) ||
			       darshan_rows_end(&im->rows, err)
		       ? -1
		       : 0;
}

/* --- counters ------------------------------------------------------------- */

static int not_understood(struct import *im)
{
	if (!im->bad++)
		im->first_bad = import_lines_number(im->lines);
	return 0;
}

/* Is @text a number of @digits, with a sign? */
static bool is_integer(const char *text)
{
	text += *text == '-';
	return *text && strspn(text, "0123456789") == strlen(text);
}

static bool parse_integer(const char *text, int64_t *out)
{
	char *end;

	if (!is_integer(text) || strlen(text) > 20)
		return false;
	*out = strtoll(text, &end, 10);
	return *out != INT64_MAX && *out != INT64_MIN;
}

/* The type of a value is that of the log: the name says it. */
static struct reel_writer_number value_of(const char *name, const char *text)
{
	struct reel_writer_number v = {.text = text};
	char *end;

	/* Words of LUSTRE, which may have digits alone. */
	if (reel_text_ends(name, "_POOL_NAME") ||
	    reel_text_ends(name, "_FLAGS") ||
	    reel_text_ends(name, "_STRIPE_PATTERN"))
		return v;
	if (parse_integer(text, &v.integer)) {
		v.text = NULL;
		return v;
	}
	v.real = strtod(text, &end);
	if (*text && !*end && !is_integer(text)) {
		v.is_real = true;
		v.text = NULL;
	}
	return v;
}

/* Split the line at its tabs: the name of the file, cell 5, may have some. */
static bool split_cells(char *line, char *cell[CELLS])
{
	char *p = line, *last, *before;

	for (int i = 0; i < 5; i++) {
		cell[i] = p;
		p = strchr(p, '\t');
		if (!p)
			return false;
		*p++ = '\0';
	}
	last = strrchr(p, '\t');
	if (!last)
		return false;
	*last = '\0';
	before = strrchr(p, '\t');
	if (!before)
		return false;
	*before = '\0';
	cell[5] = p;
	cell[6] = before + 1;
	cell[7] = last + 1;
	return true;
}

/* MODULE RANK RECORD COUNTER VALUE FILE MOUNT TYPE */
static int read_counter(struct import *im, char *line, struct reel_error *err)
{
	struct reel_writer_number value;
	struct darshan_record record;
	char *cell[CELLS], *end;

	if (!split_cells(line, cell) || !*cell[0] || strlen(cell[0]) > 31 ||
	    !*cell[3] || !parse_integer(cell[1], &record.rank) ||
	    !is_integer(cell[2]) || *cell[2] == '-' || !*cell[4])
		return not_understood(im);
	record.module = cell[0];
	record.record = strtoull(cell[2], &end, 10);
	/* A record whose name is not in the log, and that of a machine. */
	record.path = !*cell[5] || !strcmp(cell[5], "(null)") ||
				      !strcmp(cell[0], "BG/Q")
			      ? NULL
			      : cell[5];
	value = value_of(cell[3], cell[4]);
	if (begin_log(im, false, err) ||
	    darshan_rows_counter(&im->rows, &record, cell[3], &value, err))
		return -1;
	im->counters++;
	return 0;
}

/* --- DXT ------------------------------------------------------------------ */

static int begin_record(struct import *im, struct reel_error *err)
{
	const char *path = reel_buf_text(&im->file);

	im->has_dxt = true;
	return begin_log(im, true, err) ||
	       darshan_rows_dxt(&im->rows, &im->dxt,
				*path && strcmp(path, "(null)") ? path : NULL,
				err);
}

/* A line "# DXT, ..." of a record. */
static int read_dxt_head(struct import *im, const char *line,
			 struct reel_error *err)
{
	struct darshan_dxt *d = &im->dxt;
	unsigned int module = d->module;
	const char *v;
	int64_t writes, reads;

	if (sscanf(line, "file_id: %" SCNu64, &d->record) == 1) {
		v = strstr(line, ", file_name: ");
		reel_buf_reset(&im->file);
		*d = (struct darshan_dxt){.module = module,
					  .record = d->record};
		return v ? reel_buf_puts(&im->file, v + strlen(", file_name: "),
					 err)
			 : not_understood(im);
	}
	if (sscanf(line, "rank: %" SCNd64 ", hostname: %64s", &d->rank,
		   d->host) >= 1)
		return 0;
	if (sscanf(line, "write_count: %" SCNd64 ", read_count: %" SCNd64,
		   &writes, &reads) != 2)
		return 0;
	if (writes < 0 || reads < 0 || writes > INT64_MAX / 4 - reads)
		return not_understood(im);
	im->promised += (uint64_t)writes + (uint64_t)reads;
	return begin_record(im, err);
}

/* The number at *@p, which is moved behind it. */
static bool take_integer(const char **p, int64_t *out)
{
	char *end;

	*out = strtoll(*p, &end, 10);
	if (end == *p)
		return false;
	*p = end;
	return true;
}

static bool take_seconds(const char **p, double *out)
{
	char *end;

	*out = strtod(*p, &end);
	if (end == *p)
		return false;
	*p = end;
	return true;
}

/* MODULE RANK write|read NUMBER OFFSET LENGTH START END [OST]... THREAD */
static bool parse_segment(const struct import *im, const char *p,
			  struct darshan_segment *s)
{
	int64_t rank, number;

	if (!take_integer(&p, &rank))
		return false;
	p += strspn(p, " ");
	s->write = !strncmp(p, "write", 5);
	if (!s->write && strncmp(p, "read", 4))
		return false;
	p += s->write ? 5 : 4;
	s->offset = -1;
	if (!take_integer(&p, &number) ||
	    (!im->no_offset && !take_integer(&p, &s->offset)) ||
	    !take_integer(&p, &s->length) || !take_seconds(&p, &s->start) ||
	    !take_seconds(&p, &s->end) || s->length < 0)
		return false;
	for (p += strspn(p, " "); *p == '['; p += strspn(p, " "))
		p += strcspn(p, "]") + (strchr(p, ']') != NULL);
	s->thread = strtoull(p, NULL, 10); /* "N/A" is 0: not known */
	return true;
}

static int read_segment(struct import *im, const char *line, unsigned module,
			struct reel_error *err)
{
	struct darshan_segment s = {0};

	if (!im->has_dxt || !parse_segment(im, line, &s))
		return not_understood(im);
	if (module != im->dxt.module) {
		im->dxt.module = module;
		if (begin_record(im, err))
			return -1;
	}
	if (!im->rows.process) /* no record has begun */
		return not_understood(im);
	im->segments++;
	return darshan_rows_segment(&im->rows, &s, err);
}

/* --- lines ---------------------------------------------------------------- */

/* The job had no memory for all records of a module: once for each log. */
static int read_warning(struct import *im, const char *text,
			struct reel_error *err)
{
	const char *end = strstr(text, " module contains incomplete data");
	uint32_t known = im->by_partial.used;
	char module[32];

	if (!end)
		return 0;
	snprintf(module, sizeof(module), "%.*s", (int)(end - text), text);
	if (reel_intmap_get(&im->by_partial,
			    reel_fnv1a(im->header, module, strlen(module)),
			    err) == REEL_NO_INDEX)
		return -1;
	return im->by_partial.used == known
		       ? 0
		       : darshan_rows_partial(&im->rows, module, err);
}

static int read_comment(struct import *im, const char *line, size_t len,
			struct reel_error *err)
{
	const char *v;

	if (after(line, FIRST_LINE)) {
		if (im->in_header || im->header)
			if (end_log(im, err))
				return -1;
		reset_log(im);
	}
	if (im->in_header)
		return read_header(im, line, len, err);
	if ((v = after(line, "# DXT, ")))
		return read_dxt_head(im, v, err);
	if ((v = after(line, "# *WARNING*: The ")))
		return read_warning(im, v, err);
	if (after(line, "# DXT_MPIIO module data"))
		im->dxt.module = DARSHAN_DXT_MPIIO;
	else if (after(line, "# DXT_POSIX module data"))
		im->dxt.module = DARSHAN_DXT_POSIX;
	else if (after(line, "# Module "))
		im->no_offset = !strstr(line, "Offset");
	else if (after(line, "# no DXT module data"))
		im->has_dxt = true;
	else if (after(line, "# total_bytes:") || after(line, "# total: ") ||
		 after(line, "# agg_perf_by_slowest:"))
		im->totals = true;
	return 0;
}

static int read_line(struct import *im, char *line, size_t len,
		     struct reel_error *err)
{
	const char *v;

	if (*line == '#' || !im->header) {
		if (!im->header && !after(line, FIRST_LINE))
			return len ? fail_at(im, "not text of darshan-parser",
					     err)
				   : 0;
		return read_comment(im, line, len, err);
	}
	v = line + strspn(line, " ");
	if (after(v, "X_POSIX"))
		return read_segment(im, v + 7, DARSHAN_DXT_POSIX, err);
	if (after(v, "X_MPIIO"))
		return read_segment(im, v + 7, DARSHAN_DXT_MPIIO, err);
	if (!*v)
		return 0;
	if (after(v, "total_")) {
		im->totals = true;
		return 0;
	}
	return read_counter(im, line, err);
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	const char *line;
	size_t len;
	int rc = import_lines_open(&im->lines, path, err);

	im->path = path;
	im->source++;
	im->header = 0;
	im->in_header = false;
	while (!rc &&
	       (rc = import_lines_next(im->lines, &line, &len, err)) > 0) {
		if (len && line[len - 1] == '\r')
			len--;
		reel_buf_reset(&im->line);
		rc = reel_buf_add(&im->line, line, len, err) ||
		     reel_buf_add(&im->line, "", 1, err) ||
		     read_line(im, im->line.data, len, err);
	}
	if (!rc && !im->header)
		rc = fail_at(im, "not text of darshan-parser", err);
	if (!rc) {
		im->all_bad += import_lines_skipped(im->lines);
		rc = end_log(im, err);
	}
	import_lines_close(im->lines);
	im->lines = NULL;
	return rc;
}

static int put_losses(struct import *im, struct reel_error *err)
{
	struct reel_writer *w = im->rows.writer;

	im->rows.run.lost = (int64_t)(im->all_bad + im->all_missing);
	return (im->all_bad && reel_writer_loss(w, 0, "not_understood", "lines",
						im->all_bad, err)) ||
			       (im->all_missing &&
				reel_writer_loss(w, 0,
						 "segments without a line",
						 "calls", im->all_missing, err))
		       ? -1
		       : 0;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {0};
	int rc = darshan_rows_init(&im.rows, w, err);

	for (int i = 0; !rc && i < in->paths; i++)
		rc = read_file(&im, in->path[i], err);
	if (!rc)
		rc = put_losses(&im, err) || darshan_rows_finish(&im.rows, err);
	darshan_rows_fini(&im.rows);
	reel_buf_fini(&im.line);
	reel_buf_fini(&im.exe);
	reel_buf_fini(&im.file);
	reel_intmap_fini(&im.by_log);
	reel_intmap_fini(&im.by_text);
	reel_intmap_fini(&im.by_partial);
	free(im.texts);
	return rc ? -1 : 0;
}

static bool detect(const char *bytes, size_t n)
{
	return n >= strlen(FIRST_LINE) &&
	       !memcmp(bytes, FIRST_LINE, strlen(FIRST_LINE));
}

const struct reel_importer reel_importer_darshan_text = {
	.name = "darshan-text",
	.about = "text of darshan-parser and darshan-dxt-parser; both of one "
		 "log become one run",
	.missing = {"single calls without the text of DXT",
		    "which call a segment was", "times of DXT below 0.1 ms",
		    "times of counters below 1 us", "events of mapped files",
		    NULL},
	.partial = true,
	.detect = detect,
	.load = load,
};

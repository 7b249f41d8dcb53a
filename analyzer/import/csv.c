/* SPDX-License-Identifier: MIT */
/*
 * Import any CSV file whose columns --map names: a row is a call, or a span. A
 * value that has no column, or an empty cell, is unknown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schemas/hash.h"

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/import/common/column_map.h"
#include "analyzer/import/common/csv_rows.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/call_names.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/table.h"

#define UNKNOWN_MOST 64 /* names of calls; rows of more are not understood */

/* Words that logs have for a call, in any case. */
static const struct {
	const char *word;
	uint16_t call;
} words[] = {
	{"r", REEL_CALL_READ},	    {"read", REEL_CALL_READ},
	{"w", REEL_CALL_WRITE},	    {"write", REEL_CALL_WRITE},
	{"open", REEL_CALL_OPEN},   {"close", REEL_CALL_CLOSE},
	{"sync", REEL_CALL_FSYNC},  {"fsync", REEL_CALL_FSYNC},
	{"stat", REEL_CALL_STAT},   {"seek", REEL_CALL_LSEEK},
	{"flush", REEL_CALL_FSYNC},
};

struct unknown {
	char name[64];
	uint64_t count;
};

struct import {
	struct import_gather *gather;
	struct import_column_map map;
	struct unknown unknown[UNKNOWN_MOST];
	unsigned int unknowns;
	uint64_t rows, bad, first_bad, all_bad, no_duration, no_size;
	/* The file's first row that is not understood: its cell that is no
	 * number, with the text; IMPORT_FIELDS: each is one. */
	enum import_field bad_field;
	char bad_text[64];
	int64_t first_ns, ranks;
	/* The row at hand. */
	const struct import_cell *cell;
	unsigned int cells;
};

static const struct import_cell *cell_of(const struct import *im,
					 enum import_field field)
{
	return import_column_map_cell(&im->map, field, im->cell, im->cells);
}

/* The integer of the row, or @otherwise. */
static int64_t integer_of(const struct import *im, enum import_field field,
			  int64_t otherwise)
{
	int64_t v;

	return import_column_map_integer(&im->map, field, im->cell, im->cells,
					 &v)
		       ? v
		       : otherwise;
}

static int not_understood(struct import *im, uint64_t line)
{
	if (!im->bad++)
		im->first_bad = line;
	return 0;
}

/* --- rows ----------------------------------------------------------------- */

static uint16_t call_of(const struct import *im, const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(words[i].word, name))
			return words[i].call;
	return import_call_id(name);
}

static int count_unknown(struct import *im, const char *name, uint64_t line)
{
	unsigned int i = 0;

	while (i < im->unknowns && strncmp(im->unknown[i].name, name,
					   sizeof(im->unknown[i].name) - 1))
		i++;
	if (i == UNKNOWN_MOST)
		return not_understood(im, line);
	if (i == im->unknowns)
		snprintf(im->unknown[im->unknowns++].name,
			 sizeof(im->unknown[i].name), "%s", name);
	im->unknown[i].count++;
	return 0;
}

/*
 * The process of the row: of its host, rank and pid, as far as they are known.
 */
static uint32_t process_of(struct import *im, struct reel_error *err)
{
	const struct import_cell *host = cell_of(im, FIELD_HOST);
	int64_t number[2] = {integer_of(im, FIELD_RANK, -1),
			     integer_of(im, FIELD_PID, 0)};
	char bytes[sizeof(number)];
	uint64_t key;
	struct reel_writer_process *row;
	uint32_t id;

	memcpy(bytes, number, sizeof(bytes));
	key = reel_fnv1a(REEL_FNV_SEED, bytes, sizeof(bytes));
	if (host)
		key = reel_fnv1a(key, host->s, host->len);
	id = gather_process(im->gather, key, err);
	if (!id)
		return 0;
	row = gather_process_row(im->gather, id);
	if (number[0] >= 0 && number[0] < INT32_MAX) {
		row->rank = (int)number[0];
		if (number[0] >= im->ranks)
			im->ranks = number[0] + 1;
	}
	row->pid = number[1];
	if (host && !row->host_id) {
		row->host_id = gather_host(im->gather, host->s, err);
		if (!row->host_id)
			return 0;
	}
	return id;
}

static uint32_t thread_of(struct import *im, struct reel_error *err)
{
	uint32_t process = process_of(im, err);

	return process ? gather_thread(im->gather, process,
				       integer_of(im, FIELD_TID, 0), err)
		       : 0;
}

/* Start and duration; the latter -1: not known. False: no start. */
static bool times_of(const struct import *im, int64_t *start, int64_t *dur)
{
	const struct import_column_map *m = &im->map;
	int64_t end;
	bool has_start = import_column_map_time(m, FIELD_START, im->cell,
						im->cells, start);
	bool has_end =
		import_column_map_time(m, FIELD_END, im->cell, im->cells, &end);
	bool has_dur = import_column_map_time(m, FIELD_DURATION, im->cell,
					      im->cells, dur);

	if (!has_start && !(has_end && has_dur))
		return false;
	if (!has_start)
		*start = end - *dur;
	else if (!has_dur)
		*dur = has_end ? end - *start : -1;
	return !(has_dur || has_end) || *dur >= 0;
}

static bool moves_bytes(uint16_t call)
{
	const struct reel_call_info *info = reel_call_info(call);

	return info->group == REEL_GROUP_READ ||
	       info->group == REEL_GROUP_WRITE;
}

/* Bytes asked for and moved, unless both are unknown; a result below zero is an
 * error. */
static void set_sizes(struct import *im, struct reel_event *ev)
{
	int64_t size = integer_of(im, FIELD_SIZE, -1);
	int64_t offset = integer_of(im, FIELD_OFFSET, -1);
	int64_t result = integer_of(im, FIELD_RESULT, size >= 0 ? size : 0);

	ev->offset = offset >= 0 ? offset : REEL_NO_OFFSET;
	ev->asked = REEL_NO_SIZE;
	if (moves_bytes(ev->call) && (size >= 0 || cell_of(im, FIELD_RESULT)))
		ev->asked = size > result ? size : result > 0 ? result : 0;
	else if (moves_bytes(ev->call))
		im->no_size++;
	ev->result = result;
	if (result < 0) {
		if (result >= -4095 && result < -1)
			ev->err = (int32_t)-result;
		ev->result = -1;
	}
}

static int put_call(struct import *im, int64_t start, int64_t dur,
		    uint64_t line, struct reel_error *err)
{
	const struct import_cell *name = cell_of(im, FIELD_CALL);
	const struct import_cell *path = cell_of(im, FIELD_PATH);
	struct reel_event ev = {.fd = -1,
				.fd2 = -1,
				.start_ns = start,
				.dur_ns = dur > 0 ? dur : 0,
				.pos = REEL_NO_OFFSET};

	if (!name)
		return not_understood(im, line);
	ev.call = call_of(im, name->s);
	if (!ev.call)
		return count_unknown(im, name->s, line);
	set_sizes(im, &ev);
	ev.thread = thread_of(im, err);
	if (!ev.thread)
		return -1;
	if (path) {
		ev.file = gather_file(im->gather, path->s, strlen(path->s),
				      REEL_KIND_FILE, err);
		if (!ev.file)
			return -1;
	}
	im->no_duration += dur < 0;
	return gather_event(im->gather, &ev, err);
}

static int put_span(struct import *im, const char *name, int64_t start,
		    int64_t dur, struct reel_error *err)
{
	struct reel_span_event sp = {.start_ns = start,
				     .dur_ns = dur > 0 ? dur : 0,
				     .detail = integer_of(im, FIELD_DETAIL, -1),
				     .thread = thread_of(im, err)};

	if (!sp.thread)
		return -1;
	for (unsigned int kind = 1; kind < REEL_SPANS; kind++)
		if (!strcmp(reel_span_name(kind), name))
			sp.kind = kind;
	im->no_duration += dur < 0;
	return gather_span(im->gather, &sp, name, err);
}

/* Keep the cell @field of a row that is not understood, for the error. */
static void keep_bad_cell(struct import *im, enum import_field field)
{
	im->bad_field = field;
	if (field != IMPORT_FIELDS)
		snprintf(im->bad_text, sizeof(im->bad_text), "%s",
			 cell_of(im, field)->s);
}

static int read_row(struct import *im, uint64_t line, struct reel_error *err)
{
	const struct import_cell *span = cell_of(im, FIELD_SPAN);
	enum import_field bad =
		import_column_map_bad(&im->map, im->cell, im->cells);
	int64_t start, dur;

	if (bad != IMPORT_FIELDS || !times_of(im, &start, &dur)) {
		if (!im->bad)
			keep_bad_cell(im, bad);
		return not_understood(im, line);
	}
	im->rows++;
	if (start < im->first_ns)
		im->first_ns = start;
	return span ? put_span(im, span->s, start, dur, err)
		    : put_call(im, start, dur, line, err);
}

/* --- files ---------------------------------------------------------------- */

/* Is the first row, whose columns have numbers only, a header all the same? */
static bool looks_like_header(const struct import *im)
{
	int64_t ns;

	return !import_column_map_time(&im->map, FIELD_START, im->cell,
				       im->cells, &ns) &&
	       !import_column_map_time(&im->map, FIELD_END, im->cell, im->cells,
				       &ns);
}

/* No row of the file is understood: fail with the first one. */
static int no_row(const struct import *im, const char *path,
		  struct reel_error *err)
{
	const char *text = im->bad_text;
	unsigned long long line = im->first_bad;

	if (im->bad_field == IMPORT_FIELDS)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line %llu: no time in the columns of "
				 "--map",
				 path, line);
	if (im->bad_field > FIELD_DURATION)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line %llu: %s is '%s', which is no "
				 "whole number",
				 path, line, import_field_name(im->bad_field),
				 text);
	/* A date of ISO 8601 has a dash behind its year. */
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s', line %llu: no time in the columns of --map: "
			 "'%s' is no %s",
			 path, line, text,
			 strspn(text, "0123456789") == 4 && text[4] == '-'
				 ? "number (of a date: start:iso=COLUMN)"
				 : "time");
}

static int read_rows(struct import *im, struct import_csv *csv,
		     const char *path, struct reel_error *err)
{
	uint64_t before = im->rows;
	int rc = import_csv_next(csv, &im->cell, &im->cells, err);

	if (rc <= 0)
		return rc ? -1
			  : reel_fail(err, REEL_E_FORMAT,
				      "'%s', line 1: no row", path);
	if (im->map.named) {
		if (import_column_map_find(&im->map, path, im->cell, im->cells,
					   err))
			return -1;
	} else if (!looks_like_header(im) &&
		   read_row(im, import_csv_line(csv), err)) {
		return -1;
	}
	while ((rc = import_csv_next(csv, &im->cell, &im->cells, err)) > 0)
		if (read_row(im, import_csv_line(csv), err))
			return -1;
	im->bad += import_csv_skipped(csv);
	im->all_bad += im->bad;
	if (!rc && im->rows == before && im->bad)
		return no_row(im, path, err);
	return rc;
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	struct import_csv *csv = NULL;
	int rc = import_csv_open(&csv, path, err);

	im->bad = im->first_bad = 0;
	im->bad_field = IMPORT_FIELDS;
	rc = rc || read_rows(im, csv, path, err);
	import_csv_close(csv);
	return rc ? -1 : 0;
}

/* Rows that are calls of an unknown name; *@lost counts them. */
static int put_unknown_calls(const struct import *im, struct reel_writer *w,
			     int64_t *lost, struct reel_error *err)
{
	for (unsigned int i = 0; i < im->unknowns; i++) {
		char reason[96];

		snprintf(reason, sizeof(reason), "unknown call %s",
			 im->unknown[i].name);
		if (reel_writer_loss(w, 0, reason, "calls",
				     im->unknown[i].count, err))
			return -1;
		*lost += (int64_t)im->unknown[i].count;
	}
	return 0;
}

/* Values that are missing, with their number. */
static int put_unknown_values(const struct import *im, struct reel_writer *w,
			      struct reel_error *err)
{
	const struct reel_writer_loss all[] = {
		{"not_understood", "lines", im->all_bad},
		{"no_duration", "calls", im->no_duration},
		{"no_size", "calls", im->no_size}};

	return reel_writer_losses(w, all, sizeof(all) / sizeof(all[0]), err);
}

/* Values without a column. The views rely on "results": calls failed where there is
 * such a column, or none did. */
static int put_missing(const struct import *im, struct reel_writer *w,
		       uint32_t source, struct reel_error *err)
{
	static const struct {
		const char *value;
		enum import_field field, or ;
	} all[] = {
		{"calls", FIELD_CALL, FIELD_CALL},
		{"spans", FIELD_SPAN, FIELD_SPAN},
		{"durations", FIELD_DURATION, FIELD_END},
		{"paths", FIELD_PATH, FIELD_PATH},
		{"offsets", FIELD_OFFSET, FIELD_OFFSET},
		{"sizes", FIELD_SIZE, FIELD_RESULT},
		{"results", FIELD_RESULT, FIELD_RESULT},
		{"ranks", FIELD_RANK, FIELD_RANK},
		{"hosts", FIELD_HOST, FIELD_HOST},
		{"processes", FIELD_PID, FIELD_PID},
		{"threads", FIELD_TID, FIELD_TID},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!im->map.column[all[i].field].mapped &&
		    !im->map.column[all[i].or ].mapped &&
		    reel_writer_missing(w, source, all[i].value, err))
			return -1;
	return 0;
}

static int load_files(struct import *im, struct reel_writer *w,
		      const struct import_input *in, struct reel_error *err)
{
	char name[256];
	struct reel_writer_run run = import_run_unknown();

	run.name = import_run_name(in->name, NULL, name);
	im->first_ns = INT64_MAX;
	for (int i = 0; i < in->paths; i++)
		if (put_missing(im, w, (uint32_t)i + 1, err) ||
		    gather_source(im->gather, (uint32_t)i + 1, err) ||
		    read_file(im, in->path[i], err))
			return -1;
	if (!im->rows || im->unknown[0].count == im->rows)
		return reel_fail(err, REEL_E_FORMAT,
				 im->rows ? "'%s': no call has a name that is "
					    "known (one is '%s')"
					  : "'%s': no row is behind the header",
				 in->path[0], im->unknown[0].name);
	if ((im->map.column[FIELD_START].unix_time ||
	     im->map.column[FIELD_END].unix_time) &&
	    im->rows)
		run.start_real_ns = im->first_ns;
	run.ranks = im->ranks;
	run.lost = (int64_t)im->all_bad;
	return put_unknown_calls(im, w, &run.lost, err) ||
			       put_unknown_values(im, w, err) ||
			       gather_finish(im->gather, &run, err)
		       ? -1
		       : 0;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import *im;
	int rc;

	if (!in->map)
		return reel_fail(err, REEL_E_USAGE,
				 "'%s': format csv needs --map, the columns of "
				 "the fields",
				 in->path[0]);
	im = reel_alloc(1, sizeof(*im), err);
	rc = !im || import_column_map_parse(&im->map, in->map, err) ||
	     gather_new(&im->gather, w, err);
	if (!rc)
		rc = load_files(im, w, in, err);
	if (im)
		gather_free(im->gather);
	free(im);
	return rc ? -1 : 0;
}

/* Only the user knows the columns. */
static bool detect(const char *bytes, size_t n)
{
	(void)bytes;
	(void)n;
	return false;
}

const struct reel_importer reel_importer_csv = {
	.name = "csv",
	.about = "any CSV with a line for each call or span; --map names its "
		 "columns",
	.missing = {"values without a column", NULL},
	.own_missing = true,
	.partial = true,
	.detect = detect,
	.load = load,
};

/* SPDX-License-Identifier: MIT */
/*
 * Import fio's I/O logs (write_iolog), versions 2 and 3: each operation with
 * its offset and length. A job is a process with one thread; jobs of one group
 * may share a log.
 *
 * Version 3 has the time at which an operation was submitted, in microseconds.
 * Version 2 has none but the waits between operations, which are the time
 * then. There are no durations. A log has the operations that fio submitted;
 * it completes short transfers and ends a job at an error, so that an
 * operation is taken to have moved its length.
 *
 * Source: fio(1), "Trace file format", and logs of fio 3.33.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/lines.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/table.h"

#define MAGIC "fio version "
#define WORDS_MOST 5
#define TIME_MOST (INT64_MAX / 4)

/* An action of the log. @sized: it moves bytes at an offset. @mode: argument of a
 * call on a range that moves none; -1: it is no such call. */
static const struct action {
	const char *name;
	uint16_t call; /* 0: none */
	bool sized;
	int mode;
} actions[] = {
	{"read", REEL_CALL_PREAD, true, -1},
	{"write", REEL_CALL_PWRITE, true, -1},
	{"trim", REEL_CALL_FALLOCATE, false,
	 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
	{"sync", REEL_CALL_FSYNC, false, -1},
	{"datasync", REEL_CALL_FDATASYNC, false, -1},
	{"sync_file_range", REEL_CALL_SYNC_FILE_RANGE, false, 0},
	{"open", REEL_CALL_OPEN, false, -1},
	{"close", REEL_CALL_CLOSE, false, -1},
	{"add", 0, false, -1}, /* a file of the job */
	{"wait", 0, false, -1},
};

struct import {
	struct import_gather *gather;
	struct reel_writer *writer;
	struct reel_open_row *open; /* by file; open_id 0: it is closed */
	uint32_t open_room, opens;
	struct reel_buf line;
	unsigned int version;
	uint32_t source, jobs, process, thread; /* jobs: of this log so far */
	int64_t now_ns;
	uint64_t bad, first_bad, known, no_duration;
	uint64_t untimed, no_time; /* of this log, of all */
	bool waits;
};

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, name))
			return &actions[i];
	return NULL;
}

static bool parse_number(const char *word, int64_t *out)
{
	char *end;

	*out = strtoll(word, &end, 10);
	return end > word && !*end && *out >= 0 && *out < INT64_MAX;
}

/* Is @words of them [TIME] FILE ACTION [OFFSET LENGTH]? */
static const struct action *parse_words(const struct import *im,
					char *word[WORDS_MOST],
					unsigned int words, int64_t *time_us,
					int64_t *offset, int64_t *length)
{
	unsigned int at = im->version == 3;
	const struct action *a;

	*offset = REEL_NO_OFFSET;
	*length = 0;
	if (words < at + 2 || (at && (!parse_number(word[0], time_us) ||
				      *time_us > TIME_MOST / 1000)))
		return NULL;
	a = find_action(word[at + 1]);
	if (!a)
		return NULL;
	if (words > at + 2 && !parse_number(word[at + 2], offset))
		return NULL;
	if (words > at + 3 && !parse_number(word[at + 3], length))
		return NULL;
	return a->sized && words < at + 4 ? NULL : a;
}

/* The open file of @file ends: @close_ns, or REEL_NO_OFFSET. */
static int end_open(struct import *im, uint32_t file, int64_t close_ns,
		    struct reel_error *err)
{
	struct reel_open_row *row = &im->open[file];
	int rc = 0;

	row->close_ns = close_ns;
	if (row->open_id)
		rc = reel_writer_open(im->writer, row, err);
	row->open_id = 0;
	return rc;
}

/* Find the open file of @ev. fio opens a file once, and has no descriptors. */
static int set_open(struct import *im, struct reel_event *ev,
		    struct reel_error *err)
{
	if (reel_array_reach(&im->open, &im->open_room, ev->file,
			     sizeof(*im->open), err))
		return -1;
	if (ev->call == REEL_CALL_OPEN) {
		if (end_open(im, ev->file, REEL_NO_OFFSET, err))
			return -1;
		im->open[ev->file] =
			(struct reel_open_row){.open_id = ++im->opens,
					       .file_id = ev->file,
					       .process_id = im->process,
					       .fd = -1,
					       .flags = -1,
					       .open_ns = im->now_ns};
	}
	ev->open = im->open[ev->file].open_id;
	return ev->call == REEL_CALL_CLOSE
		       ? end_open(im, ev->file, im->now_ns, err)
		       : 0;
}

static int put_event(struct import *im, const struct action *a,
		     const char *file, int64_t offset, int64_t length,
		     struct reel_error *err)
{
	struct reel_event ev = {.fd = -1,
				.fd2 = -1,
				.call = a->call,
				.thread = im->thread,
				.start_ns = im->now_ns,
				.offset = REEL_NO_OFFSET,
				.asked = REEL_NO_SIZE,
				.pos = REEL_NO_OFFSET};

	if (a->sized) {
		ev.offset = offset;
		ev.asked = ev.result = length;
	} else if (a->mode >= 0) {
		ev.offset = offset;
		ev.arg = a->mode;
		ev.arg2 = length;
	}
	ev.file = gather_file(im->gather, file, strlen(file), REEL_KIND_FILE,
			      err);
	im->no_duration++;
	im->untimed += im->version == 2;
	return !ev.file || set_open(im, &ev, err)
		       ? -1
		       : gather_event(im->gather, &ev, err);
}

static unsigned int split_words(char *line, char *word[WORDS_MOST])
{
	char *rest = NULL;
	unsigned int n = 0;

	for (char *w = strtok_r(line, " \t", &rest); w;
	     w = strtok_r(NULL, " \t", &rest)) {
		if (n == WORDS_MOST)
			return 0;
		word[n++] = w;
	}
	return n;
}

static int read_line(struct import *im, uint64_t number, struct reel_error *err)
{
	char *word[WORDS_MOST];
	/* NUL bytes would cut a word off. */
	bool whole = strlen(im->line.data) + 1 == im->line.len;
	unsigned int words = split_words(im->line.data, word);
	int64_t time_us = 0, offset, length;
	const struct action *a;

	if (im->line.len == 1)
		return 0;
	a = whole ? parse_words(im, word, words, &time_us, &offset, &length)
		  : NULL;
	if (a && im->version == 2 && !strcmp(a->name, "wait")) {
		time_us = offset;
		if (time_us < 0 || time_us > TIME_MOST / 1000 ||
		    im->now_ns > TIME_MOST - 1000 * time_us)
			a = NULL;
		else
			im->now_ns += 1000 * time_us;
		im->waits = true;
	}
	if (!a) {
		if (!im->bad++)
			im->first_bad = number;
		return 0;
	}
	im->known++;
	if (im->version == 3)
		im->now_ns = 1000 * time_us;
	return a->call ? put_event(im, a, word[im->version == 3], offset,
				   length, err)
		       : 0;
}

/* The version of the log in its first line; 0: none that is known. */
static unsigned int version_of(const char *line, size_t len)
{
	size_t n = strlen(MAGIC);

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	if (len != n + strlen("2 iolog") || memcmp(line, MAGIC, n) ||
	    memcmp(line + n + 1, " iolog", 6))
		return 0;
	return line[n] == '2' || line[n] == '3' ? (unsigned int)(line[n] - '0')
						: 0;
}

/* The jobs of one log begin at time 0, each as a process. */
static int begin_job(struct import *im, struct reel_error *err)
{
	uint64_t key = (uint64_t)im->source << 32 | im->jobs++;

	for (uint32_t i = 0; i < im->open_room; i++)
		if (end_open(im, i, REEL_NO_OFFSET, err))
			return -1;
	im->now_ns = 0;
	im->process = gather_process(im->gather, key, err);
	im->thread = im->process
			     ? gather_thread(im->gather, im->process, 0, err)
			     : 0;
	return im->thread ? 0 : -1;
}

static int read_log(struct import *im, struct import_lines *lines,
		    const char *path, struct reel_error *err)
{
	const char *line = "";
	size_t len = 0;
	int rc;

	do /* empty lines in front of it */
		rc = import_lines_next(lines, &line, &len, err);
	while (rc > 0 && (!len || (len == 1 && *line == '\r')));
	if (rc < 0)
		return -1;
	im->version = version_of(line, rc ? len : 0);
	if (!im->version)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line 1: no I/O log of fio of version 2 "
				 "or 3",
				 path);
	while ((rc = import_lines_next(lines, &line, &len, err)) > 0) {
		if (len && line[len - 1] == '\r')
			len--;
		/* numjobs= appends the logs of all jobs to one file. */
		if (version_of(line, len) == im->version) {
			if (begin_job(im, err))
				return -1;
			continue;
		}
		reel_buf_reset(&im->line);
		if (reel_buf_add(&im->line, line, len, err) ||
		    reel_buf_add(&im->line, "", 1, err) ||
		    read_line(im, import_lines_number(lines), err))
			return -1;
	}
	if (!rc && im->bad > im->known)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line %llu: no action of fio", path,
				 (unsigned long long)im->first_bad);
	return rc;
}

static int read_file(struct import *im, const char *path, uint32_t source,
		     uint64_t *bad, struct reel_error *err)
{
	struct import_lines *lines = NULL;
	int rc = gather_source(im->gather, source, err);

	if (rc)
		return -1;
	im->bad = im->known = im->first_bad = 0;
	im->untimed = 0;
	im->waits = false;
	im->source = source;
	im->jobs = 0;
	rc = begin_job(im, err) || import_lines_open(&lines, path, err);
	rc = rc || read_log(im, lines, path, err);
	for (uint32_t i = 0; !rc && i < im->open_room; i++)
		rc = end_open(im, i, REEL_NO_OFFSET, err);
	if (!rc)
		*bad += im->bad + import_lines_skipped(lines);
	if (!im->waits)
		im->no_time += im->untimed;
	import_lines_close(lines);
	return rc ? -1 : 0;
}

static int put_losses(struct import *im, struct reel_writer *w, uint64_t bad,
		      struct reel_error *err)
{
	const struct reel_writer_loss loss[] = {
		{"not_understood", "lines", bad},
		{"no_time", "calls", im->no_time},
		{"no_duration", "calls", im->no_duration}};

	return reel_writer_losses(w, loss, sizeof(loss) / sizeof(loss[0]), err);
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	char name[256];
	struct reel_writer_run run = import_run_unknown();
	struct import im = {.writer = w};
	uint64_t bad = 0;
	int rc = gather_new(&im.gather, w, err);

	run.name = import_run_name(in->name, NULL, name);
	run.command = "fio";
	if (!rc)
		gather_origin(im.gather, 0);
	for (int i = 0; !rc && i < in->paths; i++)
		rc = read_file(&im, in->path[i], (uint32_t)i + 1, &bad, err);
	run.lost = (int64_t)bad;
	rc = rc || put_losses(&im, w, bad, err) ||
	     gather_finish(im.gather, &run, err);
	free(im.open);
	reel_buf_fini(&im.line);
	gather_free(im.gather);
	return rc ? -1 : 0;
}

static bool detect(const char *bytes, size_t n)
{
	const char *newline;

	for (; n && (*bytes == '\n' || *bytes == '\r'); n--)
		bytes++;
	newline = memchr(bytes, '\n', n);
	return version_of(bytes, newline ? (size_t)(newline - bytes) : n) != 0;
}

const struct reel_importer reel_importer_fio = {
	.name = "fio",
	.about = "I/O logs of fio (write_iolog), versions 2 and 3",
	.missing = {"durations", "results", "processes",
		    "times of version 2 but for its waits", NULL},
	.partial = true,
	.detect = detect,
	.load = load,
};

/* SPDX-License-Identifier: MIT */
/*
 * The files of one strace: each line gets a time of one clock, and the files of
 * "strace -ff" are merged by the ends of the calls. A file is open only while
 * its thread lives.
 */
#include "analyzer/import/strace/strace_source.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/lines.h"
#include "analyzer/import/strace/strace_call.h"

#define DAY_NS (INT64_C(86400) * 1000000000)
#define PROGRESS_LINES 16384
#define LOOK_LINES 20	 /* of the beginning, for the clock */
#define PID_MOST 4194304 /* the kernel's PID_MAX_LIMIT */

/* A file: of one thread, or of all. */
struct strace_source {
	const char *path;
	struct import_lines *lines;
	struct reel_buf torn;	 /* a line that a message of strace tore */
	struct strace_line line; /* the next one */
	bool counts;		 /* inside the table of -C */
	bool of_thread;		 /* of strace -ff: it has no other thread */
	int64_t pid;		 /* of the name "out.PID"; -1: none */
	int64_t first_ns;
	int64_t last_ns, day_ns; /* of the clock, and the days that passed */
};

/* --- time ----------------------------------------------------------------- */

/* The time of the source's line in ns of one clock. */
static int64_t clock_ns(struct strace_sources *ss, struct strace_source *s)
{
	int64_t ns = s->line.ns;

	switch (ss->clock) {
	case STRACE_NO_CLOCK:
		/* The order of the lines and the durations are all that is known:
		 * one call after the other. */
		ns = s->last_ns;
		s->last_ns = strace_add_ns(
			ns,
			strace_add_ns(s->line.dur_ns > 0 ? s->line.dur_ns : 0,
				      1));
		return ns;
	case STRACE_RELATIVE:
		ns = strace_add_ns(ns, s->last_ns);
		break;
	case STRACE_DAY:
	case STRACE_DAY_SECONDS:
		ns += s->day_ns;
		if (ns < s->last_ns - DAY_NS / 2) {
			s->day_ns += DAY_NS;
			ns += DAY_NS;
		}
		break;
	default:
		break;
	}
	s->last_ns = ns;
	return ns;
}

static void not_understood(struct strace_sources *ss,
			   const struct strace_source *s)
{
	if (!ss->not_understood++) {
		ss->bad_line = import_lines_number(s->lines);
		ss->bad_path = s->path;
	}
}

/*
 * On a terminal "strace: Process 7 attached" tears a line in two. The length
 * of the part before it; @len: there is no such message.
 */
static size_t torn_at(const char *line, size_t len)
{
	static const char message[] = "strace: Process ", end[] = " attached";
	const size_t end_len = sizeof(end) - 1;
	const char *at;

	if (len < end_len || memcmp(line + len - end_len, end, end_len))
		return len;
	at = memmem(line, len, message, sizeof(message) - 1);
	return at ? (size_t)(at - line) : len;
}

/* The next line of the file, whole. 1, 0 at the end, -1. */
static int whole_line(struct strace_source *s, const char **line, size_t *len,
		      struct reel_error *err)
{
	size_t torn;
	int rc;

	reel_buf_reset(&s->torn);
	while ((rc = import_lines_next(s->lines, line, len, err)) > 0) {
		torn = torn_at(*line, *len);
		if (torn == *len && !s->torn.len)
			return 1;
		/* Several messages can tear one line. */
		if (reel_buf_add(&s->torn, *line, torn, err))
			return -1;
		if (torn < *len)
			continue;
		*line = reel_buf_text(&s->torn);
		*len = s->torn.len;
		return 1;
	}
	return rc;
}

/* Is the line part of the table that strace -C prints at its end? */
static bool is_count(struct strace_source *s, const char *line, size_t len)
{
	static const char total[] = " total";
	const size_t end = sizeof(total) - 1;

	if (strace_line_is_title(line, len)) {
		s->counts = true;
		return true;
	}
	if (!s->counts)
		return false;
	s->counts = len < end || memcmp(line + len - end, total, end) != 0;
	return true;
}

/* The next line with something in it. 1, 0 at the end, -1. */
static int source_next(struct strace_sources *ss, struct strace_source *s,
		       struct reel_error *err)
{
	const char *line;
	size_t len;
	int rc;

	while ((rc = whole_line(s, &line, &len, err)) > 0) {
		if (is_count(s, line, len))
			continue;
		strace_line_parse(&s->line, line, len);
		if (!(++ss->lines % PROGRESS_LINES))
			reel_progress_at(&ss->progress, ss->lines);
		if (s->line.what == STRACE_IGNORED)
			continue;
		if (s->line.what == STRACE_OTHER ||
		    s->line.clock != ss->clock) {
			not_understood(ss, s);
			continue;
		}
		ss->calls++;
		if (s->line.tick_ns > ss->tick_ns)
			ss->tick_ns = s->line.tick_ns;
		if (s->line.dur_tick_ns > ss->dur_tick_ns)
			ss->dur_tick_ns = s->line.dur_tick_ns;
		s->line.ns = clock_ns(ss, s);
		return 1;
	}
	ss->not_understood += rc ? 0 : import_lines_skipped(s->lines);
	return rc;
}

/* --- files ---------------------------------------------------------------- */

/* "out.123": 123; -1 without. */
static int64_t pid_of_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	struct strace_text text = {dot ? dot + 1 : "",
				   dot ? strlen(dot + 1) : 0};
	int64_t pid;

	if (text.len > 3 && !memcmp(text.at + text.len - 3, ".gz", 3))
		text.len -= 3;
	return text.len && *text.at != '0' && *text.at != '-' && text.len < 8 &&
			       strace_number(text, &pid)
		       ? pid
		       : -1;
}

/* The clock of the file and its first time, from its first lines. */
static int look_at(struct strace_sources *ss, struct strace_source *s,
		   struct reel_error *err)
{
	const char *line;
	size_t len;
	int rc;

	if (import_lines_open(&s->lines, s->path, err))
		return -1;
	for (int i = 0; i < LOOK_LINES; i++) {
		rc = import_lines_next(s->lines, &line, &len, err);
		if (rc <= 0)
			break;
		strace_line_parse(&s->line, line, len);
		if (s->line.what == STRACE_OTHER ||
		    s->line.what == STRACE_IGNORED)
			continue;
		if (!ss->n)
			ss->clock = s->line.clock;
		if (s->line.clock != ss->clock)
			return reel_fail(err, REEL_E_FORMAT,
					 "'%s', line %d: another kind of time "
					 "than in the files before",
					 s->path, i + 1);
		s->first_ns = s->line.ns;
		s->of_thread = s->pid >= 0 && s->line.pid < 0;
		import_lines_close(s->lines);
		s->lines = NULL;
		return 1;
	}
	import_lines_close(s->lines);
	s->lines = NULL;
	return err->code ? -1 : 0;
}

static int by_first(const void *a, const void *b)
{
	const struct strace_source *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	if (x->pid != y->pid) /* a child has most often a greater pid */
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->path, y->path);
}

int strace_sources_open(struct strace_sources *ss,
			const struct import_input *in, struct reel_error *err)
{
	ss->in = in;
	ss->source =
		reel_alloc((size_t)in->paths + 1, sizeof(*ss->source), err);
	ss->heap.item =
		reel_alloc((size_t)in->paths + 1, sizeof(*ss->heap.item), err);
	if (!ss->source || !ss->heap.item)
		return -1;
	for (int i = 0; i < in->paths; i++) {
		struct strace_source *s = &ss->source[ss->n];
		int rc;

		*s = (struct strace_source){.path = in->path[i]};
		s->pid = pid_of_name(s->path);
		rc = look_at(ss, s, err);
		if (rc < 0)
			return -1;
		ss->n += rc;
	}
	if (!ss->n)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s', line 1: no line of strace",
				 in->path[0]);
	if (ss->n > 1 && ss->clock == STRACE_NO_CLOCK)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s': no times, which give the files their "
				 "order (strace prints them with -ttt)",
				 in->name);
	if (ss->n > 1 && ss->clock == STRACE_RELATIVE)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s': the times of strace -r are relative to "
				 "a line of the same file (use -ttt)",
				 in->name);
	qsort(ss->source, (size_t)ss->n, sizeof(*ss->source), by_first);
	/* Lines without a pid of several files are not of one process. */
	for (int i = 0; ss->n > 1 && i < ss->n; i++)
		if (ss->source[i].pid < 0)
			ss->source[i].pid = PID_MOST + 1 + i;
	ss->origin_ns = ss->source[0].first_ns;
	reel_progress_start(&ss->progress, "importing strace", "lines", 0);
	return 0;
}

/* Look at all lines of @s with strace_sources_scan()'s arguments. */
static int scan_source(const struct strace_sources *ss, struct strace_source *s,
		       strace_see_fn *see, void *arg, struct reel_error *err)
{
	static const char resumed[] = " resumed>";
	const char *line;
	size_t len;
	int rc = import_lines_open(&s->lines, s->path, err);

	while (!rc && (rc = whole_line(s, &line, &len, err)) > 0) {
		rc = 0;
		if (is_count(s, line, len))
			continue;
		if (memmem(line, len, resumed, sizeof(resumed) - 1))
			strace_line_parse(&s->line, line, len);
		else
			s->line = (struct strace_line){
				.pid = strace_line_pid(line, len)};
		if (s->line.what != STRACE_RESUMED ||
		    s->line.clock != ss->clock)
			s->line.what = STRACE_IGNORED;
		if (s->line.pid < 0)
			s->line.pid = s->pid;
		rc = see(arg, &s->line, err);
	}
	s->counts = false;
	import_lines_close(s->lines);
	s->lines = NULL;
	return rc;
}

int strace_sources_scan(struct strace_sources *ss, strace_see_fn *see,
			void *arg, struct reel_error *err)
{
	/* In a file of one thread no other one interrupts a call. */
	for (int i = 0; i < ss->n; i++)
		if ((ss->n == 1 || !ss->source[i].of_thread) &&
		    scan_source(ss, &ss->source[i], see, arg, err))
			return -1;
	return 0;
}

/*
 * The place of the line in the merge: the end of its call; of a fork its start, for
 * the first line of its child may come then. Of a coarse clock it is the tick of
 * the end, so that no line is behind a fork that the same thread made later.
 */
static int64_t merge_ns(const struct strace_source *s)
{
	const struct strace_line *line = &s->line;
	const struct strace_call_info *info;
	int64_t end_ns;

	if (line->what != STRACE_CALL || line->dur_ns <= 0)
		return line->ns;
	info = strace_call_find(line->name);
	if (info && info->effect == STRACE_FORK)
		return line->ns;
	end_ns = strace_add_ns(line->ns, line->dur_ns);
	return line->tick_ns > STRACE_TICK_EXACT_NS
		       ? end_ns - (end_ns - line->ns) % line->tick_ns
		       : end_ns;
}

static int start_source(struct strace_sources *ss, int i,
			struct reel_error *err)
{
	struct strace_source *s = &ss->source[i];
	int rc;

	if (import_lines_open(&s->lines, s->path, err))
		return -1;
	rc = source_next(ss, s, err);
	if (rc > 0)
		reel_merge_heap_add(
			&ss->heap,
			(struct reel_merge_item){merge_ns(s), (uint32_t)i, s});
	return rc < 0 ? -1 : 0;
}

/* Read on behind the line that was returned. */
static int advance_current(struct strace_sources *ss, struct reel_error *err)
{
	struct strace_source *s = ss->current;
	int rc;

	if (!s)
		return 0;
	ss->current = NULL;
	rc = source_next(ss, s, err);
	if (rc > 0) {
		reel_merge_heap_next(&ss->heap, merge_ns(s));
	} else if (!rc) {
		reel_merge_heap_drop(&ss->heap);
		import_lines_close(s->lines);
		s->lines = NULL;
	}
	return rc < 0 ? -1 : 0;
}

int strace_sources_next(struct strace_sources *ss, struct strace_line **line,
			struct reel_error *err)
{
	if (advance_current(ss, err))
		return -1;
	while (ss->next < ss->n &&
	       (!ss->heap.n ||
		ss->source[ss->next].first_ns <= ss->heap.item[0].time_ns))
		if (start_source(ss, ss->next++, err))
			return -1;
	if (!ss->heap.n)
		return 0;
	ss->current = ss->heap.item[0].stream;
	*line = &ss->current->line;
	if ((*line)->pid < 0)
		(*line)->pid = ss->current->pid;
	return 1;
}

int64_t strace_sources_error_ns(const struct strace_sources *ss)
{
	int64_t ns = ss->tick_ns;

	if (ss->clock == STRACE_NO_CLOCK)
		return REEL_NO_OFFSET;
	/* Each line cuts its distance to the line before. */
	if (ss->clock == STRACE_RELATIVE &&
	    __builtin_mul_overflow(ns, (int64_t)ss->lines, &ns))
		ns = INT64_MAX;
	return ns > ss->dur_tick_ns ? ns : ss->dur_tick_ns;
}

void strace_sources_reject(struct strace_sources *ss)
{
	not_understood(ss, ss->current);
}

void strace_sources_close(struct strace_sources *ss)
{
	reel_progress_stop(&ss->progress);
	for (int i = 0; ss->source && i < ss->in->paths; i++) {
		import_lines_close(ss->source[i].lines);
		reel_buf_fini(&ss->source[i].torn);
	}
	free(ss->source);
	free(ss->heap.item);
}

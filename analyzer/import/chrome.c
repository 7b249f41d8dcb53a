/* SPDX-License-Identifier: MIT */
/*
 * Import Chrome's trace events of any tool: every range is a span of its name.
 *
 * Two tools say more. The export of ioreel holds calls and spans of known kinds,
 * which become what they were. TensorFlow's profiler has one row for each stream of
 * a device, whose ranges are kernels and copies, and numbers its steps.
 *
 * Source: "Trace Event Format", Google, 2016; tensorflow/core/profiler.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/trace_format.h"

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/common/event_names.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/import.h"
#include "analyzer/import/table.h"
#include "analyzer/import/common/trace_events.h"

#define EPOCH_NS 1000000000000000000 /* times from here on are absolute */
#define DEPTH_MOST 4096		     /* of ranges of a thread */

/* A range that has begun. */
struct range {
	struct reel_span_event span;
	struct reel_event event; /* call 0: it is a span */
	char *name;		 /* of a span of the user; NULL */
	bool open;
};

/* A pid of the file. */
struct track {
	uint64_t key;
	uint32_t process; /* 0: no event yet */
	bool device;	  /* of TensorFlow */
	int64_t number;
};

/* A thread of the file. */
struct row {
	uint32_t thread;
	bool stream; /* of a device: its ranges are kernels */
	struct range *range;
	uint32_t depth, room;
};

struct import {
	struct reel_writer *writer;
	struct import_gather *gather;
	uint32_t source, records;
	int64_t start_ns;
	uint64_t bad, unended;
	/* The file at hand. */
	struct event_names names;
	struct reel_intmap by_pid, by_row, by_id;
	struct track *track;
	struct row *row;
	struct range *async; /* by index of by_id */
	uint32_t tracks, rows, asyncs, track_room, row_room, async_room;
	uint64_t events;
};

static uint64_t hash_text(const struct trace_text *t, uint64_t h)
{
	for (size_t i = 0; i < t->len; i++)
		h = (h ^ (uint8_t)t->s[i]) * 0x100000001b3u;
	return (h ^ 0xff) * 0x100000001b3u;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* --- processes and threads ------------------------------------------------ */

static struct track *track_of(struct import *im, const struct trace_text *pid,
			      struct reel_error *err)
{
	uint64_t key = hash_text(pid, 0xcbf29ce484222325u);
	uint32_t i = reel_intmap_get(&im->by_pid, key, err);
	struct track *t;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->track, &im->track_room, i, sizeof(*t), err))
		return NULL;
	t = &im->track[i];
	if (i < im->tracks)
		return t;
	im->tracks++;
	t->key = key + im->source;
	if (!trace_text_int(pid, &t->number))
		t->number = 0;
	return t;
}

static uint32_t process_of(struct import *im, struct track *t,
			   struct reel_error *err)
{
	if (t->process)
		return t->process;
	t->process = gather_process(im->gather, t->key, err);
	if (t->process)
		gather_process_row(im->gather, t->process)->pid = t->number;
	return t->process;
}

static struct row *row_of(struct import *im, const struct trace_event *ev,
			  struct reel_error *err)
{
	struct track *t = track_of(im, &ev->pid, err);
	uint64_t key =
		hash_text(&ev->tid, hash_text(&ev->pid, 0xcbf29ce484222325u));
	uint32_t i = t ? reel_intmap_get(&im->by_row, key, err) : REEL_NO_INDEX;
	int64_t tid;
	struct row *r;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->row, &im->row_room, i, sizeof(*r), err))
		return NULL;
	r = &im->row[i];
	if (i < im->rows)
		return r;
	im->rows++;
	if (!ev->tid.len)
		tid = 0;
	else if (!trace_text_int(&ev->tid, &tid))
		tid = INT64_MIN + (int64_t)(key >> 2);
	else if (t->device) /* none of the host has such a number */
		tid = -((t->number & 0xffff) * 10000000000 +
			(tid & 0xffffffff) + 1);
	if (process_of(im, t, err))
		r->thread = gather_thread(im->gather, t->process, tid, err);
	return r->thread ? r : NULL;
}

/* "rank 3: python3 train.py" of our own export. */
static int name_process(struct import *im, struct track *t, const char *name,
			struct reel_error *err)
{
	struct reel_writer_process *p;
	int rank, n = 0;

	if (!process_of(im, t, err))
		return -1;
	p = gather_process_row(im->gather, t->process);
	if (sscanf(name, "rank %9d: %n", &rank, &n) == 1 && n && rank >= 0) {
		p->rank = rank;
		name += n;
	}
	if (!strcmp(name, "process"))
		return 0; /* our export has no command of it */
	p->command = gather_keep(im->gather, name, err);
	return p->command ? 0 : -1;
}

/* A name of a process or thread. */
static int add_metadata(struct import *im, const struct trace_event *ev,
			struct reel_error *err)
{
	const struct trace_text *name = trace_event_arg(ev, "name");
	struct track *t;
	struct row *r;

	if (!name)
		return 0;
	if (!strcmp(ev->name.s, "thread_name")) {
		r = row_of(im, ev, err);
		if (!r)
			return -1;
		r->stream = track_of(im, &ev->pid, err)->device &&
			    has_prefix(name->s, "Stream");
		return 0;
	}
	if (strcmp(ev->name.s, "process_name"))
		return 0;
	t = track_of(im, &ev->pid, err);
	if (!t)
		return -1;
	if (!has_prefix(name->s, "/host:") && !has_prefix(name->s, "/device:"))
		return name_process(im, t, name->s, err);
	/* The device computes for the process of the host. */
	t->device = has_prefix(name->s, "/device:");
	t->process = gather_process(im->gather, im->source, err);
	return t->process ? 0 : -1;
}

/* --- ranges --------------------------------------------------------------- */

static int64_t arg_int(const struct trace_event *ev, const char *key,
		       int64_t none)
{
	int64_t v;

	return trace_text_int(trace_event_arg(ev, key), &v) ? v : none;
}

/* The call that @ev is in our own export, 0: none. */
static uint16_t call_of(const struct trace_event *ev)
{
	if (!trace_event_arg(ev, "result"))
		return 0;
	for (unsigned int i = 1; i < REEL_CALL_MAX; i++) {
		const struct reel_call_info *info = reel_call_info(i);

		if (info && !strcmp(info->name, ev->name.s) &&
		    !strcmp(reel_layer_name(info->layer), ev->category.s))
			return (uint16_t)i;
	}
	return 0;
}

static uint32_t file_of(struct import *im, const struct trace_event *ev,
			const char *key, bool *ok, struct reel_error *err)
{
	const struct trace_text *path = trace_event_arg(ev, key);
	enum reel_kind kind;
	uint32_t file;

	if (!path || !path->len)
		return 0;
	kind = has_prefix(path->s, "pipe:")	? REEL_KIND_PIPE
	       : has_prefix(path->s, "socket:") ? REEL_KIND_SOCKET
						: REEL_KIND_FILE;
	file = gather_file(im->gather, path->s, path->len, kind, err);
	*ok = *ok && file;
	return file;
}

static int fill_call(struct import *im, struct reel_event *e,
		     const struct trace_event *ev, struct reel_error *err)
{
	int64_t fd = arg_int(ev, "fd", -1), calls = arg_int(ev, "calls", 1);
	bool ok = true;

	e->fd = fd < 0 || fd > INT32_MAX ? -1 : (int32_t)fd;
	e->fd2 = -1;
	e->err = (int32_t)(arg_int(ev, "errno", 0) & 0xffff);
	e->count = calls < 1 || calls > UINT32_MAX ? 1 : (uint32_t)calls;
	e->offset = arg_int(ev, "offset", REEL_NO_OFFSET);
	e->asked = arg_int(ev, "asked", REEL_NO_SIZE);
	e->result = arg_int(ev, "result", 0);
	e->pos = REEL_NO_OFFSET;
	e->file = file_of(im, ev, "path", &ok, err);
	e->file2 = file_of(im, ev, "path2", &ok, err);
	return ok ? 0 : -1;
}

static uint32_t kind_of(const struct trace_event *ev)
{
	if (strcmp(ev->category.s, "span"))
		return REEL_SPAN_USER;
	if (!strcmp(ev->name.s, "kernel") || !strcmp(ev->name.s, "memcpy") ||
	    !strcmp(ev->name.s, "cpu_op"))
		return REEL_SPAN_COMPUTE;
	for (uint32_t kind = REEL_SPAN_EPOCH; kind < REEL_SPANS; kind++)
		if (!strcmp(reel_span_name(kind), ev->name.s))
			return kind;
	return REEL_SPAN_USER;
}

/* The kernel or copy of a stream: its name is in the record of its detail. */
static int fill_kernel(struct import *im, struct range *r,
		       const struct trace_event *ev, struct reel_error *err)
{
	bool copy = strcasestr(ev->name.s, "memcpy") ||
		    strcasestr(ev->name.s, "memset");
	uint32_t name = event_names_count(&im->names, ev, err);

	if (name == REEL_NO_INDEX)
		return -1;
	r->span.kind = REEL_SPAN_COMPUTE;
	r->span.detail = (int64_t)im->records + name + 1;
	r->name = reel_strdup(copy ? "memcpy" : "kernel", err);
	return r->name ? 0 : -1;
}

static int fill_range(struct import *im, struct range *r, const struct row *row,
		      const struct trace_event *ev, struct reel_error *err)
{
	uint16_t call = call_of(ev);
	const char *known;

	*r = (struct range){.open = true};
	r->event.call = call;
	r->span.thread = r->event.thread = row->thread;
	r->span.start_ns = r->event.start_ns = ev->ts_ns;
	r->span.dur_ns = r->event.dur_ns = ev->dur_ns;
	if (call)
		return fill_call(im, &r->event, ev, err);
	if (row->stream)
		return fill_kernel(im, r, ev, err);
	r->span.kind = kind_of(ev);
	r->span.detail = arg_int(ev, "detail", -1);
	if (!strcmp(ev->name.s, "train") && trace_event_arg(ev, "step_num")) {
		r->span.kind = REEL_SPAN_STEP; /* of TensorFlow */
		r->span.detail = arg_int(ev, "step_num", -1);
		return 0;
	}
	known = reel_span_name(r->span.kind);
	if (r->span.kind != REEL_SPAN_USER && !strcmp(known, ev->name.s))
		return 0;
	r->name = reel_strdup(ev->name.s, err);
	return r->name ? 0 : -1;
}

static int put_range(struct import *im, struct range *r, struct reel_error *err)
{
	int rc;

	if (r->span.start_ns < im->start_ns)
		im->start_ns = r->span.start_ns;
	rc = r->event.call ? gather_event(im->gather, &r->event, err)
			   : gather_span(im->gather, &r->span, r->name, err);
	free(r->name);
	*r = (struct range){0};
	return rc;
}

/* The range ends at @ns. */
static int end_range(struct import *im, struct range *r, int64_t ns,
		     struct reel_error *err)
{
	r->span.dur_ns = r->event.dur_ns =
		ns > r->span.start_ns ? ns - r->span.start_ns : 0;
	return put_range(im, r, err);
}

static int add_begin(struct import *im, struct row *row,
		     const struct trace_event *ev, struct reel_error *err)
{
	if (row->depth == DEPTH_MOST) {
		im->bad++;
		return 0;
	}
	if (reel_array_reach(&row->range, &row->room, row->depth,
			     sizeof(*row->range), err))
		return -1;
	return fill_range(im, &row->range[row->depth++], row, ev, err);
}

/* An asynchronous range: its ends have the same category and id. */
static int add_async(struct import *im, const struct row *row,
		     const struct trace_event *ev, struct reel_error *err)
{
	uint64_t key = hash_text(&ev->id,
				 hash_text(&ev->category, 0xcbf29ce484222325u));
	uint32_t i = reel_intmap_get(&im->by_id, key, err);
	struct range *r;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->async, &im->async_room, i, sizeof(*r), err))
		return -1;
	if (i == im->asyncs)
		im->asyncs++;
	r = &im->async[i];
	if (ev->phase == 'e') {
		if (r->open)
			return end_range(im, r, ev->ts_ns, err);
		im->unended++;
		return 0;
	}
	if (r->open) { /* its end is missing */
		im->unended++;
		free(r->name);
	}
	return fill_range(im, r, row, ev, err);
}

static int add_event(struct import *im, const struct trace_event *ev,
		     struct reel_error *err)
{
	struct range whole;
	struct row *row;

	if (ev->phase == 'M')
		return add_metadata(im, ev, err);
	if (!ev->phase || !strchr("XBEbe", ev->phase) || !ev->has_ts)
		return 0; /* trace_events_bad() has those without a time */
	if (ev->dur_ns < 0) {
		im->bad++;
		return 0;
	}
	row = row_of(im, ev, err);
	if (!row)
		return -1;
	switch (ev->phase) {
	case 'X':
		whole = (struct range){0};
		if (fill_range(im, &whole, row, ev, err))
			return -1;
		return put_range(im, &whole, err);
	case 'B':
		return add_begin(im, row, ev, err);
	case 'E':
		if (row->depth)
			return end_range(im, &row->range[--row->depth],
					 ev->ts_ns, err);
		im->unended++;
		return 0;
	default:
		return add_async(im, row, ev, err);
	}
}

/* --- files ---------------------------------------------------------------- */

/* Count the ranges that have not ended, and forget the file. */
static void forget_file(struct import *im)
{
	for (uint32_t i = 0; i < im->rows; i++) {
		im->unended += im->row[i].depth;
		while (im->row[i].depth)
			free(im->row[i].range[--im->row[i].depth].name);
		free(im->row[i].range);
	}
	for (uint32_t i = 0; i < im->asyncs; i++) {
		im->unended += im->async[i].open;
		free(im->async[i].name);
	}
	free(im->track);
	free(im->row);
	free(im->async);
	im->track = NULL;
	im->row = NULL;
	im->async = NULL;
	im->tracks = im->rows = im->asyncs = 0;
	im->track_room = im->row_room = im->async_room = 0;
	reel_intmap_fini(&im->by_pid);
	reel_intmap_fini(&im->by_row);
	reel_intmap_fini(&im->by_id);
	im->by_pid = im->by_row = im->by_id = (struct reel_intmap){0};
	event_names_fini(&im->names);
	im->events = 0;
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	struct trace_event *ev = reel_alloc(1, sizeof(*ev), err);
	struct trace_events *t = NULL;
	int rc = -1, more;

	if (!ev || gather_source(im->gather, im->source, err) ||
	    trace_events_open(&t, path, err))
		goto out;
	while ((more = trace_events_next(t, ev, err)) > 0) {
		im->events += ev->phase != 0;
		if (add_event(im, ev, err))
			goto out;
	}
	if (more)
		goto out;
	if (!im->events) {
		reel_fail(err, REEL_E_FORMAT, "'%s' holds no trace events",
			  path);
		goto out;
	}
	im->bad += trace_events_bad(t);
	rc = event_names_write(&im->names, im->writer, im->source,
			       im->records + 1, -1, err);
	im->records += im->names.names;
out:
	trace_events_close(t);
	forget_file(im);
	free(ev);
	return rc;
}

static int put_losses(struct import *im, struct reel_error *err)
{
	struct reel_writer *w = im->writer;

	if (im->bad &&
	    reel_writer_loss(w, 0, "not_understood", "events", im->bad, err))
		return -1;
	return im->unended ? reel_writer_loss(w, 0, "no_end", "events",
					      im->unended, err)
			   : 0;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {.writer = w, .start_ns = INT64_MAX};
	struct reel_writer_run run = {.job_json = "{}",
				      .command = "",
				      .wall_ns = REEL_NO_OFFSET,
				      .clock_error_ns = REEL_NO_OFFSET,
				      .exit_status = REEL_NO_OFFSET,
				      .exit_signal = REEL_NO_OFFSET};
	const char *slash = strrchr(in->path[0], '/');
	const char *base = slash ? slash + 1 : in->path[0];
	char name[256];
	int rc = gather_new(&im.gather, w, err);

	while (!rc && im.source < (uint32_t)in->paths) {
		const char *path = in->path[im.source++];

		rc = read_file(&im, path, err);
	}
	if (!rc)
		rc = put_losses(&im, err);
	if (!rc) {
		snprintf(name, sizeof(name), "%.*s",
			 (int)(strcspn(base, ".") & 0xff), base);
		run.name = *name ? name : "chrome";
		run.lost = (int64_t)(im.bad + im.unended);
		if (im.start_ns >= EPOCH_NS && im.start_ns != INT64_MAX)
			run.start_real_ns = im.start_ns;
		rc = gather_finish(im.gather, &run, err);
	}
	gather_free(im.gather);
	return rc;
}

static bool has_text(const char *bytes, size_t n, const char *text)
{
	return bytes && memmem(bytes, n, text, strlen(text));
}

/* An object with "traceEvents", or an array of events with phases. DFTracer's files
 * begin in the same way, but have a host name or its hash in each event. */
static bool detect(const char *bytes, size_t n)
{
	size_t at = 0;

	while (at < n && strchr(" \t\r\n", bytes[at]))
		at++;
	if (at == n || (bytes[at] != '{' && bytes[at] != '['))
		return false;
	if (bytes[at] == '{')
		return has_text(bytes, n, "\"traceEvents\"");
	for (at++; at < n && strchr(" \t\r\n", bytes[at]);)
		at++;
	return at < n && bytes[at] == '{' && has_text(bytes, n, "\"ph\"") &&
	       !has_text(bytes, n, "\"hhash\"") &&
	       !has_text(bytes, n, "\"hostname\"");
}

const struct reel_importer reel_importer_chrome = {
	.name = "chrome",
	.about = "trace events of Chrome and Perfetto (JSON), as of ioreel "
		 "export, "
		 "TensorFlow, Horovod",
	.missing = {"calls and files, but for exports of ioreel",
		    "counter tracks", "flows", "instant events", NULL},
	.detect = detect,
	.load = load,
};

/* SPDX-License-Identifier: MIT */
/*
 * Import Chrome's trace events of any tool: every range is a span of its name.
 *
 * Two tools say more. The export of ioreel holds calls and spans of known
 * kinds, which become what they were. TensorFlow's profiler has one row for
 * each stream of a device, whose ranges are kernels and copies, and numbers its
 * steps.
 *
 * Source: "Trace Event Format", Google, 2016; tensorflow/core/profiler.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"
#include "schemas/trace_format.h"

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/common/call_names.h"
#include "analyzer/import/common/event_names.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/profile.h"
#include "analyzer/import/common/span_names.h"
#include "analyzer/import/profile/tensorflow.h"
#include "analyzer/import/profile/tensorflow_runs.h"
#include "analyzer/import/common/trace_events.h"
#include "analyzer/import/profile/chrome_rows.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/table.h"

#define DEPTH_MOST 4096 /* of ranges of a thread */
#define HEAD_MOST 16384 /* bytes: a smaller head is a whole file */

/* A range that has begun. */
struct chrome_range {
	struct reel_span_event span;
	struct reel_event event; /* call 0: it is a span */
	char *name;		 /* of a span of the user; NULL */
	bool maybe_step; /* TensorFlow has a step or graph of its name */
};

struct import {
	struct reel_writer *writer;
	struct import_gather *gather;
	uint32_t source, records;
	int64_t start_ns;
	uint64_t bad, unended;
	bool own, tensorflow, jax, fetching; /* any of the files */
	/* The file at hand. */
	struct event_names names;
	struct chrome_rows rows;
	struct reel_intmap by_id;
	struct chrome_open *async; /* by index of by_id */
	uint32_t asyncs, async_room;
	uint64_t events, steps;
	int64_t base_ns; /* CLOCK_REALTIME of its time 0; 0: not known */
	struct tensorflow_fetches fetches;
	struct tensorflow_runs runs;
	struct chrome_range *held; /* perhaps steps */
	uint32_t held_n, held_room;
	/* TensorFlow's Timeline: a run of a graph is a step. */
	struct reel_span_event graph; /* thread 0: none */
};

/* --- ranges --------------------------------------------------------------- */

static int64_t arg_int(const struct trace_event *ev, const char *key,
		       int64_t none)
{
	int64_t v;

	return trace_text_int(trace_event_arg(ev, key), &v) ? v : none;
}

/*
 * The call of @ev in our own export goes into @e; 0: none. Other tools have
 * events of category "other", too: those of unknown layers are ranges.
 */
static int set_call(struct import *im, struct reel_event *e,
		    const struct trace_event *ev, struct reel_error *err)
{
	enum reel_layer layer = reel_layer_of_name(ev->category.s);
	enum reel_group group;

	if (!layer || layer == REEL_LAYER_OTHER ||
	    !trace_event_arg(ev, "result"))
		return 0;
	for (unsigned int i = 1; i < REEL_CALL_MAX; i++) {
		const struct reel_call_info *info = reel_call_info(i);

		if (info && info->layer == layer &&
		    !strcmp(info->name, ev->name.s)) {
			e->call = (uint16_t)i;
			return 0;
		}
	}
	group = import_call_group(ev->name.s);
	e->call = reel_writer_call(im->writer, ev->name.s, layer, group, err);
	e->layer = (uint8_t)layer;
	e->group = (uint8_t)group;
	return e->call ? 0 : -1;
}

static uint32_t file_of(struct import *im, const struct trace_event *ev,
			const char *key, bool *ok, struct reel_error *err)
{
	const struct trace_text *path = trace_event_arg(ev, key);
	enum reel_kind kind;
	uint32_t file;

	if (!path || !path->len)
		return 0;
	kind = profile_has_prefix(path->s, "pipe:")	? REEL_KIND_PIPE
	       : profile_has_prefix(path->s, "socket:") ? REEL_KIND_SOCKET
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

/* The kind of a span of our own export. */
static uint32_t own_kind(const struct trace_event *ev)
{
	if (reel_span_is_of_device(ev->name.s) || !strcmp(ev->name.s, "cpu_op"))
		return REEL_SPAN_COMPUTE;
	for (uint32_t kind = REEL_SPAN_EPOCH; kind < REEL_SPANS; kind++)
		if (!strcmp(reel_span_name(kind), ev->name.s))
			return kind;
	return REEL_SPAN_USER;
}

/* The kernel or copy of a stream: its name is in the record of its detail. */
static int fill_kernel(struct import *im, struct chrome_range *r,
		       const struct trace_event *ev, struct reel_error *err)
{
	uint32_t name = event_names_count(&im->names, ev, err);

	if (name == REEL_NO_INDEX)
		return -1;
	r->span.kind = REEL_SPAN_COMPUTE;
	r->span.detail = (int64_t)im->records + name + 1;
	r->name = reel_strdup(profile_device_span(ev->name.s), err);
	return r->name ? 0 : -1;
}

/* Kind and detail of a range: of our own export, TensorFlow, or by its name. */
static void fill_meaning(struct import *im, struct reel_span_event *span,
			 const struct trace_event *ev)
{
	struct span_meaning m;

	if (!strcmp(ev->category.s, "span")) {
		im->own = true;
		span->kind = own_kind(ev);
		span->detail = arg_int(ev, "detail", -1);
	} else if (trace_event_arg(ev, "step_num")) {
		span->kind = REEL_SPAN_STEP;
		span->detail = arg_int(ev, "step_num", -1);
	} else {
		m = span_names_meaning(ev->name.s);
		span->kind = m.kind;
		span->detail = m.number;
	}
}

static int fill_range(struct import *im, struct chrome_range *r,
		      const struct chrome_row *row,
		      const struct trace_event *ev, struct reel_error *err)
{
	*r = (struct chrome_range){0};
	if (set_call(im, &r->event, ev, err))
		return -1;
	r->span.thread = r->event.thread = row->thread;
	r->span.start_ns = r->event.start_ns = ev->ts_ns;
	r->span.dur_ns = r->event.dur_ns = ev->dur_ns;
	if (r->event.call)
		return fill_call(im, &r->event, ev, err);
	if (row->stream)
		return fill_kernel(im, r, ev, err);
	fill_meaning(im, &r->span, ev);
	r->maybe_step = row->tensorflow && r->span.kind == REEL_SPAN_STEP &&
			!trace_event_arg(ev, "step_num");
	/* Names of our own spans of computation differ: "kernel", "cpu_op". */
	if (r->span.kind != REEL_SPAN_USER && !r->maybe_step &&
	    (r->span.kind != REEL_SPAN_COMPUTE ||
	     !strcmp(reel_span_name(r->span.kind), ev->name.s)))
		return 0;
	r->name = reel_strdup(ev->name.s, err);
	return r->name ? 0 : -1;
}

static int hold_range(struct import *im, struct chrome_range *r,
		      struct reel_error *err)
{
	if (reel_array_append(&im->held, &im->held_room, im->held_n, sizeof(*r),
			      err)) {
		free(r->name);
		r->name = NULL;
		return -1;
	}
	im->held[im->held_n++] = *r;
	*r = (struct chrome_range){0};
	return 0;
}

static int put_range(struct import *im, struct chrome_range *r,
		     struct reel_error *err)
{
	int rc;

	if (r->maybe_step)
		return hold_range(im, r, err);

	if (r->span.start_ns < im->start_ns)
		im->start_ns = r->span.start_ns;
	im->steps += !r->event.call && r->span.kind == REEL_SPAN_STEP;
	rc = r->event.call ? gather_event(im->gather, &r->event, err)
			   : gather_span(im->gather, &r->span, r->name, err);
	free(r->name);
	*r = (struct chrome_range){0};
	return rc;
}

/* A graph may have the name of a step, and be called between two fetches. */
static int put_held(struct import *im, struct reel_error *err)
{
	bool steps = !im->steps && !im->fetches.n;

	for (uint32_t i = 0; i < im->held_n; i++) {
		struct chrome_range *r = &im->held[i];

		r->maybe_step = false;
		if (steps) {
			free(r->name);
			r->name = NULL;
		} else {
			r->span.kind = REEL_SPAN_USER;
			r->span.detail = -1;
		}
		if (put_range(im, r, err))
			return -1;
	}
	return 0;
}

static int begin_range(struct import *im, struct chrome_open *o,
		       const struct chrome_row *row,
		       const struct trace_event *ev, struct reel_error *err)
{
	if (o->depth == DEPTH_MOST) {
		im->bad++;
		return 0;
	}
	if (reel_array_reach(&o->range, &o->room, o->depth, sizeof(*o->range),
			     err))
		return -1;
	return fill_range(im, &o->range[o->depth++], row, ev, err);
}

/* The range that began last ends at @ns; an end before it is of none. */
static int end_last(struct import *im, struct chrome_open *o, int64_t ns,
		    struct reel_error *err)
{
	struct chrome_range *r = o->depth ? &o->range[o->depth - 1] : NULL;

	if (!r || ns < r->span.start_ns) {
		im->unended++;
		return 0;
	}
	o->depth--;
	r->span.dur_ns = r->event.dur_ns = ns - r->span.start_ns;
	return put_range(im, r, err);
}

/*
 * An asynchronous range: its ends have the same category and id. Those of one id
 * nest, so that an end is of the range that began last.
 */
static int add_async(struct import *im, const struct chrome_row *row,
		     const struct trace_event *ev, struct reel_error *err)
{
	uint64_t key =
		chrome_hash(&ev->id, chrome_hash(&ev->category, REEL_FNV_SEED));
	uint32_t i;
	struct chrome_open *a;

	if (ev->local_id)
		key = chrome_hash(&ev->pid, key);
	i = reel_intmap_get(&im->by_id, key, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&im->async, &im->async_room, i, sizeof(*a), err))
		return -1;
	if (i == im->asyncs)
		im->asyncs++;
	a = &im->async[i];
	if (ev->phase == 'b' || ev->phase == 'S')
		return begin_range(im, a, row, ev, err);
	return end_last(im, a, ev->ts_ns, err);
}

/* The run of a graph lasts from its first operator to its last one. */
static void see_graph(struct import *im, const struct chrome_row *row,
		      const struct trace_event *ev)
{
	struct reel_span_event *g = &im->graph;
	int64_t end_ns = ev->ts_ns + ev->dur_ns;

	if (!row->timeline)
		return;
	if (!g->thread)
		*g = (struct reel_span_event){.thread = row->thread,
					      .start_ns = ev->ts_ns,
					      .kind = REEL_SPAN_STEP,
					      .detail = -1};
	if (ev->ts_ns < g->start_ns) {
		g->dur_ns += g->start_ns - ev->ts_ns;
		g->start_ns = ev->ts_ns;
	}
	if (end_ns - g->start_ns > g->dur_ns)
		g->dur_ns = end_ns - g->start_ns;
}

static int add_fetch(struct import *im, const struct chrome_row *row,
		     const struct trace_event *ev, struct reel_error *err)
{
	struct tensorflow_fetch fetch = {ev->ts_ns, ev->dur_ns, row->thread,
					 trace_event_arg(ev, "element_size") !=
						 NULL,
					 tensorflow_wait_of(ev->name.s)};

	if (ev->ts_ns < im->start_ns)
		im->start_ns = ev->ts_ns;
	return tensorflow_fetches_add(&im->fetches, &fetch, err);
}

/* Horovod's clock begins with its timeline. */
static void see_base(struct import *im, const struct trace_event *ev)
{
	int64_t us = arg_int(ev, "start_time_since_epoch_in_micros", 0);

	if (us >= PROFILE_EPOCH_NS / 1000 && us < INT64_MAX / 4 / 1000)
		im->base_ns = us * 1000;
}

static int add_event(struct import *im, const struct trace_event *ev,
		     struct reel_error *err)
{
	struct chrome_range whole;
	struct chrome_row *row;

	if (ev->phase == 'M') {
		see_base(im, ev);
		return chrome_rows_name(&im->rows, ev, err);
	}
	if (!ev->phase || !strchr("XBEbeSF", ev->phase) || !ev->has_ts)
		return 0; /* trace_events_bad() has those without a time */
	if (ev->dur_ns < 0) {
		im->bad++;
		return 0;
	}
	row = chrome_rows_get(&im->rows, ev, err);
	if (!row)
		return -1;
	im->tensorflow |= row->tensorflow;
	if (ev->phase == 'X' && row->tensorflow && !row->stream) {
		see_graph(im, row, ev);
		im->jax |= tensorflow_is_jax(ev->name.s);
		if (tensorflow_wait_of(ev->name.s) != TENSORFLOW_NO_WAIT)
			return add_fetch(im, row, ev, err);
		if (tensorflow_runs_see(&im->runs, ev, err))
			return -1;
	}
	switch (ev->phase) {
	case 'X':
		whole = (struct chrome_range){0};
		if (fill_range(im, &whole, row, ev, err))
			return -1;
		return put_range(im, &whole, err);
	case 'B':
		return begin_range(im, &row->open, row, ev, err);
	case 'E':
		return end_last(im, &row->open, ev->ts_ns, err);
	default:
		return add_async(im, row, ev, err);
	}
}

/* --- files ---------------------------------------------------------------- */

/* Count the ranges that have not ended, and forget them. */
static void forget_open(struct import *im, struct chrome_open *o)
{
	im->unended += o->depth;
	while (o->depth)
		free(o->range[--o->depth].name);
	free(o->range);
}

static void forget_file(struct import *im)
{
	for (uint32_t i = 0; i < im->rows.rows; i++)
		forget_open(im, &im->rows.row[i].open);
	chrome_rows_fini(&im->rows);
	for (uint32_t i = 0; i < im->asyncs; i++)
		forget_open(im, &im->async[i]);
	free(im->async);
	im->async = NULL;
	im->asyncs = im->async_room = 0;
	reel_intmap_fini(&im->by_id);
	im->by_id = (struct reel_intmap){0};
	event_names_fini(&im->names);
	tensorflow_fetches_fini(&im->fetches);
	tensorflow_runs_fini(&im->runs);
	for (uint32_t i = 0; i < im->held_n; i++)
		free(im->held[i].name);
	free(im->held);
	im->held = NULL;
	im->held_n = im->held_room = 0;
	im->graph = (struct reel_span_event){0};
	im->events = im->steps = 0;
	im->base_ns = 0;
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	struct trace_event *ev = reel_alloc(1, sizeof(*ev), err);
	struct trace_events *t = NULL;
	int rc = -1, more;

	im->rows = (struct chrome_rows){.gather = im->gather,
					.source = im->source};
	if (!ev || gather_source(im->gather, im->source, err) ||
	    trace_events_open(&t, path, err))
		goto out;
	while ((more = trace_events_next(t, ev, err)) > 0) {
		im->events += ev->phase != 0;
		ev->ts_ns += im->base_ns;
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
	if (im->graph.thread && gather_span(im->gather, &im->graph, NULL, err))
		goto out;
	tensorflow_fetches_settle(&im->fetches);
	if (tensorflow_runs_training(&im->runs, &im->fetches, err) ||
	    put_held(im, err) ||
	    tensorflow_fetches_put(&im->fetches, im->gather,
				   !im->steps && !im->graph.thread, err))
		goto out;
	im->fetching |= im->fetches.tf_data;
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
	struct reel_writer_run run = import_run_unknown();
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
		if (im.tensorflow)
			run.framework =
				tensorflow_frameworks(im.jax, im.fetching);
		run.lost = (int64_t)(im.bad + im.unended);
		if (im.start_ns >= PROFILE_EPOCH_NS && im.start_ns != INT64_MAX)
			run.start_real_ns = im.start_ns;
		if (im.own)
			gather_batches(im.gather);
		else if (!im.tensorflow && !im.jax)
			gather_fetches_of_loop(im.gather);
		rc = gather_finish(im.gather, &run, err);
	}
	gather_free(im.gather);
	return rc;
}

static bool has_text(const char *bytes, size_t n, const char *text)
{
	return bytes && memmem(bytes, n, text, strlen(text));
}

/* An object with "traceEvents", perhaps behind @bytes, or an array of events with phases.
 * DFTracer's files begin in the same way, but have a host name or its hash
 * in each event. */
static bool detect(const char *bytes, size_t n)
{
	size_t at = 0;

	while (at < n && strchr(" \t\r\n", bytes[at]))
		at++;
	if (at == n || (bytes[at] != '{' && bytes[at] != '['))
		return false;
	if (bytes[at] == '{')
		return n >= HEAD_MOST || has_text(bytes, n, "\"traceEvents\"");
	for (at++; at < n && strchr(" \t\r\n", bytes[at]);)
		at++;
	return at < n && bytes[at] == '{' && has_text(bytes, n, "\"ph\"") &&
	       !has_text(bytes, n, "\"hhash\"") &&
	       !has_text(bytes, n, "\"hostname\"");
}

/* Other values may precede the events: source maps, names of devices. */
static bool confirm(const char *path)
{
	struct trace_event *ev = malloc(sizeof(*ev));
	struct reel_error err = {0};
	struct trace_events *t = NULL;
	bool found = false;

	if (ev && !trace_events_open(&t, path, &err)) {
		trace_events_next(t, ev, &err);
		found = trace_events_has_array(t);
	}
	trace_events_close(t);
	free(ev);
	return found;
}

const struct reel_importer reel_importer_chrome = {
	.name = "chrome",
	.about = "trace events of Chrome and Perfetto (JSON), as of ioreel "
		 "export, "
		 "TensorFlow, Horovod",
	.missing = {"calls and files, but for exports of ioreel",
		    "counter tracks", "flows", "instant events", NULL},
	.partial = true,
	.detect = detect,
	.confirm = confirm,
	.load = load,
};

/* SPDX-License-Identifier: MIT */
/*
 * Import profiles of TensorFlow and JAX: files xplane.pb, one for each host.
 *
 * A file is read twice, as names come after the events that use them: first
 * names and lines of each plane, then the events. Steps, fetches and the
 * kernels of devices become spans; every event is in the counts and times by
 * name, which are exact in picoseconds.
 *
 * Source: tsl/profiler/protobuf/xplane.proto; xplane_schema.cc of XLA for
 * names.
 */
#include <stdlib.h>
#include <string.h>

#include "schemas/trace_format.h"

#include "lib/error.h"

#include "analyzer/import/common/event_names.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/profile.h"
#include "analyzer/import/profile/tensorflow.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/profile/protobuf.h"
#include "analyzer/import/common/table.h"
#include "analyzer/import/profile/xplane_names.h"

#define TIME_NS_MOST (INT64_MAX / 4)
#define PS_PER_NS 1000

/* A span whose meaning is known at the end of the file. */
struct interval {
	int64_t start_ns, dur_ns, number;
	uint32_t thread;
};

struct intervals {
	struct interval *at;
	size_t n, room;
};

struct import {
	struct reel_writer *writer;
	struct import_gather *gather;
	uint32_t source, records;
	uint64_t bad;
	int64_t start_ns, end_ns; /* of all files */
	bool jax, fetching;	  /* any of them */
	/* The file at hand. */
	uint32_t process;
	struct xplane_names x;
	struct event_names names;
	struct intervals numbered_step, device_step, named_step;
	struct tensorflow_fetches fetches;
	uint64_t events, steps;
	int64_t from_ns, to_ns; /* of its events */
};

/* An event of a line, as it is read. */
struct event {
	int64_t metadata, offset_ps, dur_ps;
	uint64_t occurrences;
	int64_t step; /* -1: no number */
	bool root, sized;
};

static int add_interval(struct intervals *list, const struct interval *iv,
			struct reel_error *err)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;

		if (reel_grow(&list->at, room, sizeof(*iv), err))
			return -1;
		list->room = room;
	}
	list->at[list->n++] = *iv;
	return 0;
}

static int put_span(struct import *im, const struct interval *iv, uint32_t kind,
		    int64_t detail, const char *name, struct reel_error *err)
{
	struct reel_span_event ev = {.start_ns = iv->start_ns,
				     .dur_ns = iv->dur_ns,
				     .thread = iv->thread,
				     .kind = kind,
				     .detail = detail};

	return gather_span(im->gather, &ev, name, err);
}

/* --- events --------------------------------------------------------------- */

/* XStat: of the values only those of three names are of use. */
static int read_stat(struct import *im, struct protobuf *pb, uint64_t end,
		     const struct xplane *plane, struct event *e,
		     struct reel_error *err)
{
	struct protobuf_field f;
	uint64_t value = 0;
	int64_t id = 0;
	int more;

	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.type == PROTOBUF_BYTES) {
			if (protobuf_skip(pb, &f, err))
				return -1;
		} else if (f.number == 1) {
			id = (int64_t)f.value;
		} else {
			value = f.value;
		}
	}
	if (more < 0 || !id)
		return more;
	if (id == plane->step_num)
		e->step = value <= INT64_MAX ? (int64_t)value : -1;
	else if (id == plane->root)
		e->root = value;
	else if (id == plane->element_size)
		e->sized = true;
	return 0;
}

/* XEvent */
static int read_event(struct import *im, struct protobuf *pb, uint64_t end,
		      const struct xplane *plane, struct event *e,
		      struct reel_error *err)
{
	struct protobuf_field f;
	int more;

	*e = (struct event){.step = -1};
	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.number == 4 && f.type == PROTOBUF_BYTES) {
			if (read_stat(im, pb, f.end, plane, e, err))
				return -1;
			continue;
		}
		if (f.type == PROTOBUF_BYTES && protobuf_skip(pb, &f, err))
			return -1;
		if (f.number == 1)
			e->metadata = (int64_t)f.value;
		else if (f.number == 2)
			e->offset_ps = (int64_t)f.value;
		else if (f.number == 3)
			e->dur_ps = (int64_t)f.value;
		else if (f.number == 5)
			e->occurrences = f.value;
	}
	return more;
}

/* Start and end are cut to ns, so that nested events stay nested. False: the
 * time is not possible. */
static bool time_of(const struct import *im, const struct xplane_line *line,
		    const struct event *e, struct interval *iv)
{
	int64_t at = line->timestamp_ns, end_ps;

	if (at < PROFILE_EPOCH_NS)
		at += im->x.base_ns;
	if (e->dur_ps < 0 || at < 0 || at > TIME_NS_MOST ||
	    __builtin_add_overflow(e->offset_ps, e->dur_ps, &end_ps))
		return false;
	iv->start_ns = at + e->offset_ps / PS_PER_NS;
	iv->dur_ns = at + end_ps / PS_PER_NS - iv->start_ns;
	return iv->start_ns >= 0 && iv->dur_ns >= 0;
}

/* The span of an event of the host, if it is one. */
static int add_host_event(struct import *im, const struct xplane_name *name,
			  const struct event *e, struct interval *iv,
			  struct reel_error *err)
{
	if (name->wait != TENSORFLOW_NO_WAIT) {
		struct tensorflow_fetch fetch = {iv->start_ns, iv->dur_ns,
						 iv->thread, e->sized,
						 name->wait};

		return tensorflow_fetches_add(&im->fetches, &fetch, err);
	}
	if (name->trains)
		return profile_intervals_add(&im->fetches.training,
					     iv->start_ns,
					     iv->start_ns + iv->dur_ns, err);
	if (e->step >= 0) {
		im->steps++;
		iv->number = e->step;
		return add_interval(&im->numbered_step, iv, err);
	}
	switch (name->meaning.kind) {
	case REEL_SPAN_STEP:
		iv->number = name->meaning.number;
		return add_interval(&im->named_step, iv, err);
	case REEL_SPAN_EPOCH:
	case REEL_SPAN_FETCH:
	case REEL_SPAN_CHECKPOINT:
	case REEL_SPAN_EVAL:
		return put_span(im, iv, name->meaning.kind,
				name->meaning.number, NULL, err);
	}
	/* Roots without number are mostly functions of tf.data's threads. */
	return e->root && !name->is_function
		       ? put_span(im, iv, REEL_SPAN_USER, -1, name->text, err)
		       : 0;
}

static int add_event(struct import *im, const struct xplane *plane,
		     const struct xplane_line *line, const struct event *e,
		     struct reel_error *err)
{
	struct xplane_name *name = xplane_name(&im->x, plane, e->metadata, err);
	struct interval iv = {0};

	if (!name)
		return -1;
	if (name->index == REEL_NO_INDEX)
		name->index =
			event_names_index(&im->names, plane->name, name->text,
					  strlen(name->text), err);
	if (name->index == REEL_NO_INDEX)
		return -1;
	im->events++;
	event_names_add(&im->names, name->index,
			e->occurrences ? e->occurrences : 1, e->dur_ps);
	if (e->occurrences || plane->kind == XPLANE_OTHER ||
	    line->kind == XPLANE_LINE_OTHER)
		return 0; /* a sum of events has no time */
	if (!time_of(im, line, e, &iv)) {
		im->bad++;
		return 0;
	}
	if (iv.start_ns < im->from_ns)
		im->from_ns = iv.start_ns;
	if (iv.start_ns + iv.dur_ns > im->to_ns)
		im->to_ns = iv.start_ns + iv.dur_ns;
	iv.thread = line->thread;
	if (line->kind == XPLANE_LINE_THREAD)
		return add_host_event(im, name, e, &iv, err);
	if (line->kind == XPLANE_LINE_KERNELS)
		return put_span(im, &iv, REEL_SPAN_COMPUTE,
				(int64_t)im->records + name->index + 1,
				profile_device_span(name->text), err);
	iv.number = strtoll(name->text, NULL, 10);
	return add_interval(&im->device_step, &iv, err);
}

/* --- lines and planes: the second reading --------------------------------- */

static int start_line(struct import *im, const struct xplane *plane,
		      struct xplane_line *line, struct reel_error *err)
{
	int64_t tid = plane->kind == XPLANE_DEVICE
			      ? profile_stream_tid(plane->device, line->id)
			      : line->id;

	if (line->kind == XPLANE_LINE_OTHER || line->thread)
		return 0;
	line->thread = gather_thread(im->gather, im->process, tid, err);
	return line->thread ? 0 : -1;
}

static int read_line(struct import *im, struct protobuf *pb, uint64_t end,
		     const struct xplane *plane, struct xplane_line *line,
		     struct reel_error *err)
{
	struct protobuf_field f;
	struct event e;
	int more;

	if (start_line(im, plane, line, err))
		return -1;
	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.number != 4 || f.type != PROTOBUF_BYTES) {
			if (protobuf_skip(pb, &f, err))
				return -1;
			continue;
		}
		if (read_event(im, pb, f.end, plane, &e, err) ||
		    add_event(im, plane, line, &e, err))
			return -1;
	}
	return more;
}

static int read_plane(struct import *im, struct protobuf *pb, uint64_t end,
		      const struct xplane *plane, struct reel_error *err)
{
	struct protobuf_field f;
	size_t n = 0;
	int more;

	while ((more = protobuf_next(pb, end, &f, err)) > 0) {
		if (f.number == 3 && f.type == PROTOBUF_BYTES &&
		    n < plane->lines) {
			if (read_line(im, pb, f.end, plane, &plane->line[n++],
				      err))
				return -1;
		} else if (protobuf_skip(pb, &f, err)) {
			return -1;
		}
	}
	return more;
}

static int read_events(struct import *im, const char *path,
		       struct reel_error *err)
{
	struct protobuf *pb = NULL;
	struct protobuf_field f;
	size_t n = 0;
	int more = protobuf_open(&pb, path, err);

	while (!more &&
	       (more = protobuf_next(pb, PROTOBUF_DOCUMENT, &f, err)) > 0) {
		if (f.number == 1 && f.type == PROTOBUF_BYTES &&
		    n < im->x.planes)
			more = read_plane(im, pb, f.end, &im->x.plane[n++],
					  err);
		else
			more = protobuf_skip(pb, &f, err);
	}
	protobuf_close(pb);
	return more;
}

/* --- the end of a file ---------------------------------------------------- */

static int put_steps(struct import *im, const struct intervals *list,
		     struct reel_error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct interval *iv = &list->at[i];

		/* the step that a loop began before it saw that no batch is left */
		if (!tensorflow_finds_end(&im->fetches, iv->start_ns,
					  iv->start_ns + iv->dur_ns) &&
		    put_span(im, iv, REEL_SPAN_STEP, iv->number, NULL, err))
			return -1;
	}
	return 0;
}

/* The job ran from the first event to the last one, also where none is a span. */
static void set_extent(struct import *im, struct reel_writer_process *p)
{
	if (im->from_ns > im->to_ns)
		return; /* sums only */
	if (im->from_ns < p->start_ns)
		p->start_ns = im->from_ns;
	if (im->to_ns > p->end_ns)
		p->end_ns = im->to_ns;
	if (im->from_ns < im->start_ns)
		im->start_ns = im->from_ns;
	if (im->to_ns > im->end_ns)
		im->end_ns = im->to_ns;
	gather_origin(im->gather, im->from_ns);
}

static int put_file(struct import *im, const char *path, struct reel_error *err)
{
	struct reel_writer_process *p;

	if (!im->events)
		return reel_fail(err, REEL_E_FORMAT, "'%s' holds no events",
				 path);
	p = gather_process_row(im->gather, im->process);
	if (*im->x.host) {
		p->host_id = gather_host(im->gather, im->x.host, err);
		if (!p->host_id)
			return -1;
	}
	tensorflow_fetches_settle(&im->fetches);
	if (put_steps(im, im->steps ? &im->numbered_step : &im->device_step,
		      err))
		return -1;
	im->steps += im->device_step.n;
	/* A graph may have the name of a step and take a batch of an iterator
	 * that is outside of it. */
	if (!im->steps && !im->fetches.n && put_steps(im, &im->named_step, err))
		return -1;
	if (tensorflow_fetches_put(&im->fetches, im->gather, !im->steps, err))
		return -1;
	if (event_names_write(&im->names, im->writer, im->source,
			      im->records + 1, -1, err))
		return -1;
	im->records += im->names.names;
	set_extent(im, p);
	im->jax |= im->x.jax;
	im->fetching |= im->fetches.tf_data;
	return 0;
}

static void forget_file(struct import *im)
{
	xplane_names_fini(&im->x);
	event_names_fini(&im->names);
	tensorflow_fetches_fini(&im->fetches);
	free(im->numbered_step.at);
	free(im->device_step.at);
	free(im->named_step.at);
	im->numbered_step = im->device_step = im->named_step =
		(struct intervals){0};
	im->events = im->steps = 0;
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	int rc = -1;

	im->names.time_counter = "TIME_PS";
	im->from_ns = INT64_MAX;
	im->to_ns = INT64_MIN;
	im->process =
		gather_process(im->gather, (uint64_t)im->source << 40, err);
	if (im->process && !xplane_names_read(&im->x, path, err) &&
	    !read_events(im, path, err))
		rc = put_file(im, path, err);
	forget_file(im);
	return rc;
}

static int put_losses(struct import *im, struct reel_error *err)
{
	return im->bad ? reel_writer_loss(im->writer, 0, "not_understood",
					  "events", im->bad, err)
		       : 0;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {
		.writer = w, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
	struct reel_writer_run run = import_run_unknown();
	char name[256];
	int rc = gather_new(&im.gather, w, err);

	run.ranks = in->paths;
	while (!rc && im.source < (uint32_t)in->paths) {
		const char *path = in->path[im.source++];

		rc = gather_source(im.gather, im.source, err) ||
		     read_file(&im, path, err);
	}
	if (!rc)
		rc = put_losses(&im, err);
	if (!rc) {
		run.name = import_run_name(in->path[0], ".xplane.pb", name);
		run.lost = (int64_t)im.bad;
		run.framework = tensorflow_frameworks(im.jax, im.fetching);
		if (im.start_ns >= PROFILE_EPOCH_NS && im.start_ns != INT64_MAX)
			run.start_real_ns = im.start_ns;
		if (im.start_ns < im.end_ns)
			reel_writer_reach(w, im.end_ns - im.start_ns);
		rc = gather_finish(im.gather, &run, err);
	}
	gather_free(im.gather);
	return rc;
}

const struct reel_importer reel_importer_xplane = {
	.name = "xplane",
	.about = "profiles of TensorFlow and JAX: xplane.pb, one for each host",
	.missing = {"files", "calls", "bytes", "pids", "rank numbers",
		    "single operators of the host and stages of tf.data",
		    "waits of JAX but for annotations, tf.data, DataLoader",
		    NULL},
	.detect = xplane_detect,
	.load = load,
};

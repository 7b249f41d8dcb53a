/* SPDX-License-Identifier: MIT */
/*
 * Import profiles of PyTorch (Kineto's JSON), one file for each rank.
 *
 * Steps, fetches, optimizers and ranges of the user become spans, as do the
 * kernels and copies of the devices. The operators of the host are too many for
 * that: of them the store gets counts and times by name, and, where the file
 * has no device, the union of each thread's operators as its computation. Spans
 * wait for the end of their file, since the base of its times may come after
 * them.
 *
 * Source: libkineto's output_json.cpp; files of PyTorch 1.8 to 2.8.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/trace_format.h"

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/import/common/event_names.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/profile.h"
#include "analyzer/import/common/sorter.h"
#include "analyzer/import/common/trace_events.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/table.h"

#define SPAN_BYTES (1u << 20) /* of spans in memory */
#define TIME_NS_MOST (INT64_MAX / 4)

enum role {
	ROLE_NONE, /* counted by name only */
	ROLE_OPERATOR,
	ROLE_STEP,
	ROLE_FETCH,
	ROLE_OPTIMIZER,
	ROLE_USER,
	ROLE_KERNEL,
	ROLE_COPY,
};

struct interval {
	int64_t start_ns, end_ns;
};

struct intervals {
	struct interval *at;
	size_t n, room;
};

/* A thread of the host. */
struct lane {
	struct intervals operators, backward;
};

/* A span that waits for the base of its file. */
struct span {
	int64_t start_ns, dur_ns;
	uint32_t thread, name;
	enum role role;
};

struct import {
	struct reel_writer *writer;
	struct import_gather *gather;
	uint32_t source, records;
	uint64_t bad;
	int64_t start_ns; /* of all files */
	int64_t ranks;
	const char *job_json; /* what the names of the fetches say */
	/* The file at hand. */
	uint64_t events;
	uint32_t process; /* the first of the host; devices belong to it */
	int64_t pid;
	bool has_pid, has_device;
	struct event_names names;
	struct sorter *spans;	  /* in the order of the file */
	struct intervals steps;	  /* relative as they are; not merged */
	struct intervals fetches; /* of the first thread that has one */
	uint32_t fetch_thread;	  /* 0: none */
	struct lane **lane;	  /* by thread id */
	uint32_t lane_room;
};

/* --- intervals ------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Sort, and merge those that overlap. */
static void merge_intervals(struct intervals *u)
{
	size_t n = 0;

	if (!u->n)
		return;
	qsort(u->at, u->n, sizeof(*u->at), by_start);
	for (size_t i = 1; i < u->n; i++) {
		if (u->at[i].start_ns > u->at[n].end_ns)
			u->at[++n] = u->at[i];
		else if (u->at[i].end_ns > u->at[n].end_ns)
			u->at[n].end_ns = u->at[i].end_ns;
	}
	u->n = n + 1;
}

/* Operators nest, so most are inside of the one before, or around it. */
static int add_interval(struct intervals *u, int64_t start_ns, int64_t end_ns,
			struct reel_error *err)
{
	if (u->n && start_ns >= u->at[u->n - 1].start_ns &&
	    end_ns <= u->at[u->n - 1].end_ns)
		return 0;
	while (u->n && start_ns <= u->at[u->n - 1].start_ns &&
	       end_ns >= u->at[u->n - 1].end_ns)
		u->n--;
	if (u->n == u->room) {
		merge_intervals(u);
		if (u->n >= u->room / 2) {
			size_t room = u->room ? 2 * u->room : 64;

			if (reel_grow(&u->at, room, sizeof(*u->at), err))
				return -1;
			u->room = room;
		}
	}
	u->at[u->n++] = (struct interval){start_ns, end_ns};
	return 0;
}

static struct lane *lane_of(struct import *im, uint32_t thread,
			    struct reel_error *err)
{
	if (reel_array_reach(&im->lane, &im->lane_room, thread,
			     sizeof(struct lane *), err))
		return NULL;
	if (!im->lane[thread])
		im->lane[thread] = reel_alloc(1, sizeof(struct lane), err);
	return im->lane[thread];
}

/* --- events --------------------------------------------------------------- */

static bool has_prefix(const struct trace_text *t, const char *prefix)
{
	return !strncmp(t->s, prefix, strlen(prefix));
}

static bool is_one_of(const struct trace_text *t, const char *a, const char *b)
{
	return !strcmp(t->s, a) || !strcmp(t->s, b);
}

/* Before PyTorch 1.13 ranges are operators, recognized by their names. */
static enum role role_of(const struct trace_event *ev)
{
	bool user = !strcmp(ev->category.s, "user_annotation");
	const struct trace_text *name = &ev->name;

	if (is_one_of(&ev->category, "kernel", "Kernel"))
		return ROLE_KERNEL;
	if (is_one_of(&ev->category, "gpu_memcpy", "Memcpy") ||
	    is_one_of(&ev->category, "gpu_memset", "Memset"))
		return ROLE_COPY;
	if (!user && !is_one_of(&ev->category, "cpu_op", "Operator"))
		return ROLE_NONE;
	if (has_prefix(name, "ProfilerStep#"))
		return ROLE_STEP;
	if (has_prefix(name, "enumerate(DataLoader)#"))
		return ROLE_FETCH;
	if (has_prefix(name, "Optimizer.step#"))
		return ROLE_OPTIMIZER;
	return user || has_prefix(name, "## ") ||
			       has_prefix(name, "Optimizer.zero_grad#")
		       ? ROLE_USER
		       : ROLE_OPERATOR;
}

/* Nodes of autograd's graph, as its engine runs them. */
static bool is_backward(const struct trace_text *name)
{
	static const char end[] = "Backward";
	size_t n = name->len;

	if (has_prefix(name, "autograd::engine::evaluate_function") ||
	    has_prefix(name, "torch::autograd::AccumulateGrad"))
		return true;
	while (n && name->s[n - 1] >= '0' && name->s[n - 1] <= '9')
		n--;
	return n >= strlen(end) &&
	       !memcmp(name->s + n - strlen(end), end, strlen(end));
}

static uint32_t process_of(struct import *im, const struct trace_text *text,
			   struct reel_error *err)
{
	uint32_t process;
	int64_t pid;

	if (!trace_text_int(text, &pid))
		return im->process;
	if (!im->has_pid) {
		im->has_pid = true;
		im->pid = pid;
		gather_process_row(im->gather, im->process)->pid = pid;
	}
	if (pid == im->pid)
		return im->process;
	process = gather_process(
		im->gather, (uint64_t)im->source << 40 ^ (uint64_t)pid, err);
	if (process)
		gather_process_row(im->gather, process)->pid = pid;
	return process;
}

/* The tid of a thread of the host; a word gives a number of its own. */
static int64_t host_tid(const struct trace_text *text)
{
	uint64_t hash = 0xcbf29ce484222325u;
	int64_t tid;

	if (trace_text_int(text, &tid))
		return tid;
	for (size_t i = 0; i < text->len; i++)
		hash = (hash ^ (uint8_t)text->s[i]) * 0x100000001b3u;
	return INT64_MIN + (int64_t)(hash >> 2);
}

/* "stream 7" and 7 are the same stream. */
static int64_t stream_tid(const struct trace_event *ev)
{
	const char *digits = ev->tid.s + strcspn(ev->tid.s, "0123456789");
	int64_t device;

	if (!trace_text_int(&ev->pid, &device))
		device = -1;
	return profile_stream_tid(device, strtoll(digits, NULL, 10));
}

static uint32_t thread_of(struct import *im, const struct trace_event *ev,
			  enum role role, struct reel_error *err)
{
	uint32_t process = im->process;
	int64_t tid;

	if (role == ROLE_KERNEL || role == ROLE_COPY) {
		tid = stream_tid(ev);
	} else {
		process = process_of(im, &ev->pid, err);
		tid = host_tid(&ev->tid);
	}
	return process ? gather_thread(im->gather, process, tid, err) : 0;
}

static int add_operator(struct import *im, const struct trace_event *ev,
			uint32_t thread, struct reel_error *err)
{
	struct lane *lane = lane_of(im, thread, err);
	int64_t end_ns = ev->ts_ns + ev->dur_ns;

	if (!lane)
		return -1;
	if (is_backward(&ev->name) &&
	    add_interval(&lane->backward, ev->ts_ns, end_ns, err))
		return -1;
	return im->has_device
		       ? 0
		       : add_interval(&lane->operators, ev->ts_ns, end_ns, err);
}

static int append_interval(struct intervals *u, int64_t start_ns,
			   int64_t end_ns, struct reel_error *err)
{
	if (u->n == u->room) {
		size_t room = u->room ? 2 * u->room : 64;

		if (reel_grow(&u->at, room, sizeof(*u->at), err))
			return -1;
		u->room = room;
	}
	u->at[u->n++] = (struct interval){start_ns, end_ns};
	return 0;
}

/* The loop of the job is on one thread. */
static int add_loop_span(struct import *im, const struct span *s,
			 struct reel_error *err)
{
	int64_t end_ns = s->start_ns + s->dur_ns;

	if (s->role == ROLE_STEP)
		return append_interval(&im->steps, s->start_ns, end_ns, err);
	if (s->role != ROLE_FETCH ||
	    (im->fetch_thread && im->fetch_thread != s->thread))
		return 0;
	im->fetch_thread = s->thread;
	return append_interval(&im->fetches, s->start_ns, end_ns, err);
}

static int add_event(struct import *im, const struct trace_event *ev,
		     struct reel_error *err)
{
	struct span s = {ev->ts_ns, ev->dur_ns, 0, 0, role_of(ev)};

	s.name = event_names_count(&im->names, ev, err);
	if (s.name == REEL_NO_INDEX)
		return -1;
	if (s.role == ROLE_NONE)
		return 0;
	s.thread = thread_of(im, ev, s.role, err);
	if (!s.thread)
		return -1;
	if (s.role == ROLE_OPERATOR)
		return add_operator(im, ev, s.thread, err);
	im->has_device |= s.role == ROLE_KERNEL || s.role == ROLE_COPY;
	if (add_loop_span(im, &s, err))
		return -1;
	return sorter_add(im->spans, &s, err);
}

/* --- the end of a file ---------------------------------------------------- */

static int put_span(struct import *im, const struct span *s, int64_t base_ns,
		    uint32_t kind, int64_t detail, const char *name,
		    struct reel_error *err)
{
	struct reel_span_event ev = {
		.start_ns = s->start_ns +
			    (s->start_ns < PROFILE_EPOCH_NS ? base_ns : 0),
		.dur_ns = s->dur_ns,
		.thread = s->thread,
		.kind = kind,
		.detail = detail};

	if (ev.start_ns < im->start_ns)
		im->start_ns = ev.start_ns;
	return gather_span(im->gather, &ev, name, err);
}

static int64_t step_number(const char *name)
{
	const char *digits = name + strlen("ProfilerStep#");
	struct trace_text number = {digits, strlen(digits)};
	int64_t n;

	return trace_text_int(&number, &n) && n >= 0 ? n : -1;
}

/* PyTorch's names of a loader with workers and of one without. */
static void see_loader(struct import *im, const char *name)
{
	if (strstr(name, "#_MultiProcessing"))
		im->job_json = "{\"loader\": \"processes\"}";
	else if (strstr(name, "#_SingleProcess") && !im->job_json)
		im->job_json = "{\"loader\": \"inside\"}";
}

static int put_named_span(struct import *im, const struct span *s,
			  int64_t base_ns, struct reel_error *err)
{
	const char *name = im->names.name[s->name].text;
	int64_t record = (int64_t)im->records + s->name + 1;

	switch (s->role) {
	case ROLE_STEP:
		return put_span(im, s, base_ns, REEL_SPAN_STEP,
				step_number(name), NULL, err);
	case ROLE_FETCH:
		see_loader(im, name);
		return put_span(im, s, base_ns, REEL_SPAN_FETCH, -1, NULL, err);
	case ROLE_OPTIMIZER:
		return put_span(im, s, base_ns, REEL_SPAN_OPTIMIZER, -1, NULL,
				err);
	case ROLE_KERNEL:
		return put_span(im, s, base_ns, REEL_SPAN_COMPUTE, record,
				"kernel", err);
	case ROLE_COPY:
		return put_span(im, s, base_ns, REEL_SPAN_COMPUTE, record,
				"memcpy", err);
	default:
		return put_span(im, s, base_ns, REEL_SPAN_USER, -1, name, err);
	}
}

static int put_spans(struct import *im, int64_t base_ns, struct reel_error *err)
{
	struct span s;
	int more = sorter_finish(im->spans, err);

	while (!more && (more = sorter_next(im->spans, &s, err)) > 0)
		more = put_named_span(im, &s, base_ns, err);
	return more;
}

/*
 * A profile without a schedule has no ProfilerStep: a step lasts from a fetch to
 * the next one. The last fetch of an epoch finds the end of the data; it begins a
 * step when an epoch follows, as ProfilerStep does.
 */
static int put_steps_of_fetches(struct import *im, int64_t base_ns,
				struct reel_error *err)
{
	const struct intervals *u = &im->fetches;
	struct span s = {.thread = im->fetch_thread};
	int64_t number = 0;

	if (u->n < 2)
		return 0;
	qsort(u->at, u->n, sizeof(*u->at), by_start);
	for (size_t i = 0; i + 1 < u->n; i++) {
		s.start_ns = u->at[i].start_ns;
		s.dur_ns = u->at[i + 1].start_ns - s.start_ns;
		if (append_interval(&im->steps, s.start_ns,
				    u->at[i + 1].start_ns, err) ||
		    put_span(im, &s, base_ns, REEL_SPAN_STEP, number++, NULL,
			     err))
			return -1;
	}
	return reel_writer_missing(im->writer, im->source,
				   "steps (each begins with a fetch)", err);
}

/* The backward pass of each step on a thread: from the first node that the step
 * started to the last. */
static int put_backward(struct import *im, uint32_t thread,
			const struct intervals *nodes,
			const struct intervals *steps, int64_t base_ns,
			struct reel_error *err)
{
	size_t k = 0;

	for (size_t i = 0; i < steps->n; i++) {
		struct span s = {.thread = thread};
		int64_t end_ns = 0;
		bool any = false;

		while (k < nodes->n &&
		       nodes->at[k].start_ns < steps->at[i].start_ns)
			k++;
		for (; k < nodes->n &&
		       nodes->at[k].start_ns < steps->at[i].end_ns;
		     k++, any = true) {
			if (!any)
				s.start_ns = nodes->at[k].start_ns;
			end_ns = nodes->at[k].end_ns;
		}
		s.dur_ns = end_ns - s.start_ns;
		if (any && put_span(im, &s, base_ns, REEL_SPAN_BACKWARD, -1,
				    NULL, err))
			return -1;
	}
	return 0;
}

static int put_operators(struct import *im, uint32_t thread,
			 const struct intervals *operators, int64_t base_ns,
			 struct reel_error *err)
{
	for (size_t i = 0; i < operators->n; i++) {
		const struct interval *iv = &operators->at[i];
		struct span s = {.start_ns = iv->start_ns,
				 .dur_ns = iv->end_ns - iv->start_ns,
				 .thread = thread};

		if (put_span(im, &s, base_ns, REEL_SPAN_COMPUTE, -1, "cpu_op",
			     err))
			return -1;
	}
	return 0;
}

/* The steps do not overlap: they are not merged where they touch. */
static int put_lanes(struct import *im, int64_t base_ns, struct reel_error *err)
{
	int rc = 0;

	if (im->steps.n)
		qsort(im->steps.at, im->steps.n, sizeof(*im->steps.at),
		      by_start);
	for (uint32_t i = 0; !rc && i < im->lane_room; i++) {
		struct lane *lane = im->lane[i];

		if (!lane)
			continue;
		merge_intervals(&lane->backward);
		rc = put_backward(im, i, &lane->backward, &im->steps, base_ns,
				  err);
		if (rc || im->has_device)
			continue;
		merge_intervals(&lane->operators);
		rc = put_operators(im, i, &lane->operators, base_ns, err);
	}
	return rc;
}

static int64_t value_of(const struct trace_events *t, const char *key,
			int64_t most)
{
	const char *text = trace_events_value(t, key);
	struct trace_text value = {text, text ? strlen(text) : 0};
	int64_t v;

	return trace_text_int(&value, &v) && v >= 0 && v <= most ? v : -1;
}

static int put_file(struct import *im, const struct trace_events *t,
		    const char *path, struct reel_error *err)
{
	int64_t rank = value_of(t, "distributedInfo.rank", INT32_MAX);
	int64_t ranks = value_of(t, "distributedInfo.world_size", INT32_MAX);
	int64_t base_ns = value_of(t, "baseTimeNanoseconds", TIME_NS_MOST);

	if (!im->events)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' holds no trace events", path);
	if (ranks > im->ranks)
		im->ranks = ranks;
	im->bad += trace_events_bad(t);
	gather_process_row(im->gather, im->process)->rank = (int)rank;
	base_ns = base_ns < 0 ? 0 : base_ns;
	if (put_spans(im, base_ns, err) ||
	    (!im->steps.n && put_steps_of_fetches(im, base_ns, err)) ||
	    put_lanes(im, base_ns, err))
		return -1;
	if (event_names_write(&im->names, im->writer, im->source,
			      im->records + 1, rank, err))
		return -1;
	im->records += im->names.names;
	return 0;
}

static void forget_file(struct import *im)
{
	event_names_fini(&im->names);
	for (uint32_t i = 0; i < im->lane_room; i++)
		if (im->lane[i]) {
			free(im->lane[i]->operators.at);
			free(im->lane[i]->backward.at);
			free(im->lane[i]);
		}
	sorter_free(im->spans);
	free(im->steps.at);
	free(im->fetches.at);
	free(im->lane);
	im->spans = NULL;
	im->steps = im->fetches = (struct intervals){0};
	im->fetch_thread = 0;
	im->lane = NULL;
	im->lane_room = 0;
	im->events = 0;
	im->has_pid = im->has_device = false;
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	struct trace_event *ev = reel_alloc(1, sizeof(*ev), err);
	struct trace_events *t = NULL;
	int rc = -1, more;

	if (!ev || gather_source(im->gather, im->source, err))
		goto out;
	im->process =
		gather_process(im->gather, (uint64_t)im->source << 40, err);
	if (!im->process ||
	    sorter_new(&im->spans, sizeof(struct span), NULL, SPAN_BYTES,
		       err) ||
	    trace_events_open(&t, path, err))
		goto out;
	trace_events_without_args(t);
	while ((more = trace_events_next(t, ev, err)) > 0) {
		im->events++;
		if (ev->phase != 'X' || !ev->has_ts)
			continue;
		if (ev->dur_ns < 0) {
			im->bad++;
			continue;
		}
		if (add_event(im, ev, err))
			goto out;
	}
	if (!more)
		rc = put_file(im, t, path, err);
out:
	trace_events_close(t);
	forget_file(im);
	free(ev);
	return rc;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {.writer = w, .start_ns = INT64_MAX};
	struct reel_writer_run run = import_run_unknown();
	char name[256];
	int rc = gather_new(&im.gather, w, err);

	run.framework = "PyTorch";
	while (!rc && im.source < (uint32_t)in->paths) {
		const char *path = in->path[im.source++];

		rc = read_file(&im, path, err);
	}
	if (!rc && im.bad)
		rc = reel_writer_loss(w, 0, "not_understood", "events", im.bad,
				      err);
	if (!rc) {
		run.name = import_run_name(in->path[0], ".pt.trace.json", name);
		run.ranks = im.ranks ? im.ranks : in->paths;
		run.lost = (int64_t)im.bad;
		if (im.job_json)
			run.job_json = im.job_json;
		if (im.start_ns >= PROFILE_EPOCH_NS && im.start_ns != INT64_MAX)
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

static bool detect(const char *bytes, size_t n)
{
	static const char *const marks[] = {
		"\"schemaVersion\"",   "\"deviceProperties\"",
		"\"distributedInfo\"", "\"baseTimeNanoseconds\"",
		"\"cpu_op\"",	       "\"user_annotation\"",
	};
	size_t at = 0;

	while (at < n && strchr(" \t\r\n", bytes[at]))
		at++;
	if (at == n || bytes[at] != '{')
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (has_text(bytes, n, marks[i]))
			return true;
	return false;
}

const struct reel_importer reel_importer_kineto = {
	.name = "kineto",
	.about = "profiles of PyTorch: Kineto's JSON, one file for each rank",
	.missing = {"files", "calls", "bytes", "loader processes",
		    "single operators of the host", NULL},
	.detect = detect,
	.load = load,
};

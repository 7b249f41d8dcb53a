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
#include <ctype.h>
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
#include "analyzer/import/profile/intervals.h"
#include "analyzer/import/profile/kineto_cycle.h"
#include "analyzer/import/profile/kineto_loop.h"

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

/* A thread of the host. */
struct lane {
	struct profile_intervals operators, backward;
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
	int64_t ranks, evaluations;
	struct kineto_cycles cycles;
	uint32_t processes;
	const char
		*loader; /* "processes" or "inside": names of fetches; NULL */
	/* The file at hand. */
	uint64_t events;
	uint32_t process; /* the first of the host; devices belong to it */
	int64_t pid;
	bool has_device;
	struct event_names names;
	struct sorter *spans;		/* in the order of the file */
	struct profile_intervals steps; /* relative as they are; not merged */
	struct kineto_loop loop;
	struct lane **lane; /* by thread id */
	uint32_t lane_room;
};

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

/* An event on an MTIA device: DMA moves bytes, events of a stream do no work. */
static enum role mtia_role_of(const struct trace_text *name)
{
	if (!strcmp(name->s, "dma_request"))
		return ROLE_COPY;
	return is_one_of(name, "event_record", "event_wait") ? ROLE_NONE
							     : ROLE_KERNEL;
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
	if (!strcmp(ev->category.s, "mtia_ccp_events"))
		return mtia_role_of(name);
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

	if (!trace_text_int(text, &pid) || pid == im->pid)
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
	    (profile_intervals_add(&lane->backward, ev->ts_ns, end_ns, err) ||
	     kineto_loop_training(&im->loop, ev->ts_ns, end_ns, err)))
		return -1;
	return im->has_device ? 0
			      : profile_intervals_add(&lane->operators,
						      ev->ts_ns, end_ns, err);
}

static int add_loop_span(struct import *im, const struct span *s,
			 struct reel_error *err)
{
	int64_t end_ns = s->start_ns + s->dur_ns;

	switch (s->role) {
	case ROLE_STEP:
		return profile_intervals_append(&im->steps, s->start_ns, end_ns,
						err);
	case ROLE_FETCH:
		return kineto_loop_fetch(&im->loop, s->thread, s->start_ns,
					 end_ns, err);
	case ROLE_OPTIMIZER:
		return kineto_loop_training(&im->loop, s->start_ns, end_ns,
					    err);
	default:
		return 0;
	}
}

static void see_times(struct kineto_cycle *c, const struct trace_event *ev)
{
	int64_t end_ns = ev->ts_ns + ev->dur_ns;

	c->start_ns = ev->ts_ns < c->start_ns ? ev->ts_ns : c->start_ns;
	c->end_ns = end_ns > c->end_ns ? end_ns : c->end_ns;
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
	see_times(&im->cycles.at[im->cycles.n], ev);
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
	struct trace_text number = {.s = digits, .len = strlen(digits)};
	int64_t n;

	return trace_text_int(&number, &n) && n >= 0 ? n : -1;
}

/* PyTorch's names of a loader with workers and of one without. */
static void see_loader(struct import *im, const char *name)
{
	if (strstr(name, "#_MultiProcessing"))
		im->loader = "processes";
	else if (strstr(name, "#_SingleProcess") && !im->loader)
		im->loader = "inside";
}

/* A step of the profiler's schedule; those of an evaluation are one span together. */
static int put_step(struct import *im, const struct span *s, int64_t base_ns,
		    const char *name, struct reel_error *err)
{
	const struct profile_interval *e =
		kineto_loop_evaluation(&im->loop, s->start_ns);
	struct span all = *s;

	if (!e)
		return put_span(im, s, base_ns, REEL_SPAN_STEP,
				step_number(name), NULL, err);
	if (s->start_ns > e->start_ns)
		return 0;
	all.dur_ns = e->end_ns - e->start_ns;
	return put_span(im, &all, base_ns, REEL_SPAN_EVAL, im->evaluations++,
			NULL, err);
}

static int put_named_span(struct import *im, const struct span *s,
			  int64_t base_ns, struct reel_error *err)
{
	const char *name = im->names.name[s->name].text;
	int64_t record = (int64_t)im->records + s->name + 1;

	switch (s->role) {
	case ROLE_STEP:
		return put_step(im, s, base_ns, name, err);
	case ROLE_FETCH:
		see_loader(im, name);
		return put_span(im, s, base_ns, REEL_SPAN_FETCH,
				im->steps.n ? -1
					    : kineto_loop_detail(&im->loop,
								 s->thread,
								 s->start_ns),
				NULL, err);
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

/* A profile without a schedule has no ProfilerStep: its fetches show its steps. */
static int put_steps_of_fetches(struct import *im, int64_t base_ns,
				struct reel_error *err)
{
	struct profile_interval iv;
	struct span s = {.thread = im->loop.thread};
	int64_t number = 0, evaluation = 0;
	uint32_t kind;
	size_t at = 0;

	if (im->loop.fetches.n < 2 || gather_prepares(im->gather, s.thread))
		return 0;
	while ((kind = kineto_loop_next(&im->loop, &at, &iv))) {
		bool step = kind == REEL_SPAN_STEP;

		s.start_ns = iv.start_ns;
		s.dur_ns = iv.end_ns - iv.start_ns;
		if (step && profile_intervals_append(&im->steps, iv.start_ns,
						     iv.end_ns, err))
			return -1;
		if (put_span(im, &s, base_ns, kind,
			     step ? number++ : evaluation++, NULL, err))
			return -1;
	}
	return reel_writer_missing(im->writer, im->source,
				   "steps (each begins with a fetch)", err);
}

/* The backward pass of each step on a thread: from the first node that the step
 * started to the last. */
static int put_backward(struct import *im, uint32_t thread,
			const struct profile_intervals *nodes,
			const struct profile_intervals *steps, int64_t base_ns,
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
			 const struct profile_intervals *operators,
			 int64_t base_ns, struct reel_error *err)
{
	for (size_t i = 0; i < operators->n; i++) {
		const struct profile_interval *iv = &operators->at[i];
		struct span s = {.start_ns = iv->start_ns,
				 .dur_ns = iv->end_ns - iv->start_ns,
				 .thread = thread};

		if (put_span(im, &s, base_ns, REEL_SPAN_COMPUTE, -1, "cpu_op",
			     err))
			return -1;
	}
	return 0;
}

/* Where a device computes, its kernels are the computation. */
static int put_computation(struct import *im, int64_t base_ns,
			   struct reel_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && !im->has_device && i < im->lane_room; i++) {
		struct lane *lane = im->lane[i];

		if (!lane)
			continue;
		profile_intervals_merge(&lane->operators);
		rc = put_operators(im, i, &lane->operators, base_ns, err);
	}
	return rc;
}

/* The steps do not overlap: they are not merged where they touch. */
static int put_backwards(struct import *im, int64_t base_ns,
			 struct reel_error *err)
{
	int rc = 0;

	profile_intervals_sort(&im->steps);
	for (uint32_t i = 0; !rc && i < im->lane_room; i++) {
		struct lane *lane = im->lane[i];

		if (!lane)
			continue;
		profile_intervals_merge(&lane->backward);
		rc = put_backward(im, i, &lane->backward, &im->steps, base_ns,
				  err);
	}
	return rc;
}

static int64_t value_of(const struct trace_events *t, const char *key,
			int64_t most)
{
	const char *text = trace_events_value(t, key);
	struct trace_text value = {.s = text, .len = text ? strlen(text) : 0};
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
	im->cycles.at[im->cycles.n].base_ns = base_ns;
	im->cycles.at[im->cycles.n++].rank = rank;
	if (kineto_loop_settle(&im->loop, err) ||
	    kineto_loop_evaluations(&im->loop, &im->steps, err) ||
	    put_spans(im, base_ns, err) || put_computation(im, base_ns, err) ||
	    (!im->steps.n && put_steps_of_fetches(im, base_ns, err)) ||
	    put_backwards(im, base_ns, err))
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
	kineto_loop_fini(&im->loop);
	free(im->lane);
	im->spans = NULL;
	im->steps = (struct profile_intervals){0};
	im->lane = NULL;
	im->lane_room = 0;
	im->events = 0;
	im->has_device = false;
}

/* --- whose file it is ----------------------------------------------------- */

/* The name of the process in WORKER.TIME.pt.trace.json, as TensorBoard's handler
 * writes it; another name less the digits at its end, as loops number the files of
 * export_chrome_trace() by step. */
static const char *worker_of(struct import *im, const char *path,
			     struct reel_error *err)
{
	char name[256], *dot;
	size_t n;

	import_run_name(path, ".pt.trace.json", name);
	dot = strrchr(name, '.');
	if (dot && dot > name && dot[1] &&
	    !dot[1 + strspn(dot + 1, "0123456789")])
		*dot = '\0';
	else
		for (n = strlen(name); n && strchr("0123456789", name[n - 1]);)
			name[--n] = '\0';
	return gather_keep(im->gather, name, err);
}

/* HOST_PID, TensorBoard's name of a worker. */
static bool names_pid(const char *path, int64_t pid)
{
	char name[256], mark[32];
	const char *at;

	snprintf(mark, sizeof(mark), "_%lld", (long long)pid);
	at = strstr(import_run_name(path, ".pt.trace.json", name), mark);
	return at && !isdigit((unsigned char)at[strlen(mark)]);
}

static bool is_host(enum role role)
{
	return role != ROLE_NONE && role != ROLE_KERNEL && role != ROLE_COPY;
}

/* Fill the pid of @c, and its rank and times if an earlier file has that pid. */
static int look(struct import *im, const char *path, struct kineto_cycle *c,
		struct trace_event *ev, struct reel_error *err)
{
	struct trace_events *t = NULL;
	int more;

	if (trace_events_open(&t, path, err))
		return -1;
	trace_events_without_args(t);
	while ((more = trace_events_next(t, ev, err)) > 0) {
		enum role role = role_of(ev);

		if (ev->phase != 'X' || !ev->has_ts || ev->dur_ns < 0 ||
		    role == ROLE_NONE)
			continue;
		see_times(c, ev);
		if (c->pid >= 0 || !is_host(role) ||
		    !trace_text_int(&ev->pid, &c->pid))
			continue;
		if (!kineto_cycles_has_pid(&im->cycles, c->pid))
			break;
	}
	c->rank = value_of(t, "distributedInfo.rank", INT32_MAX);
	trace_events_close(t);
	return more < 0 ? -1 : 0;
}

/* Set the process of the file at hand. */
static int begin_file(struct import *im, const char *path,
		      struct trace_event *ev, struct reel_error *err)
{
	struct kineto_cycle *c;

	if (reel_array_append(&im->cycles.at, &im->cycles.room, im->cycles.n,
			      sizeof(*c), err))
		return -1;
	c = &im->cycles.at[im->cycles.n];
	*c = (struct kineto_cycle){.pid = -1,
				   .rank = -1,
				   .start_ns = INT64_MAX,
				   .end_ns = INT64_MIN,
				   .worker = worker_of(im, path, err)};
	if (!c->worker || look(im, path, c, ev, err))
		return -1;
	c->names_pid = names_pid(path, c->pid);
	c->process = kineto_cycles_process(&im->cycles, c);
	if (!c->process) {
		c->process = gather_process(im->gather,
					    (uint64_t)im->source << 40, err);
		im->processes++;
	}
	if (!c->process)
		return -1;
	im->process = c->process;
	im->pid = c->pid;
	if (c->pid >= 0)
		gather_process_row(im->gather, im->process)->pid = c->pid;
	return 0;
}

static int read_events(struct import *im, struct trace_events *t,
		       struct trace_event *ev, struct reel_error *err)
{
	int more;

	trace_events_without_args(t);
	while ((more = trace_events_next(t, ev, err)) > 0) {
		im->events++;
		/* PyTorch writes whole events: halves are of another tool. */
		im->bad += ev->phase == 'B' && role_of(ev) != ROLE_NONE;
		if (ev->phase != 'X' || !ev->has_ts)
			continue;
		if (ev->dur_ns < 0 ||
		    (!ev->has_dur && role_of(ev) != ROLE_NONE)) {
			im->bad++;
			continue;
		}
		if (add_event(im, ev, err))
			return -1;
	}
	return more;
}

static int read_file(struct import *im, const char *path,
		     struct reel_error *err)
{
	struct trace_event *ev = reel_alloc(1, sizeof(*ev), err);
	struct trace_events *t = NULL;
	int rc = -1;

	if (!ev || gather_source(im->gather, im->source, err) ||
	    begin_file(im, path, ev, err) ||
	    sorter_new(&im->spans, sizeof(struct span), NULL, SPAN_BYTES,
		       err) ||
	    trace_events_open(&t, path, err))
		goto out;
	if (!read_events(im, t, ev, err))
		rc = put_file(im, t, path, err);
out:
	trace_events_close(t);
	forget_file(im);
	free(ev);
	return rc;
}

/* The loader, and the most files of a process, where they are known. */
static const char *job_json(const struct import *im, char out[static 64])
{
	uint32_t most = kineto_cycles_most(&im->cycles);

	if (most > 1 && im->loader)
		snprintf(out, 64, "{\"loader\": \"%s\", \"cycles\": %u}",
			 im->loader, most);
	else if (most > 1)
		snprintf(out, 64, "{\"cycles\": %u}", most);
	else if (im->loader)
		snprintf(out, 64, "{\"loader\": \"%s\"}", im->loader);
	else
		snprintf(out, 64, "{}");
	return out;
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {.writer = w, .start_ns = INT64_MAX};
	struct reel_writer_run run = import_run_unknown();
	char name[256], json[64];
	int rc = gather_new(&im.gather, w, err);

	run.framework = "PyTorch";
	if (!rc)
		gather_fetches_of_loop(im.gather);
	while (!rc && im.source < (uint32_t)in->paths) {
		const char *path = in->path[im.source++];

		rc = read_file(&im, path, err);
	}
	if (!rc)
		rc = kineto_cycles_refuse_runs(&im.cycles, in->path, err);
	if (!rc && im.bad)
		rc = reel_writer_loss(w, 0, "not_understood", "events", im.bad,
				      err);
	if (!rc) {
		run.name = import_run_name(in->path[0], ".pt.trace.json", name);
		run.ranks = im.ranks ? im.ranks : im.processes;
		run.lost = (int64_t)im.bad;
		run.job_json = job_json(&im, json);
		if (im.start_ns >= PROFILE_EPOCH_NS && im.start_ns != INT64_MAX)
			run.start_real_ns = im.start_ns;
		rc = gather_finish(im.gather, &run, err);
	}
	gather_free(im.gather);
	free(im.cycles.at);
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
	.partial = true,
	.detect = detect,
	.load = load,
};

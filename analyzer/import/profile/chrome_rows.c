/* SPDX-License-Identifier: MIT */
/* The processes and threads of a file of trace events, by pid and tid. */
#include "analyzer/import/profile/chrome_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/array.h"

#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/profile.h"
#include "analyzer/import/common/trace_events.h"

/* A pid of the file. */
struct chrome_track {
	uint64_t key;
	uint32_t process; /* 0: no event yet */
	bool device;	  /* of TensorFlow */
	bool tensorflow;  /* a host of it */
	bool timeline;	  /* of its Timeline */
	bool all_streams; /* device: each of its threads is a stream */
	int64_t number;
};

uint64_t chrome_hash(const struct trace_text *t, uint64_t h)
{
	h = reel_fnv1a(h, t->s, t->len);
	return (h ^ 0xff) * 0x100000001b3u;
}

static struct chrome_track *track_of(struct chrome_rows *c,
				     const struct trace_text *pid,
				     struct reel_error *err)
{
	uint64_t key = chrome_hash(pid, REEL_FNV_SEED);
	uint32_t i = reel_intmap_get(&c->by_pid, key, err);
	struct chrome_track *t;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&c->track, &c->track_room, i, sizeof(*t), err))
		return NULL;
	t = &c->track[i];
	if (i < c->tracks)
		return t;
	c->tracks++;
	t->key = key + c->source;
	if (!trace_text_int(pid, &t->number))
		t->number = 0;
	return t;
}

static uint32_t process_of(struct chrome_rows *c, struct chrome_track *t,
			   struct reel_error *err)
{
	if (t->process)
		return t->process;
	t->process = gather_process(c->gather, t->key, err);
	if (t->process)
		gather_process_row(c->gather, t->process)->pid = t->number;
	return t->process;
}

struct chrome_row *chrome_rows_get(struct chrome_rows *c,
				   const struct trace_event *ev,
				   struct reel_error *err)
{
	struct chrome_track *t = track_of(c, &ev->pid, err);
	uint64_t key =
		chrome_hash(&ev->tid, chrome_hash(&ev->pid, REEL_FNV_SEED));
	uint32_t i = t ? reel_intmap_get(&c->by_row, key, err) : REEL_NO_INDEX;
	int64_t tid;
	struct chrome_row *r;

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&c->row, &c->row_room, i, sizeof(*r), err))
		return NULL;
	r = &c->row[i];
	if (i < c->rows)
		return r;
	c->rows++;
	if (!ev->tid.len)
		tid = 0;
	else if (!trace_text_int(&ev->tid, &tid))
		tid = INT64_MIN + (int64_t)(key >> 2);
	else if (t->device) /* none of the host has such a number */
		tid = -((t->number & 0xffff) * 10000000000 +
			(tid & 0xffffffff) + 1);
	r->stream = t->all_streams;
	r->tensorflow = t->tensorflow;
	r->timeline = t->timeline;
	if (process_of(c, t, err))
		r->thread = gather_thread(c->gather, t->process, tid, err);
	return r->thread ? r : NULL;
}

/* "rank 3: python3 train.py" of our own export, and the pid of the parent. */
static int name_process(struct chrome_rows *c, struct chrome_track *t,
			const struct trace_event *ev, const char *name,
			struct reel_error *err)
{
	struct reel_writer_process *p;
	int64_t parent;
	int rank, n = 0;

	if (!process_of(c, t, err))
		return -1;
	p = gather_process_row(c->gather, t->process);
	if (trace_text_int(trace_event_arg(ev, "parent"), &parent))
		gather_parent(c->gather, t->process, parent);
	if (sscanf(name, "rank %9d: %n", &rank, &n) == 1 && n && rank >= 0) {
		p->rank = rank;
		name += n;
	}
	if (!strcmp(name, "process"))
		return 0; /* our export has no command of it */
	p->command = gather_keep(c->gather, name, err);
	return p->command ? 0 : -1;
}

/* "/job:worker/replica:0/task:1/device:GPU:0/stream:13 Compute" of TensorFlow's
 * Timeline: the tasks are processes, over all files. */
static int name_timeline(struct chrome_rows *c, struct chrome_track *t,
			 const char *name, struct reel_error *err)
{
	const char *device = strstr(name, "/device:");
	const char *number = device ? strchr(device + 8, ':') : NULL;
	struct trace_text task = {.s = name,
				  .len = device ? (size_t)(device - name) : 0};

	t->process = gather_process(c->gather,
				    chrome_hash(&task, REEL_FNV_SEED), err);
	t->timeline = t->tensorflow = true;
	t->number = number ? strtoll(number + 1, NULL, 10) : 0;
	t->device = t->all_streams = device && (strstr(device, "/stream:") ||
						strstr(device, "/memcpy"));
	return t->process ? 0 : -1;
}

/* A name of a process or thread. */
int chrome_rows_name(struct chrome_rows *c, const struct trace_event *ev,
		     struct reel_error *err)
{
	const struct trace_text *name = trace_event_arg(ev, "name");
	struct chrome_track *t;
	struct chrome_row *r;

	if (!name)
		return 0;
	if (!strcmp(ev->name.s, "thread_name")) {
		r = chrome_rows_get(c, ev, err);
		if (!r)
			return -1;
		r->stream = track_of(c, &ev->pid, err)->device &&
			    profile_has_prefix(name->s, "Stream");
		return 0;
	}
	if (strcmp(ev->name.s, "process_name"))
		return 0;
	t = track_of(c, &ev->pid, err);
	if (!t)
		return -1;
	if (profile_has_prefix(name->s, "/job:"))
		return name_timeline(c, t, name->s, err);
	if (!profile_has_prefix(name->s, "/host:") &&
	    !profile_has_prefix(name->s, "/device:"))
		return name_process(c, t, ev, name->s, err);
	/* The device computes for the process of the host. */
	t->device = profile_has_prefix(name->s, "/device:");
	t->tensorflow = !t->device;
	t->process = gather_process(c->gather, c->source, err);
	return t->process ? 0 : -1;
}

void chrome_rows_fini(struct chrome_rows *c)
{
	free(c->track);
	free(c->row);
	reel_intmap_fini(&c->by_pid);
	reel_intmap_fini(&c->by_row);
	*c = (struct chrome_rows){.gather = c->gather, .source = c->source};
}

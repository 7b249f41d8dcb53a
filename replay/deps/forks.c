/* SPDX-License-Identifier: MIT */
/*
 * The waits of forks. Forks are handled in the order of their times, each
 * before the first event that ends later: then the last open or close of each
 * thread is the last one that had ended. A fork does not repeat a wait of an
 * earlier fork of its thread. An open or close waits for the forks since the
 * previous one of its thread.
 */
#include "replay/deps/deps.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/model/recorded_job.h"

static int by_parent(const void *a, const void *b, void *arg)
{
	const struct job *job = arg;
	const struct job_process *x = &job->process[*(uint32_t *)a];
	const struct job_process *y = &job->process[*(uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct job *job = arg;
	int64_t x = job->process[*(const uint32_t *)a].start_ns;
	int64_t y = job->process[*(const uint32_t *)b].start_ns;

	return x < y ? -1 : x > y;
}

static int list_children(struct forks *f, struct reel_error *err)
{
	const struct job *job = f->job;

	f->child =
		reel_alloc((size_t)job->processes + 1, sizeof(*f->child), err);
	f->next = reel_alloc((size_t)job->streams + 1, sizeof(*f->next), err);
	f->forked =
		reel_alloc((size_t)job->processes + 1, sizeof(*f->forked), err);
	if (!f->child || !f->next || !f->forked)
		return -1;
	for (uint32_t i = 0; i < job->processes; i++)
		if (job->process[i].parent != JOB_NONE &&
		    job->process[i].streams)
			f->child[f->children++] = i;
	memcpy(f->forked, f->child, f->children * sizeof(*f->child));
	qsort_r(f->child, f->children, sizeof(*f->child), by_parent,
		(void *)job);
	qsort_r(f->forked, f->children, sizeof(*f->forked), by_start,
		(void *)job);
	for (uint32_t i = f->children; i--;) {
		const struct job_process *c = &job->process[f->child[i]];
		const struct job_process *p = &job->process[c->parent];

		if (i && job->process[f->child[i - 1]].parent == c->parent)
			continue;
		for (uint32_t s = p->stream; s < p->stream + p->streams; s++)
			f->next[s] = i;
	}
	return 0;
}

int forks_init(struct forks *f, const struct job *job,
	       struct annotations *annotations, struct reel_error *err)
{
	size_t n = (size_t)job->streams + 1;

	f->job = job;
	f->annotations = annotations;
	f->changed = reel_alloc(n, sizeof(*f->changed), err);
	f->waited_by = reel_alloc(n, sizeof(*f->waited_by), err);
	if (!f->changed || !f->waited_by)
		return -1;
	for (size_t i = 0; i < n; i++)
		f->changed[i].stream = JOB_NONE;
	return list_children(f, err);
}

void forks_fini(struct forks *f)
{
	free(f->changed);
	free(f->waited_by);
	free(f->wait);
	free(f->child);
	free(f->forked);
	free(f->next);
	memset(f, 0, sizeof(*f));
}

static int add_fork_wait(struct forks *f, uint32_t child,
			 const struct call_ref *before, struct reel_error *err)
{
	struct annotation post = {.stream = before->stream,
				  .call = before->index,
				  .kind = ANNOTATION_POST};

	if (reel_array_reach(&f->wait, &f->room, f->waits, sizeof(*f->wait),
			     err))
		return -1;
	f->wait[f->waits++] = (struct fork_wait){child, *before};
	return annotations_add(f->annotations, &post, err);
}

static int on_fork(struct forks *f, uint32_t child, struct reel_error *err)
{
	const struct job_process *c = &f->job->process[child], *p;

	if (c->fork_stream == JOB_NONE)
		return 0;
	p = &f->job->process[c->parent];
	for (uint32_t s = p->stream; s < p->stream + p->streams; s++) {
		const struct call_ref *w = &f->changed[s];

		if (w->stream == JOB_NONE || s == c->fork_stream ||
		    w->end_ns > c->start_ns ||
		    f->waited_by[s] == c->fork_stream + 1)
			continue;
		f->waited_by[s] = c->fork_stream + 1;
		if (add_fork_wait(f, child, w, err))
			return -1;
	}
	return 0;
}

/* Wait for the last fork of each thread, which comes after its earlier ones. */
static int after_forks(struct forks *f, uint32_t process,
		       const struct reel_event *ev, const struct call_ref *call,
		       struct reel_error *err)
{
	const struct job_process *process_of = f->job->process;
	uint32_t first = f->next[call->stream], last = first,
		 done = call->stream;
	struct annotation wait = {.stream = call->stream,
				  .call = call->index,
				  .kind = ANNOTATION_WAIT};

	while (last < f->children &&
	       process_of[f->child[last]].parent == process &&
	       process_of[f->child[last]].start_ns <= ev->start_ns)
		last++;
	f->next[call->stream] = last;
	while (last-- > first) {
		const struct job_process *c = &process_of[f->child[last]];

		if (c->fork_stream == call->stream || c->fork_stream == done)
			continue;
		done = c->fork_stream;
		wait.wait.stream = c->stream;
		if (annotations_add(f->annotations, &wait, err))
			return -1;
	}
	return 0;
}

/* Does the call change the descriptor table? */
static bool changes_table(const struct reel_event *ev)
{
	return !ev->err && (ev->group == REEL_GROUP_OPEN ||
			    ev->group == REEL_GROUP_CLOSE || ev->fd2 >= 0);
}

int forks_event(struct forks *f, const struct reel_event *ev,
		const struct call_ref *call, struct reel_error *err)
{
	uint32_t process = f->job->stream[call->stream].process;

	for (; f->next_fork < f->children; f->next_fork++) {
		uint32_t child = f->forked[f->next_fork];

		if (f->job->process[child].start_ns >= call->end_ns)
			break;
		if (on_fork(f, child, err))
			return -1;
	}
	if (changes_table(ev) && f->job->process[process].streams > 1) {
		f->changed[call->stream] = *call;
		f->waited_by[call->stream] = 0;
		return after_forks(f, process, ev, call, err);
	}
	return 0;
}

static int by_child(const void *a, const void *b)
{
	const struct fork_wait *x = a, *y = b;

	return x->child < y->child ? -1 : x->child > y->child;
}

void forks_sort(struct forks *f)
{
	if (f->waits)
		qsort(f->wait, f->waits, sizeof(*f->wait), by_child);
}

size_t forks_first_wait(const struct forks *f, uint32_t child)
{
	size_t low = 0, high = f->waits;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->wait[mid].child < child)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

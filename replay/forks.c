/* SPDX-License-Identifier: MIT */
/*
 * The waits of forks. A child's first event is the time to look at what its
 * parent's threads have closed: the last close of each that was over when the
 * fork began. What an earlier fork of the same thread has waited for is over.
 */
#include "replay/forks.h"

#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/event.h"

#include "replay/job.h"

int forks_init(struct forks *f, const struct job *job, struct marks *marks,
	       struct reel_error *err)
{
	size_t n = (size_t)job->streams + 1;

	f->job = job;
	f->marks = marks;
	f->closed = reel_alloc(n, sizeof(*f->closed), err);
	f->told = reel_alloc(n, sizeof(*f->told), err);
	f->seen = reel_alloc((size_t)job->processes + 1, 1, err);
	if (!f->closed || !f->told || !f->seen)
		return -1;
	for (size_t i = 0; i < n; i++)
		f->closed[i].stream = JOB_NONE;
	return 0;
}

void forks_fini(struct forks *f)
{
	free(f->closed);
	free(f->told);
	free(f->seen);
	free(f->wait);
	memset(f, 0, sizeof(*f));
}

static int keep(struct forks *f, uint32_t child, const struct who *before,
		struct reel_error *err)
{
	struct mark post = { .stream = before->stream,
			     .call = before->call,
			     .kind = MARK_POST };

	if (f->waits == f->room) {
		size_t room = f->room ? 2 * f->room : 16;

		if (reel_grow(&f->wait, room, sizeof(*f->wait), err))
			return -1;
		f->room = room;
	}
	f->wait[f->waits++] = (struct fork_wait){ child, *before };
	return marks_add(f->marks, &post, err);
}

static int first_event(struct forks *f, uint32_t child, struct reel_error *err)
{
	const struct job_process *c = &f->job->process[child], *p;

	if (c->parent == JOB_NONE || c->fork_stream == JOB_NONE)
		return 0;
	p = &f->job->process[c->parent];
	for (uint32_t s = p->stream; s < p->stream + p->streams; s++) {
		const struct who *w = &f->closed[s];

		if (w->stream == JOB_NONE || s == c->fork_stream ||
		    w->end_ns > c->start_ns || f->told[s] == c->fork_stream + 1)
			continue;
		f->told[s] = c->fork_stream + 1;
		if (keep(f, child, w, err))
			return -1;
	}
	return 0;
}

int forks_event(struct forks *f, const struct reel_event *ev,
		const struct who *me, struct reel_error *err)
{
	uint32_t process = f->job->stream[me->stream].process;

	if (!f->seen[process]) {
		f->seen[process] = 1;
		if (first_event(f, process, err))
			return -1;
	}
	if (ev->group == REEL_GROUP_CLOSE &&
	    f->job->process[process].streams > 1) {
		f->closed[me->stream] = *me;
		f->told[me->stream] = 0;
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

size_t forks_of(const struct forks *f, uint32_t child)
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

/* SPDX-License-Identifier: MIT */
/*
 * Matches the bytes of messages.
 *
 * Events come in the order of their ends, and a reader is often back before
 * the writer that woke it: a read waits here until the write of its last byte
 * has come by. Sockets have an inode at each end, and nothing says which two
 * belong together: their bytes come from outside.
 */
#include "replay/messages.h"

#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"

#include "analyzer/event.h"

#include "replay/job.h"

/* A reader that begins this soon after the write was waiting for it. */
#define WAKE_NS 2000000
/* Clocks of two processors may differ by this much. */
#define CLOCK_NS 1000000

struct message {
	struct who who;
	int64_t start_ns, idle_ns;
	uint64_t upto; /* bytes of the pipe that are through after it */
};

struct list {
	struct message *at;
	uint32_t first, n, room; /* [first, n) are waiting */
};

struct channel {
	uint64_t written, read;
	struct list writes, reads;
	struct who last_write, last_read;
	bool broken; /* the bytes do not add up: somebody else took part */
};

struct messages {
	const struct job *job;
	struct edges *edges;
	struct marks *marks;
	struct channel **channel; /* by file id */
};

int messages_new(struct messages **out, const struct job *job,
		 struct edges *edges, struct marks *marks,
		 struct reel_error *err)
{
	struct messages *m = reel_alloc(1, sizeof(*m), err);

	if (!m)
		return -1;
	m->job = job;
	m->edges = edges;
	m->marks = marks;
	m->channel = reel_alloc(job->files, sizeof(*m->channel), err);
	if (!m->channel) {
		free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void messages_free(struct messages *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->job->files; i++) {
		if (!m->channel[i])
			continue;
		free(m->channel[i]->writes.at);
		free(m->channel[i]->reads.at);
		free(m->channel[i]);
	}
	free(m->channel);
	free(m);
}

static int push(struct list *l, const struct message *msg,
		struct reel_error *err)
{
	if (l->first == l->n)
		l->first = l->n = 0;
	if (l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 16;

		if (reel_grow(&l->at, room, sizeof(*l->at), err))
			return -1;
		l->room = room;
	}
	l->at[l->n++] = *msg;
	return 0;
}

/* Nobody of the job wrote it: the time that the call took was a wait. */
static int from_outside(struct messages *m, const struct message *r,
			struct reel_error *err)
{
	struct mark mark = { .stream = r->who.stream,
			     .call = r->who.call,
			     .kind = MARK_LONGER,
			     .ns = r->who.end_ns - r->start_ns };

	return marks_add(m->marks, &mark, err);
}

static int match(struct messages *m, const struct message *r,
		 const struct message *w, struct reel_error *err)
{
	struct mark mark = { .stream = r->who.stream,
			     .call = r->who.call,
			     .kind = MARK_AFTER,
			     .ns = r->start_ns - w->who.end_ns };

	if (edges_keep(m->edges, &w->who, &r->who, err) < 0)
		return -1;
	if (w->who.stream == r->who.stream || w->who.end_ns <= r->idle_ns ||
	    mark.ns < 0 || mark.ns > WAKE_NS)
		return 0;
	return marks_add(m->marks, &mark, err);
}

/* Reads whose last byte has been written. */
static int settle(struct messages *m, struct channel *c, struct reel_error *err)
{
	while (c->reads.first < c->reads.n) {
		struct message *r = &c->reads.at[c->reads.first];
		struct list *w = &c->writes;

		if (c->broken) {
			c->reads.first++;
			if (from_outside(m, r, err))
				return -1;
			continue;
		}
		while (w->first < w->n && w->at[w->first].upto < r->upto)
			w->first++;
		if (w->first == w->n)
			return 0;
		if (w->at[w->first].start_ns > r->who.end_ns + CLOCK_NS) {
			c->broken = true; /* read before it was written */
			continue;
		}
		c->reads.first++;
		if (match(m, r, &w->at[w->first], err))
			return -1;
	}
	return 0;
}

static struct channel *channel_of(struct messages *m, uint32_t file,
				  struct reel_error *err)
{
	static const struct who nobody = { JOB_NONE, 0, 0 };

	if (!m->channel[file]) {
		struct channel *c = reel_alloc(1, sizeof(*c), err);

		if (!c)
			return NULL;
		c->last_write = c->last_read = nobody;
		m->channel[file] = c;
	}
	return m->channel[file];
}

/* The end comes after all that was written, when the last writer closes. */
static int at_end(struct messages *m, struct channel *c,
		  const struct message *r, struct reel_error *err)
{
	if (edges_add(m->edges, &c->last_write, &r->who, err) < 0)
		return -1;
	return from_outside(m, r, err);
}

int messages_event(struct messages *m, const struct reel_event *ev,
		   const struct who *me, int64_t idle_ns,
		   struct reel_error *err)
{
	struct message msg = { .who = *me,
			       .start_ns = ev->start_ns,
			       .idle_ns = idle_ns };
	bool write = ev->group == REEL_GROUP_WRITE;
	struct channel *c;

	if ((!write && ev->group != REEL_GROUP_READ) || !ev->file ||
	    ev->file >= m->job->files || ev->err)
		return 0;
	if (ev->kind == REEL_KIND_SOCKET)
		return write ? 0 : from_outside(m, &msg, err);
	c = channel_of(m, ev->file, err);
	if (!c)
		return -1;
	if (ev->result <= 0)
		return write ? 0 : at_end(m, c, &msg, err);
	if (write) {
		msg.upto = c->written += (uint64_t)ev->result;
		if (edges_add(m->edges, &c->last_write, me, err) < 0 ||
		    push(&c->writes, &msg, err))
			return -1;
		c->last_write = *me;
	} else {
		msg.upto = c->read += (uint64_t)ev->result;
		if (edges_add(m->edges, &c->last_read, me, err) < 0 ||
		    push(&c->reads, &msg, err))
			return -1;
		c->last_read = *me;
	}
	return settle(m, c, err);
}

int messages_end(struct messages *m, struct reel_error *err)
{
	for (uint32_t i = 0; i < m->job->files; i++) {
		struct channel *c = m->channel[i];

		if (!c)
			continue;
		c->broken = true;
		if (settle(m, c, err))
			return -1;
	}
	return 0;
}

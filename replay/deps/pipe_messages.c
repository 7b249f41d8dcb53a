/* SPDX-License-Identifier: MIT */
/*
 * Matches the bytes of messages.
 *
 * Events come in the order of their ends, and who wrote is often back later than
 * the reader that it woke, and than those whom that one told to write. So all
 * is matched in the end, writes in the order of their starts, reads in that of
 * their ends. Sockets have an inode at each end, and nothing says which two
 * belong together: their bytes come from outside.
 */
#include "replay/deps/pipe_messages.h"

#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/model/recorded_job.h"

/* A reader that begins this soon after the write was waiting for it. */
#define WAKE_NS 2000000
/* Clocks of two processors may differ by this much. */
#define CLOCK_NS 1000000

struct message {
	struct call_ref who;
	int64_t start_ns, idle_ns, bytes;
};

struct list {
	struct message *at;
	uint32_t n, room;
};

struct channel {
	struct list writes, reads;
	struct call_ref last_write, last_read;
};

struct messages {
	const struct job *job;
	struct edges *edges;
	struct annotations *marks;
	struct channel **channel; /* by file id */
};

int messages_new(struct messages **out, const struct job *job,
		 struct edges *edges, struct annotations *marks,
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
	struct annotation mark = {.stream = r->who.stream,
				  .call = r->who.call,
				  .kind = ANNOTATION_LONGER,
				  .ns = r->who.end_ns - r->start_ns};

	return annotations_add(m->marks, &mark, err);
}

static int match(struct messages *m, const struct message *r,
		 const struct message *w, struct reel_error *err)
{
	struct annotation mark = {.stream = r->who.stream,
				  .call = r->who.call,
				  .kind = ANNOTATION_AFTER,
				  .ns = r->start_ns - w->who.end_ns};

	if (edges_keep(m->edges, &w->who, &r->who, err) < 0)
		return -1;
	if (w->who.stream == r->who.stream || w->who.end_ns <= r->idle_ns ||
	    mark.ns < 0 || mark.ns > WAKE_NS)
		return 0;
	return annotations_add(m->marks, &mark, err);
}

static struct channel *channel_of(struct messages *m, uint32_t file,
				  struct reel_error *err)
{
	static const struct call_ref nobody = {JOB_NONE, 0, 0};

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
		   const struct call_ref *me, int64_t idle_ns,
		   struct reel_error *err)
{
	struct message msg = {.who = *me,
			      .start_ns = ev->start_ns,
			      .idle_ns = idle_ns,
			      .bytes = ev->result};
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
	if (!write && edges_add(m->edges, &c->last_read, me, err) < 0)
		return -1;
	*(write ? &c->last_write : &c->last_read) = *me;
	return push(write ? &c->writes : &c->reads, &msg, err);
}

static int by_start(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->who.end_ns < y->who.end_ns ? -1
					     : x->who.end_ns > y->who.end_ns;
}

/* What one stream writes comes after what another had written. */
static int order_writes(struct messages *m, struct list *l,
			struct reel_error *err)
{
	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), by_start);
	for (uint32_t i = 1; i < l->n; i++)
		if (edges_keep(m->edges, &l->at[i - 1].who, &l->at[i].who,
			       err) < 0)
			return -1;
	return 0;
}

/* Each read with the write of its last byte, as long as the bytes add up:
 * somebody else may have taken part. */
static int settle(struct messages *m, struct channel *c, struct reel_error *err)
{
	const struct message *w = c->writes.at, *end = w + c->writes.n;
	uint64_t written = 0, read = 0;

	if (order_writes(m, &c->writes, err))
		return -1;
	for (uint32_t i = 0; i < c->reads.n; i++) {
		const struct message *r = &c->reads.at[i];

		read += (uint64_t)r->bytes;
		while (w < end && written + (uint64_t)w->bytes < read)
			written += (uint64_t)w++->bytes;
		if (w < end && w->start_ns > r->who.end_ns + CLOCK_NS)
			w = end; /* read before it was written */
		if (w == end ? from_outside(m, r, err) : match(m, r, w, err))
			return -1;
	}
	return 0;
}

int messages_end(struct messages *m, struct reel_error *err)
{
	for (uint32_t i = 0; i < m->job->files; i++)
		if (m->channel[i] && settle(m, m->channel[i], err))
			return -1;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Matches the bytes of messages.
 *
 * Events come in the order of their ends, but a write often returns after the
 * read that it woke, and even after writes that this read caused. So messages
 * are matched after the last event: writes in the order of their starts, reads
 * in the order of their ends. The two ends of a socket have different inodes,
 * and the trace does not connect them: their bytes count as external.
 */
#include "replay/deps/deps.h"

#include <stdlib.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event.h"

#include "replay/model/recorded_job.h"

/* A reader that begins this soon after the write was waiting for it. */
#define WAKE_NS 2000000
/* Clocks of two processors may differ by this much. */
#define CLOCK_NS 1000000

struct message {
	struct call_ref call;
	int64_t start_ns, idle_ns, bytes;
};

struct message_list {
	struct message *at;
	uint32_t n, room;
};

struct channel {
	struct message_list writes, reads;
	struct call_ref last_write, last_read;
};

struct messages {
	const struct job *job;
	struct deps *deps;
	struct annotations *annotations;
	struct channel **channel; /* by file id */
};

int messages_new(struct messages **out, const struct job *job,
		 struct deps *deps, struct annotations *annotations,
		 struct reel_error *err)
{
	struct messages *m = reel_alloc(1, sizeof(*m), err);

	if (!m)
		return -1;
	m->job = job;
	m->deps = deps;
	m->annotations = annotations;
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

static int push_message(struct message_list *l, const struct message *msg,
			struct reel_error *err)
{
	if (reel_array_reach(&l->at, &l->room, l->n, sizeof(*l->at), err))
		return -1;
	l->at[l->n++] = *msg;
	return 0;
}

/* No write of the job gave these bytes: the duration of the read was a wait. */
static int external_read(struct messages *m, const struct message *r,
			 struct reel_error *err)
{
	struct annotation note = {.stream = r->call.stream,
				  .call = r->call.index,
				  .kind = ANNOTATION_EXTERNAL_WAIT,
				  .ns = r->call.end_ns - r->start_ns};

	return annotations_add(m->annotations, &note, err);
}

static int match_write(struct messages *m, const struct message *r,
		       const struct message *w, struct reel_error *err)
{
	struct annotation note = {.stream = r->call.stream,
				  .call = r->call.index,
				  .kind = ANNOTATION_DELAY,
				  .ns = r->start_ns - w->call.end_ns};

	if (deps_add_late(m->deps, &w->call, &r->call, err) < 0)
		return -1;
	if (w->call.stream == r->call.stream || w->call.end_ns <= r->idle_ns ||
	    note.ns < 0 || note.ns > WAKE_NS)
		return 0;
	return annotations_add(m->annotations, &note, err);
}

static struct channel *channel_of(struct messages *m, uint32_t file,
				  struct reel_error *err)
{
	static const struct call_ref no_call = {JOB_NONE, 0, 0};

	if (!m->channel[file]) {
		struct channel *c = reel_alloc(1, sizeof(*c), err);

		if (!c)
			return NULL;
		c->last_write = c->last_read = no_call;
		m->channel[file] = c;
	}
	return m->channel[file];
}

/* EOF comes after all writes, when the last writer closes. */
static int eof_read(struct messages *m, struct channel *c,
		    const struct message *r, struct reel_error *err)
{
	if (deps_add(m->deps, &c->last_write, &r->call, err) < 0)
		return -1;
	return external_read(m, r, err);
}

int messages_event(struct messages *m, const struct reel_event *ev,
		   const struct call_ref *call, int64_t idle_ns,
		   struct reel_error *err)
{
	struct message msg = {.call = *call,
			      .start_ns = ev->start_ns,
			      .idle_ns = idle_ns,
			      .bytes = ev->result};
	bool write = ev->group == REEL_GROUP_WRITE;
	struct channel *c;

	if ((!write && ev->group != REEL_GROUP_READ) || !ev->file ||
	    ev->file >= m->job->files || ev->err)
		return 0;
	if (ev->kind == REEL_KIND_SOCKET)
		return write ? 0 : external_read(m, &msg, err);
	c = channel_of(m, ev->file, err);
	if (!c)
		return -1;
	if (ev->result <= 0)
		return write ? 0 : eof_read(m, c, &msg, err);
	if (!write && deps_add(m->deps, &c->last_read, call, err) < 0)
		return -1;
	*(write ? &c->last_write : &c->last_read) = *call;
	return push_message(write ? &c->writes : &c->reads, &msg, err);
}

static int by_start(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->call.end_ns < y->call.end_ns
		       ? -1
		       : x->call.end_ns > y->call.end_ns;
}

/* Writes of different streams keep their order. */
static int order_writes(struct messages *m, struct message_list *l,
			struct reel_error *err)
{
	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), by_start);
	for (uint32_t i = 1; i < l->n; i++)
		if (deps_add_late(m->deps, &l->at[i - 1].call, &l->at[i].call,
				  err) < 0)
			return -1;
	return 0;
}

/* Match each read with the write of its last byte, as long as the bytes add up:
 * another program may have used the pipe too. */
static int match_channel(struct messages *m, struct channel *c,
			 struct reel_error *err)
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
		if (w < end && w->start_ns > r->call.end_ns + CLOCK_NS)
			w = end; /* read before it was written */
		if (w == end ? external_read(m, r, err)
			     : match_write(m, r, w, err))
			return -1;
	}
	return 0;
}

int messages_end(struct messages *m, struct reel_error *err)
{
	for (uint32_t i = 0; i < m->job->files; i++)
		if (m->channel[i] && match_channel(m, m->channel[i], err))
			return -1;
	return 0;
}

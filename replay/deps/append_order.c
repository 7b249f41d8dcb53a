/* SPDX-License-Identifier: MIT */
/*
 * The order of reads and writes of a growing file that overlap in time: the
 * bytes that the read returned prove which call the kernel served first.
 *
 * A thread may lose its processor in the middle of a call while other threads
 * make thousands of calls. So the calls of the last HOLD_NS are remembered for
 * a file that two streams use at one time.
 *
 * Only an order that the results prove becomes a dependency: a wrong one could
 * close a cycle of waits.
 */
#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/deps/internal.h"

#define HOLD_NS 100000000
#define MOST_ROOM 4096
/* While one stream alone uses the file, as with most files. */
#define MOST_WRITES_ALONE 4
#define MOST_READS_ALONE 64
/* The search ends after this many calls that were over before this one began:
 * the rings are nearly in the order of ends. */
#define MOST_OVER 64
#define NO_WRITE UINT32_MAX

/* A write or a read. */
struct transfer {
	struct call_ref call, first; /* differ: several reads of one EOF */
	int64_t start_ns, first_start_ns, from, to;
	uint32_t before; /* of a write: the number of its stream's previous */
	bool eof;	 /* a read that hit the end of the file */
	bool extends;	 /* a write that went further than all before */
};

/* The last transfers; number i is at i % room, and room is a power of two. */
struct ring {
	struct transfer *at;
	uint32_t n, room;
};

struct append_order {
	struct ring writes, reads;
	int64_t top;	 /* end of the furthest write */
	uint32_t stream; /* of its first call */
	bool shared;	 /* another stream uses the file too */
};

void append_order_free(struct append_order *o)
{
	if (!o)
		return;
	free(o->writes.at);
	free(o->reads.at);
	free(o);
}

static uint32_t oldest_number(const struct ring *r)
{
	return r->n > r->room ? r->n - r->room : 0;
}

static struct transfer *at_number(const struct ring *r, uint32_t i)
{
	return &r->at[i & (r->room - 1)];
}

static void enlarge_ring(struct ring *r, struct reel_error *err)
{
	struct ring new = {.room = r->room ? 2 * r->room : 1, .n = r->n};

	new.at = reel_alloc(new.room, sizeof(*new.at), err);
	if (!new.at)
		return;
	for (uint32_t i = oldest_number(r); i < r->n; i++)
		*at_number(&new, i) = *at_number(r, i);
	free(r->at);
	*r = new;
}

static void push_transfer(struct ring *r, uint32_t most,
			  const struct transfer *now, struct reel_error *err)
{
	if (r->n >= r->room && r->room < most &&
	    (!r->room || at_number(r, oldest_number(r))->call.end_ns >
				 now->call.end_ns - HOLD_NS))
		enlarge_ring(r, err);
	if (r->room)
		*at_number(r, r->n++) = *now;
}

/*
 * The read hit the end of the file that the write moved. It may have been over
 * long before: byte_rules.c knows only the last read of a stream, which may
 * have seen the write.
 */
static bool precedes_write(const struct transfer *read,
			   const struct transfer *write)
{
	return read->eof && write->from >= read->to &&
	       read->start_ns < write->call.end_ns;
}

/* The read, or the first of its kind, returned bytes that the write added. */
static bool saw_write(const struct transfer *read, const struct transfer *write)
{
	if (write->start_ns >= read->first.end_ns ||
	    read->first_start_ns >= write->call.end_ns)
		return false;
	return (read->eof && read->to == write->to) ||
	       (write->extends && read->from < write->to &&
		read->to > write->from);
}

/* The read waits for the writes that it saw, and the next ones wait for it. */
static void on_read(struct deps *d, struct append_order *o,
		    const struct transfer *now)
{
	const struct ring *r = &o->writes;
	uint32_t overs = 0;

	/* The newest first: a wait for it covers older ones of its stream. */
	for (uint32_t i = r->n; i-- > oldest_number(r) && overs < MOST_OVER;) {
		const struct transfer *w = at_number(r, i);
		bool over = w->call.end_ns <= now->start_ns;
		bool second = w->before != NO_WRITE &&
			      w->before >= oldest_number(r) &&
			      precedes_write(now, at_number(r, w->before));

		overs += over;
		if (over || saw_write(now, w))
			deps_add(d, &w->call, &now->call, d->err);
		if (precedes_write(now, w) && !second)
			deps_add_late(d, &now->call, &w->call, d->err);
	}
}

/* A stream that polls the end of a file takes one entry. */
static struct transfer *same_end(const struct ring *r,
				 const struct transfer *now)
{
	for (uint32_t i = r->n; now->eof && i > oldest_number(r); i--) {
		struct transfer *m = at_number(r, i - 1);

		if (m->call.stream == now->call.stream)
			return m->eof && m->from == m->to &&
					       now->from == now->to &&
					       m->to == now->to
				       ? m
				       : NULL;
	}
	return NULL;
}

static void add_read(struct deps *d, struct append_order *o,
		     const struct transfer *now)
{
	struct transfer *same = same_end(&o->reads, now);

	on_read(d, o, now);
	if (!same) {
		push_transfer(&o->reads,
			      o->shared ? MOST_ROOM : MOST_READS_ALONE, now,
			      d->err);
		return;
	}
	same->call = now->call;
	same->start_ns = now->start_ns;
}

static void add_write(struct deps *d, struct append_order *o,
		      struct transfer *now)
{
	const struct ring *r = &o->reads;
	uint32_t overs = 0;

	now->extends = now->to > o->top;
	if (now->extends)
		o->top = now->to;
	for (uint32_t i = r->n; i-- > oldest_number(r) && overs < MOST_OVER;) {
		const struct transfer *read = at_number(r, i);

		overs += read->call.end_ns <= now->start_ns;
		if (precedes_write(read, now))
			deps_add(d, &read->call, &now->call, d->err);
		if (saw_write(read, now))
			deps_add_late(d, &now->call, &read->first, d->err);
	}
	now->before = NO_WRITE;
	for (uint32_t i = o->writes.n; i > oldest_number(&o->writes); i--) {
		if (at_number(&o->writes, i - 1)->call.stream ==
		    now->call.stream) {
			now->before = i - 1;
			break;
		}
	}
	push_transfer(&o->writes, o->shared ? MOST_ROOM : MOST_WRITES_ALONE,
		      now, d->err);
}

void append_order_event(struct deps *d, struct append_order **order)
{
	const struct reel_event *ev = d->ev;
	struct transfer now = {.call = *d->call,
			       .first = *d->call,
			       .start_ns = ev->start_ns,
			       .first_start_ns = ev->start_ns,
			       .from = ev->offset,
			       .eof = ev->result < ev->asked};

	if (ev->offset < 0 || ev->err || ev->result < 0 ||
	    ev->result > INT64_MAX / 2 || ev->offset > INT64_MAX / 2)
		return;
	now.to = ev->offset + ev->result;
	if (!*order) {
		*order = reel_alloc(1, sizeof(**order), d->err);
		if (!*order)
			return;
		(*order)->stream = d->call->stream;
	}
	(*order)->shared |= (*order)->stream != d->call->stream;
	if (ev->group == REEL_GROUP_WRITE)
		add_write(d, *order, &now);
	else
		add_read(d, *order, &now);
}

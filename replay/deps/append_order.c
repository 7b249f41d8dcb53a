/* SPDX-License-Identifier: MIT */
/*
 * Orders reads and writes that overlap in time. Only what must have been so
 * becomes an edge: a wrong one could close a circle of waits.
 */
#include "replay/deps/append_order.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/deps/deps.h"
#include "replay/model/annotations.h"

#define HOLD_NS 100000000
#define MOST_ROOM 4096
/* As long as one stream is alone with the file, and most files have but one. */
#define MOST_WRITES_ALONE 4
#define MOST_READS_ALONE 64
/* Calls that were over before this one began, after which it has met them all:
 * they are remembered nearly in the order of their ends. */
#define MOST_OVER 64
#define NO_WRITE UINT32_MAX

/* A write or a read. */
struct moved {
	struct call_ref who,
		first; /* more than one: reads that found one end */
	int64_t start_ns, first_start_ns, from, to;
	uint32_t before; /* of a write: its stream's one before, by number */
	bool ended;	 /* a read: it found the end */
	bool extends;	 /* a write: no write before it went as far */
};

/* The last ones; number i is at i % room, and room is a power of two. */
struct ring {
	struct moved *at;
	uint32_t n, room;
};

struct append_order {
	struct ring writes, reads;
	int64_t top;	 /* where the furthest write ended */
	uint32_t stream; /* of its first call */
	bool shared;	 /* there was another */
};

void append_order_free(struct append_order *t)
{
	if (!t)
		return;
	free(t->writes.at);
	free(t->reads.at);
	free(t);
}

static uint32_t oldest(const struct ring *r)
{
	return r->n > r->room ? r->n - r->room : 0;
}

static struct moved *number(const struct ring *r, uint32_t i)
{
	return &r->at[i & (r->room - 1)];
}

static int enlarge(struct ring *r, struct reel_error *err)
{
	struct ring new = {.room = r->room ? 2 * r->room : 1, .n = r->n};

	new.at = reel_alloc(new.room, sizeof(*new.at), err);
	if (!new.at)
		return -1;
	for (uint32_t i = oldest(r); i < r->n; i++)
		*number(&new, i) = *number(r, i);
	free(r->at);
	*r = new;
	return 0;
}

static int push(struct ring *r, uint32_t most, const struct moved *now,
		struct reel_error *err)
{
	if (r->n >= r->room && r->room < most &&
	    (!r->room ||
	     number(r, oldest(r))->who.end_ns > now->who.end_ns - HOLD_NS) &&
	    enlarge(r, err))
		return -1;
	*number(r, r->n++) = *now;
	return 0;
}

/* The read found the end before the write moved it. */
static bool served_before(const struct moved *read, const struct moved *write)
{
	return read->ended && write->from >= read->to &&
	       read->start_ns < write->who.end_ns &&
	       write->start_ns < read->who.end_ns;
}

/* The (first) read found what the write had added. */
static bool found(const struct moved *read, const struct moved *write)
{
	if (write->start_ns >= read->first.end_ns ||
	    read->first_start_ns >= write->who.end_ns)
		return false;
	return (read->ended && read->to == write->to) ||
	       (write->extends && read->from < write->to &&
		read->to > write->from);
}

/* It waits for the writes that it found, and the next ones wait for it. */
static int on_read(struct edges *e, struct append_order *t,
		   const struct moved *now, struct reel_error *err)
{
	const struct ring *r = &t->writes;
	uint32_t overs = 0;

	/* The last first, as a wait for it is one for those before. */
	for (uint32_t i = r->n; i-- > oldest(r) && overs < MOST_OVER;) {
		const struct moved *w = number(r, i);
		bool over = w->who.end_ns <= now->start_ns;
		bool second = w->before != NO_WRITE && w->before >= oldest(r) &&
			      served_before(now, number(r, w->before));

		overs += over;
		if ((over || found(now, w)) &&
		    edges_add(e, &w->who, &now->who, err) < 0)
			return -1;
		if (served_before(now, w) && !second &&
		    edges_keep(e, &now->who, &w->who, err) < 0)
			return -1;
	}
	return 0;
}

/* Who waits for a file to grow finds its end again and again: one entry. */
static struct moved *same_end(const struct ring *r, const struct moved *now)
{
	for (uint32_t i = r->n; now->ended && i > oldest(r); i--) {
		struct moved *m = number(r, i - 1);

		if (m->who.stream == now->who.stream)
			return m->ended && m->from == m->to &&
					       now->from == now->to &&
					       m->to == now->to
				       ? m
				       : NULL;
	}
	return NULL;
}

static int add_read(struct edges *e, struct append_order *t,
		    const struct moved *now, struct reel_error *err)
{
	struct moved *same = same_end(&t->reads, now);

	if (on_read(e, t, now, err))
		return -1;
	if (!same)
		return push(&t->reads, t->shared ? MOST_ROOM : MOST_READS_ALONE,
			    now, err);
	same->who = now->who;
	same->start_ns = now->start_ns;
	return 0;
}

static int add_write(struct edges *e, struct append_order *t, struct moved *now,
		     struct reel_error *err)
{
	const struct ring *r = &t->reads;
	uint32_t overs = 0;

	now->extends = now->to > t->top;
	if (now->extends)
		t->top = now->to;
	for (uint32_t i = r->n; i-- > oldest(r) && overs < MOST_OVER;) {
		const struct moved *read = number(r, i);

		overs += read->who.end_ns <= now->start_ns;
		if (served_before(read, now) &&
		    edges_add(e, &read->who, &now->who, err) < 0)
			return -1;
		if (found(read, now) &&
		    edges_keep(e, &now->who, &read->first, err) < 0)
			return -1;
	}
	now->before = NO_WRITE;
	for (uint32_t i = t->writes.n; i > oldest(&t->writes); i--) {
		if (number(&t->writes, i - 1)->who.stream == now->who.stream) {
			now->before = i - 1;
			break;
		}
	}
	return push(&t->writes, t->shared ? MOST_ROOM : MOST_WRITES_ALONE, now,
		    err);
}

int append_order_event(struct edges *e, struct append_order **tail,
		       const struct reel_event *ev, const struct call_ref *me,
		       struct reel_error *err)
{
	struct moved now = {.who = *me,
			    .first = *me,
			    .start_ns = ev->start_ns,
			    .first_start_ns = ev->start_ns,
			    .from = ev->offset,
			    .ended = ev->result < ev->asked};

	if (ev->offset < 0 || ev->err || ev->result < 0 ||
	    ev->result > INT64_MAX / 2 || ev->offset > INT64_MAX / 2)
		return 0;
	now.to = ev->offset + ev->result;
	if (!*tail) {
		*tail = reel_alloc(1, sizeof(**tail), err);
		if (!*tail)
			return -1;
		(*tail)->stream = me->stream;
	}
	(*tail)->shared |= (*tail)->stream != me->stream;
	return ev->group == REEL_GROUP_WRITE ? add_write(e, *tail, &now, err)
					     : add_read(e, *tail, &now, err);
}

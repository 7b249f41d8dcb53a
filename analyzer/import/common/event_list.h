/* SPDX-License-Identifier: MIT */
/*
 * The events of an import, put into the order of their ends, in bounded memory.
 *
 * The log of a process is mostly in this order, and a job is a few such logs in a
 * row: what is in order already costs a comparison an event, and no event moves.
 * With more events than EVENT_LIST_HELD, sorted runs of them go to a temporary file.
 */
#ifndef ANALYZER_IMPORT_EVENT_LIST_H
#define ANALYZER_IMPORT_EVENT_LIST_H

#include <stdint.h>

#include "lib/store/event.h"

/* 112 bytes each, and 32 more to sort them. */
#define EVENT_LIST_HELD (1u << 19)

struct event_key;
struct reel_error;
struct sorter;

/* Zeroed is empty. */
struct event_list {
	struct reel_event **chunk;
	uint32_t chunks, chunk_room;
	uint32_t held, next;	 /* events in memory; which is read next */
	struct event_key *order; /* NULL: as they were added */
	struct sorter *runs;	 /* NULL: all are in memory */
	struct reel_event read;	 /* of @runs */
};

/* Room for one more event, not cleared, which the caller fills before the next call;
 * NULL with @err (REEL_E_MEMORY, REEL_E_IO). */
struct reel_event *event_list_add(struct event_list *l, struct reel_error *err);
/*
 * All events are added: sort by end, thread and start; events that are equal in these
 * stay in the order in which they were added. 0, or -1 with @err.
 */
int event_list_sort(struct event_list *l, struct reel_error *err);
/* The next event in the order of the sort, borrowed until the next call. 1, 0 at the
 * end, or -1 with @err. */
int event_list_next(struct event_list *l, struct reel_event **ev,
		    struct reel_error *err);
void event_list_fini(struct event_list *l); /* empty again */

#endif

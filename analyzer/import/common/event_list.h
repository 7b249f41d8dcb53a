/* SPDX-License-Identifier: MIT */
/*
 * The events of an import, in memory, put into the order of their ends.
 *
 * The log of a process is mostly in this order, and a job is a few such logs in a
 * row: what is in order already costs a comparison an event, and no event moves.
 */
#ifndef ANALYZER_IMPORT_EVENT_LIST_H
#define ANALYZER_IMPORT_EVENT_LIST_H

#include <stdint.h>

struct event_key;
struct reel_error;
struct reel_event;

/* Zeroed is empty. */
struct event_list {
	struct reel_event **chunk;
	uint32_t chunks, chunk_room, n;
	struct event_key *order; /* NULL: as they were added */
};

/* Room for one more event, not cleared; NULL with @err (REEL_E_MEMORY). It stays
 * where it is. */
struct reel_event *event_list_add(struct event_list *l, struct reel_error *err);
/*
 * Sort by end, thread and start; events that are equal in these stay in the order
 * in which they were added. 0, or -1 with @err (REEL_E_MEMORY).
 */
int event_list_sort(struct event_list *l, struct reel_error *err);
/* Event @i < n in the order of the sort. Borrowed. */
struct reel_event *event_list_at(const struct event_list *l, uint32_t i);
void event_list_fini(struct event_list *l); /* empty again */

#endif

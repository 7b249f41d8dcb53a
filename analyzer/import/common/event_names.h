/* SPDX-License-Identifier: MIT */
/*
 * Counts and times of trace events by category and name: written as counters, one
 * record for each name. A span that cannot hold its event's name has the number of
 * the record as its detail.
 */
#ifndef ANALYZER_IMPORT_EVENT_NAMES_H
#define ANALYZER_IMPORT_EVENT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/intmap.h"

struct reel_error;
struct reel_writer;
struct trace_event;

#define EVENT_CATEGORIES_MOST 64

struct event_name {
	char *text;
	uint32_t category;
	uint64_t count;
	int64_t time; /* ns, or the unit of event_names.time_counter */
};

/* Zeroed is empty. */
struct event_names {
	struct event_name *name;
	uint32_t names, room;
	struct reel_intmap by_name;
	char *category[EVENT_CATEGORIES_MOST]; /* the last: all others */
	uint32_t categories;
	const char *time_counter; /* NULL: "TIME_NS" */
};

/* The index of @text in @category, not counted, or REEL_NO_INDEX with @err. */
uint32_t event_names_index(struct event_names *e, const char *category,
			   const char *text, size_t len,
			   struct reel_error *err);
/* Count @count events of name @index that took @time together. */
void event_names_add(struct event_names *e, uint32_t index, uint64_t count,
		     int64_t time);
/* Count @ev. The index of its name, or REEL_NO_INDEX with @err. */
uint32_t event_names_count(struct event_names *e, const struct trace_event *ev,
			   struct reel_error *err);
/*
 * Write a record for each name of @source, with the counters COUNT and TIME_NS;
 * name i has record @first + i. @rank -1: not known. 0, or -1 with @err.
 */
int event_names_write(const struct event_names *e, struct reel_writer *w,
		      uint32_t source, uint32_t first, int64_t rank,
		      struct reel_error *err);
void event_names_fini(struct event_names *e); /* empty again */

#endif

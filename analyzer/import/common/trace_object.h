/* SPDX-License-Identifier: MIT */
/* An event of Chrome's JSON that is whole in memory, parsed in place. */
#ifndef ANALYZER_IMPORT_TRACE_OBJECT_H
#define ANALYZER_IMPORT_TRACE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_event;

/* The rules by which events are read. */
struct trace_rules {
	bool without_args; /* skip all arguments */
	int time_digits;   /* of a time before ns: 3, as the format has us */
	uint64_t bad;	   /* counts the times that are none */
};

/*
 * Parse the event that begins in the @n bytes at @p, after spaces and commas,
 * into @ev, whose texts point into @p and are ended there by NULs.
 *
 * Returns the bytes used, or 0, with nothing changed but @ev, when the event is
 * cut off or not simple (escapes, damage, a key without quotes): the caller
 * reads it token by token.
 */
size_t trace_object_parse(char *p, size_t n, struct trace_rules *rules,
			  struct trace_event *ev);

/* A time, as a number is written, to ns. False: it is none, and counted. */
bool trace_object_time(const char *text, size_t len, struct trace_rules *rules,
		       int64_t *ns);

#endif

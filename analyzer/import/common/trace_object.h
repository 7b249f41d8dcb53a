/* SPDX-License-Identifier: MIT */
/* An event of Chrome's JSON that is whole in memory, parsed in place. */
#ifndef ANALYZER_IMPORT_TRACE_OBJECT_H
#define ANALYZER_IMPORT_TRACE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_event;

#define TRACE_SHAPES 16u /* by the names of events: a power of 2 */
#define TRACE_KEYS                                                             \
	16u /* of an event, and as many of its arguments, that are guessed */

/* The key of an event before with its quotes, comma and colon: a guess. */
struct trace_token {
	uint64_t text[2], mask[2]; /* mask: of the bytes that count */
	uint64_t word;		   /* trace_word() of the key */
	uint8_t n;		   /* bytes up to the value; 0: no guess */
	uint8_t key_at, key_len, field;
};

/* The keys of an event, and those of its arguments. */
struct trace_shape {
	struct trace_token key[TRACE_KEYS], arg[TRACE_KEYS];
};

/* The rules by which events are read. Zeroed but for time_digits at first. */
struct trace_rules {
	bool without_args; /* skip all arguments */
	int time_digits;   /* of a time before ns: 3, as the format has us */
	uint64_t bad;	   /* counts the times that are none */
	struct trace_shape shape[TRACE_SHAPES];
};

/*
 * Parse the event that begins in the @n bytes at @p, after spaces and commas,
 * into @ev, whose texts point into @p and are ended there by NULs. Behind the @n bytes
 * is a line end or a NUL, and REEL_JSON_AHEAD bytes may be read.
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

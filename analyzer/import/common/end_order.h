/* SPDX-License-Identifier: MIT */
/*
 * Events that come nearly in the order of their ends, into a writer that wants them
 * in it: a window of the last ones is kept.
 *
 * strace prints a call when it sees its end, which may be after the end of a later
 * call of another thread. An event that comes too late even for the window ends
 * with the last one that was written.
 */
#ifndef ANALYZER_IMPORT_END_ORDER_H
#define ANALYZER_IMPORT_END_ORDER_H

#include <stdint.h>

#include "analyzer/write/writer.h"

struct reel_error;

#define END_ORDER_WINDOW 4096 /* events */

struct end_order_entry {
	struct reel_event event;
	int64_t end_ns;
	uint64_t number; /* of equal ends the earlier one first */
};

/* Zeroed is empty. */
struct end_order {
	struct end_order_entry *heap;
	uint32_t n;
	uint64_t number;
	int64_t written_ns; /* the last end */
};

/* Add @ev, and write the first one where the window is full. 0, or -1 with @err:
 * REEL_E_MEMORY, REEL_E_DB. */
int end_order_add(struct end_order *o, struct reel_writer *w,
		  const struct reel_event *ev, struct reel_error *err);
/* Write the rest. 0, or -1 with @err. */
int end_order_flush(struct end_order *o, struct reel_writer *w,
		    struct reel_error *err);
void end_order_fini(struct end_order *o);

#endif

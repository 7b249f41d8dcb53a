/* SPDX-License-Identifier: MIT */
/* The processes and threads of a file of trace events, by pid and tid. */
#ifndef ANALYZER_IMPORT_CHROME_ROWS_H
#define ANALYZER_IMPORT_CHROME_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/intmap.h"

struct chrome_range;
struct chrome_track;
struct import_gather;
struct reel_error;
struct trace_event;
struct trace_text;

/* Ranges that have begun, each inside of the one before. For the caller. */
struct chrome_open {
	struct chrome_range *range;
	uint32_t depth, room;
};

/* A thread of the file. */
struct chrome_row {
	uint32_t thread;
	bool stream;	 /* of a device: its ranges are kernels */
	bool tensorflow; /* of a host */
	bool timeline;	 /* of TensorFlow's Timeline */
	struct chrome_open open;
};

/* Zeroed but for the first two is empty. */
struct chrome_rows {
	struct import_gather *gather;
	uint32_t source;
	struct reel_intmap by_pid, by_row;
	struct chrome_track *track;
	struct chrome_row *row;
	uint32_t tracks, rows, track_room, row_room;
};

/* The row of @ev. Borrowed until the next call. NULL with @err:
 * REEL_E_MEMORY. */
struct chrome_row *chrome_rows_get(struct chrome_rows *c,
				   const struct trace_event *ev,
				   struct reel_error *err);
/* Read a name of a process or thread, an event of phase M. 0, or -1 with
 * @err. */
int chrome_rows_name(struct chrome_rows *c, const struct trace_event *ev,
		     struct reel_error *err);
void chrome_rows_fini(struct chrome_rows *c); /* empty again */

/* The hash of @t, continued from @h. */
uint64_t chrome_hash(const struct trace_text *t, uint64_t h);

#endif

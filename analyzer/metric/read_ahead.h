/* SPDX-License-Identifier: MIT */
/*
 * Reads that waited for readahead: the kernel fetches more of a file than a
 * read requested, and later reads wait for these pages without a fetch of their
 * own.
 */
#ifndef ANALYZER_METRIC_READ_AHEAD_H
#define ANALYZER_METRIC_READ_AHEAD_H

#include <stdint.h>

struct metric_event;
struct reel_error;

/* Range of a file that the latest fetches read: [from, until) in bytes. */
struct read_ahead_file {
	int64_t from, until, last;
};

/* Zeroed at first; memory grows with the largest file id that fetched. */
struct read_ahead {
	struct read_ahead_file *file; /* by file_id */
	uint32_t room;
};

/*
 * Classify the next event of the job, in the order of ends. Sets @m->storage to
 * METRIC_WAITED for a slow read without a fetch that is inside a range which
 * earlier reads fetched. 0, or -1 with @err: REEL_E_MEMORY. Source:
 * ioreel-store(5), "Storage".
 */
int read_ahead_classify(struct read_ahead *r, struct metric_event *m,
			struct reel_error *err);
void read_ahead_fini(struct read_ahead *r);

#endif

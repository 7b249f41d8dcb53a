/* SPDX-License-Identifier: MIT */
/*
 * Reads that waited for read-ahead: the kernel fetches more of a file than a
 * read asked for, and later reads wait for these pages without fetching
 * anything themselves.
 */
#ifndef ANALYZER_METRIC_READ_AHEAD_H
#define ANALYZER_METRIC_READ_AHEAD_H

#include <stdint.h>

struct metric_event;
struct reel_error;

/* Part of a file that the latest fetches brought: [from, until) in bytes. */
struct read_ahead_file {
	int64_t from, until, last;
};

/* Zeroed at first; memory grows with the file ids that fetched. */
struct read_ahead {
	struct read_ahead_file *file; /* by file_id */
	uint32_t room;
};

/*
 * See the next event of the job, in the order of ends. Sets @m->storage to
 * METRIC_WAITED for a slow read that fetched nothing, but lies in a part of its
 * file that earlier reads fetched. 0, or -1 with @err: REEL_E_MEMORY.
 * Source: ioreel-store(5), "Storage".
 */
int read_ahead_classify(struct read_ahead *r, struct metric_event *m,
			struct reel_error *err);
void read_ahead_fini(struct read_ahead *r);

#endif

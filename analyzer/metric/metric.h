/* SPDX-License-Identifier: MIT */
/*
 * The interface of a metric. A metric is a file NAME.c with a struct
 * reel_metric, a file schemas/metric_NAME.sql with its tables and views, and a
 * row in table.c; docs/add-a-metric.md has the steps.
 *
 * Load makes one state per metric and calls, in this order:
 *
 *     init     once, if a zeroed state is not enough
 *     feed     with every event of the job once, in the order of their ends
 *              (without events of launchers)
 *     span     with every span when it closes, after the events that ended
 *              before it
 *     finish   once, to write the rows of the metric's tables
 *     fini     once, to free the state, even after a failure
 *
 * Memory may grow with files, processes, threads and steps, never with events.
 * lib/store/event_op.h decides what counts as a read, an error or an end of
 * file, so that two metrics cannot disagree.
 */
#ifndef ANALYZER_METRIC_METRIC_H
#define ANALYZER_METRIC_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/store/event.h"
#include "lib/store/store.h"

struct metric_event; /* lib/store/event_op.h */

/* Functions return 0, or -1 with @err filled. */
struct reel_metric {
	const char *name;   /* "transfer_size" */
	const char *schema; /* text of schemas/metric_NAME.sql */
	size_t state_bytes; /* size of its state, which starts zeroed */
	bool for_counts;    /* fed when a load only counts, too */
	/* Its rows are figures of calls: an import without calls, as a profile,
	 * does not know them and gets none. */
	bool of_calls;
	/* Bits of enum metric_rare: the metric ignores all events without one of
	 * them, and some may not be fed to it. 0: it needs every event. */
	uint8_t needs;
	/* Set state that is not zero at the start; may be NULL. */
	int (*init)(void *state, struct reel_error *err);
	/* The next @n events: a loop here is cheaper than a call per event.
	 * METRIC_FEED() defines it from an add_event() that takes one. NULL:
	 * the metric needs spans only. */
	int (*feed)(void *state, const struct metric_event *ev, uint32_t n,
		    struct reel_error *err);
	/* A span; may be NULL. */
	int (*span)(void *state, const struct reel_span_event *sp,
		    struct reel_error *err);
	/* Write the rows to @st, through lib/store/insert.h. */
	int (*finish)(void *state, struct reel_store *st,
		      struct reel_error *err);
	/* Free the members of the state, even after a failed init; may be
	 * NULL. */
	void (*fini)(void *state);
};

/* Feed @n events to @m; @rare: the mask metric_rare() of all of them. */
static inline int reel_metric_feed(const struct reel_metric *m, void *state,
				   const struct metric_event *ev, uint32_t n,
				   unsigned int rare, struct reel_error *err)
{
	if (!m->feed || (m->needs && !(m->needs & rare)))
		return 0;
	return m->feed(state, ev, n, err);
}

/* All metrics, ended by NULL; defined in table.c. */
extern const struct reel_metric *const reel_metrics[];

/* Gives a new, initialized state for reel_metric_free(); NULL with @err. */
void *reel_metric_new(const struct reel_metric *m, struct reel_error *err);
/* Free @state; takes NULL. */
void reel_metric_free(const struct reel_metric *m, void *state);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A metric is a module metric_NAME.c and its schemas/metric_NAME.sql. Load
 * feeds every metric each event once, in the order of the events' ends, and
 * each span when it closes, after the events before it; finish() writes its
 * rollup tables. Memory is bounded by files, processes and steps, never by
 * events.
 *
 * Events come some at a time: a loop in the metric is cheaper than a call for
 * each.
 */
#ifndef ANALYZER_METRIC_METRIC_H
#define ANALYZER_METRIC_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/store/event.h"
#include "lib/store/store.h"

struct metric_event; /* metric_op.h */

struct reel_metric {
	const char *name;   /* "transfer_size" */
	const char *schema; /* text of schemas/metric_NAME.sql */
	size_t state_bytes; /* of its state, which begins as zeroes */
	bool for_counts;    /* reel_load_counts() wants it */
	/* What is not zero at the beginning; may be NULL. 0 or -1 with err. */
	int (*init)(void *state, struct reel_error *err);
	/* The next @n events. 0 or -1 with err. */
	int (*feed)(void *state, const struct metric_event *ev, uint32_t n,
		    struct reel_error *err);
	int (*span)(void *state, const struct reel_span_event *sp,
		    struct reel_error *err); /* may be NULL */
	int (*finish)(void *state, struct reel_store *st,
		      struct reel_error *err);
	/* Frees what the state holds, also after init() has failed; may be
	 * NULL. */
	void (*fini)(void *state);
};

/* Ended by NULL; metric_table.c. */
extern const struct reel_metric *const reel_metrics[];

/* Gives a fresh state for reel_metric_free(); NULL with @err. */
void *reel_metric_new(const struct reel_metric *m, struct reel_error *err);
void reel_metric_free(const struct reel_metric *m, void *state);

#endif

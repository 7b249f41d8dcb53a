/* SPDX-License-Identifier: MIT */
/*
 * The table of metrics: a new one is a file and a row here. The order is that
 * of their schemas in a store; views may use tables of any metric.
 */
#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/metric/metric.h"

#define METRICS(ROW)                                                           \
	ROW(rollup)                                                            \
	ROW(file)                                                              \
	ROW(transfer_size)                                                     \
	ROW(sequence)                                                          \
	ROW(io_time)                                                           \
	ROW(bandwidth)                                                         \
	ROW(timeline)                                                          \
	ROW(overlap)                                                           \
	ROW(similarity)                                                        \
	ROW(error)                                                             \
	ROW(callsite)                                                          \
	ROW(mapped)                                                            \
	ROW(storage)                                                           \
	ROW(phase)                                                             \
	ROW(distribution)

#define DECLARE(name) extern const struct reel_metric reel_metric_##name;
METRICS(DECLARE)

#define ADDRESS(name) &reel_metric_##name,
const struct reel_metric *const reel_metrics[] = {METRICS(ADDRESS) NULL};

void *reel_metric_new(const struct reel_metric *m, struct reel_error *err)
{
	void *state = reel_alloc(1, m->state_bytes, err);

	if (state && m->init && m->init(state, err)) {
		reel_metric_free(m, state);
		return NULL;
	}
	return state;
}

void reel_metric_free(const struct reel_metric *m, void *state)
{
	if (state && m->fini)
		m->fini(state);
	free(state);
}

/* SPDX-License-Identifier: MIT */
/*
 * The table of metrics: a new one is a file and a row.
 *
 * Their order is that of their schemas; views may name tables of any of them.
 */
#include "analyzer/metric/table.h"

#include <stdlib.h>

#include "lib/error.h"

const struct reel_metric *const reel_metrics[] = {
	&reel_metric_rollup,	    &reel_metric_file,
	&reel_metric_transfer_size, &reel_metric_sequence,
	&reel_metric_io_time,	    &reel_metric_bandwidth,
	&reel_metric_timeline,	    &reel_metric_overlap,
	&reel_metric_similarity,    &reel_metric_error,
	&reel_metric_callsite,	    &reel_metric_mapped,
	&reel_metric_storage,	    NULL,
};

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

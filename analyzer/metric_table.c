/* SPDX-License-Identifier: MIT */
/*
 * The table of metrics: a new one is a file and a row.
 *
 * Their order is that of their schemas; views may name tables of any of them.
 */
#include "analyzer/metric.h"
#include "analyzer/metric_table.h"

const struct reel_metric *const reel_metrics[] = {
	&reel_metric_rollup,
	&reel_metric_file,
	&reel_metric_transfer_size,
	&reel_metric_sequence,
	&reel_metric_io_time,
	&reel_metric_bandwidth,
	&reel_metric_timeline,
	&reel_metric_overlap,
	&reel_metric_similarity,
	&reel_metric_error,
	&reel_metric_site,
	&reel_metric_mapped,
	NULL,
};

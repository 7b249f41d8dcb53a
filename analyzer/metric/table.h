/* SPDX-License-Identifier: MIT */
/* Every metric, each defined in the file of its name. */
#ifndef ANALYZER_METRIC_TABLE_H
#define ANALYZER_METRIC_TABLE_H

#include "analyzer/metric/metric.h"

extern const struct reel_metric reel_metric_rollup;
extern const struct reel_metric reel_metric_file;
extern const struct reel_metric reel_metric_transfer_size;
extern const struct reel_metric reel_metric_sequence;
extern const struct reel_metric reel_metric_io_time;
extern const struct reel_metric reel_metric_bandwidth;
extern const struct reel_metric reel_metric_timeline;
extern const struct reel_metric reel_metric_overlap;
extern const struct reel_metric reel_metric_similarity;
extern const struct reel_metric reel_metric_error;
extern const struct reel_metric reel_metric_callsite;
extern const struct reel_metric reel_metric_mapped;
extern const struct reel_metric reel_metric_storage;

#endif

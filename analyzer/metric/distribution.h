/* SPDX-License-Identifier: MIT */
/* The table distribution: histograms that "ioreel compare" reads. */
#ifndef ANALYZER_METRIC_DISTRIBUTION_H
#define ANALYZER_METRIC_DISTRIBUTION_H

#include <stdbool.h>

struct reel_error;
struct reel_histogram;
struct reel_insert;
struct reel_store;

/* Open the table for the rows of reel_distribution_write(). 0 or -1. */
int reel_distribution_open(struct reel_insert *out, struct reel_store *st,
			   struct reel_error *err);
/*
 * Write the buckets of @h as rows of @quantity ("size") and @op ("read").
 * @negative: the values are those of @h with a minus. 0, or -1 with @err:
 * REEL_E_DB. Source: schemas/metric_distribution.sql.
 */
int reel_distribution_write(struct reel_insert *out, const char *quantity,
			    const char *op, const struct reel_histogram *h,
			    bool negative, struct reel_error *err);

#endif

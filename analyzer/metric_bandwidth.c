/* SPDX-License-Identifier: MIT */
/*
 * Bandwidth of single calls: bytes over duration of each read and write.
 *
 * What a job gets while it is busy, and over its time, is in the view: it
 * divides bytes by the unions of metric_io_time.
 */
#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/histogram.h"
#include "analyzer/metric.h"
#include "analyzer/metric_op.h"
#include "analyzer/metric_row.h"

static const char schema[] =
#include "schemas/metric_bandwidth.sql.inc"
	;

struct bandwidth {
	struct reel_histogram *rate[2]; /* bytes per s, METRIC_READ, _WRITE */
};

static void bandwidth_fini(void *state)
{
	struct bandwidth *b = state;

	if (!b)
		return;
	free(b->rate[METRIC_READ]);
	free(b->rate[METRIC_WRITE]);
	free(b);
}

static int bandwidth_init(void **state, struct reel_error *err)
{
	struct bandwidth *b = reel_alloc(1, sizeof(*b), err);

	if (!b)
		return -1;
	b->rate[METRIC_READ] = reel_histogram_new(err);
	b->rate[METRIC_WRITE] = reel_histogram_new(err);
	if (!b->rate[METRIC_READ] || !b->rate[METRIC_WRITE]) {
		bandwidth_fini(b);
		return -1;
	}
	*state = b;
	return 0;
}

static int bandwidth_feed(void *state, const struct reel_event *ev,
			  struct reel_error *err)
{
	struct bandwidth *b = state;
	enum metric_op op = metric_op(ev);
	int64_t bytes = metric_bytes(ev), dur_ns = metric_dur(ev);
	double rate;

	/* What a stream wrote by itself has no time, and so no rate. */
	if (!bytes || !dur_ns || (op != METRIC_READ && op != METRIC_WRITE))
		return 0;
	rate = (double)bytes * 1e9 / (double)dur_ns;
	reel_histogram_add(b->rate[op],
			   rate < 0x1p62 ? (int64_t)rate : INT64_MAX / 2,
			   metric_calls(ev));
	return 0;
}

static int write_rate(struct metric_row *out, const char *op,
		      const struct reel_histogram *h, struct reel_error *err)
{
	static const double percent[] = {5, 25, 50, 75, 95};
	size_t i;

	metric_row_text(out, op);
	metric_row_int(out, (int64_t)h->n);
	metric_row_stat(out, h->n ? (double)h->min : -1);
	metric_row_stat(out, h->n ? (double)h->max : -1);
	metric_row_stat(out, reel_histogram_mean(h));
	for (i = 0; i < sizeof(percent) / sizeof(percent[0]); i++)
		metric_row_stat(out, reel_histogram_percentile(h, percent[i]));
	return metric_row_done(out, err);
}

static int bandwidth_finish(void *state, struct reel_store *st,
			    struct reel_error *err)
{
	struct bandwidth *b = state;
	struct metric_row out;
	int rc = metric_row_open(&out, st,
				 "INSERT INTO call_bandwidth VALUES "
				 "(?,?,?,?,?,?,?,?,?,?)",
				 err);

	if (!rc)
		rc = write_rate(&out, "read", b->rate[METRIC_READ], err);
	if (!rc)
		rc = write_rate(&out, "write", b->rate[METRIC_WRITE], err);
	if (!rc) {
		reel_histogram_merge(b->rate[METRIC_READ],
				     b->rate[METRIC_WRITE]);
		rc = write_rate(&out, "all", b->rate[METRIC_READ], err);
	}
	return metric_row_close(&out, rc, err);
}

const struct reel_metric reel_metric_bandwidth = {
	.name = "bandwidth",
	.schema = schema,
	.init = bandwidth_init,
	.feed = bandwidth_feed,
	.finish = bandwidth_finish,
	.fini = bandwidth_fini,
};

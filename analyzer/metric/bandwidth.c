/* SPDX-License-Identifier: MIT */
/*
 * Bandwidth of single calls: bytes per duration of each read and write.
 *
 * The bandwidth of the job, over its busy time and its run time, is in the
 * view: bytes divided by the unions of io_time.c.
 */
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/histogram.h"
#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_bandwidth.sql.inc"
	;

struct bandwidth {
	struct reel_histogram rate[2]; /* bytes per s, METRIC_READ, _WRITE */
};

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct bandwidth *b = state;
	enum metric_op op = ev->op;
	double bytes_e9 = (double)ev->bytes * 1e9;

	(void)err;
	if (!ev->bytes || (op != METRIC_READ && op != METRIC_WRITE))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		int64_t dur_ns = ev[i].dur_ns;
		double rate;

		/* Data flushed by a stream itself has no duration, so no
		 * bandwidth. */
		if (!dur_ns)
			continue;
		rate = bytes_e9 / (double)dur_ns;
		reel_histogram_add(&b->rate[op],
				   rate < 0x1p62 ? (int64_t)rate
						 : INT64_MAX / 2,
				   ev->calls);
	}
	return 0;
}

METRIC_FEED_RUNS(bandwidth_feed)

static int write_rate(struct reel_insert *out, const char *op,
		      const struct reel_histogram *h, struct reel_error *err)
{
	static const unsigned int percent[] = {5, 25, 50, 75, 95};
	size_t i;

	reel_insert_text(out, op);
	reel_insert_int(out, (int64_t)h->n);
	reel_insert_stat(out, h->n ? (double)reel_histogram_min(h) : -1);
	reel_insert_stat(out, h->n ? (double)h->max : -1);
	reel_insert_stat(out, reel_histogram_mean(h));
	for (i = 0; i < sizeof(percent) / sizeof(percent[0]); i++)
		reel_insert_stat(out, reel_histogram_percentile(h, percent[i]));
	return reel_insert_done(out, err);
}

static int bandwidth_finish(void *state, struct reel_store *st,
			    struct reel_error *err)
{
	struct bandwidth *b = state;
	struct reel_insert out;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO call_bandwidth VALUES "
				  "(?,?,?,?,?,?,?,?,?,?)",
				  err);

	if (!rc)
		rc = write_rate(&out, "read", &b->rate[METRIC_READ], err);
	if (!rc)
		rc = write_rate(&out, "write", &b->rate[METRIC_WRITE], err);
	if (!rc) {
		reel_histogram_merge(&b->rate[METRIC_READ],
				     &b->rate[METRIC_WRITE]);
		rc = write_rate(&out, "all", &b->rate[METRIC_READ], err);
	}
	return reel_insert_close(&out, rc);
}

const struct reel_metric reel_metric_bandwidth = {
	.name = "bandwidth",
	.schema = schema,
	.state_bytes = sizeof(struct bandwidth),
	.of_calls = true,
	.feed = bandwidth_feed,
	.finish = bandwidth_finish,
};

/* SPDX-License-Identifier: MIT */
/*
 * Distributions for the comparison of runs. Sizes come from transfer_size.c,
 * strides from sequence.c; the times between the calls of a thread are measured
 * here.
 */
#include "analyzer/metric/distribution.h"

#include <stdlib.h>

#include "lib/array.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/histogram.h"
#include "analyzer/metric/issue_order.h"
#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_distribution.sql.inc"
	;

struct arrivals {
	int64_t *start_ns; /* of the last call, plus 1, by thread_id; 0: none */
	uint32_t room;
	struct reel_issue_order order; /* asynchronous operations end in any */
	struct reel_histogram between;
};

/* Calls of an access, in place of their number. */
enum {
	SAME_CALL = 0,	       /* the other side of the call before */
	NO_START = UINT32_MAX, /* calls whose starts are not recorded */
};

static reel_access_fn count_arrival;

static int arrivals_init(void *state, struct reel_error *err)
{
	struct arrivals *a = state;

	a->order.fn = count_arrival;
	a->order.ctx = a;
	return 0;
}

int reel_distribution_open(struct reel_insert *out, struct reel_store *st,
			   struct reel_error *err)
{
	return reel_insert_open(
		out, st, "INSERT INTO distribution VALUES (?,?,?,?,?)", err);
}

/* The first bucket of the coarser bucket that @i belongs to: 32 in a power of
 * two in place of 128. */
static uint32_t coarse(uint32_t i)
{
	return i < 64 ? i : i < 128 ? i & ~1u : i & ~3u;
}

static int write_bucket(struct reel_insert *out, const char *quantity,
			const char *op, uint32_t first, bool negative,
			const struct reel_bucket *sum, struct reel_error *err)
{
	int64_t low = reel_bucket_low(first);
	double mean = (double)low + (double)sum->above / (double)sum->n;

	reel_insert_text(out, quantity);
	reel_insert_text(out, op);
	reel_insert_int(out, negative ? -low : low);
	reel_insert_int(out, (int64_t)sum->n);
	reel_insert_real(out, negative ? -mean : mean);
	return reel_insert_done(out, err);
}

int reel_distribution_write(struct reel_insert *out, const char *quantity,
			    const char *op, const struct reel_histogram *h,
			    bool negative, struct reel_error *err)
{
	uint32_t i = 0;

	while (h->n && i < REEL_HISTOGRAM_BUCKETS) {
		uint32_t first = coarse(i);
		struct reel_bucket sum = {0};

		for (; i < REEL_HISTOGRAM_BUCKETS && coarse(i) == first; i++) {
			const struct reel_bucket *b = &h->bucket[i];
			int64_t up =
				reel_bucket_low(i) - reel_bucket_low(first);

			sum.n += b->n;
			sum.above += b->above + b->n * (uint64_t)up;
		}
		if (sum.n &&
		    write_bucket(out, quantity, op, first, negative, &sum, err))
			return -1;
	}
	return 0;
}

/* The last start of @thread, plus 1; NULL with @err. */
static inline int64_t *last_start(struct arrivals *a, uint32_t thread,
				  struct reel_error *err)
{
	return reel_array_reach(&a->start_ns, &a->room, thread,
				sizeof(*a->start_ns), err)
		       ? NULL
		       : &a->start_ns[thread];
}

/* @last: last_start() of the thread. */
static inline void count_start(struct arrivals *a, int64_t *last,
			       int64_t start_ns, uint32_t calls)
{
	start_ns++;
	if (calls == SAME_CALL)
		return;
	if (calls > 1) {
		*last = 0;
		return;
	}
	/* Later calls may have passed before the first asynchronous one. */
	if (start_ns < *last)
		return;
	if (*last)
		reel_histogram_add(&a->between, start_ns - *last, 1);
	*last = start_ns;
}

static int count_arrival(void *state, const struct reel_access *call,
			 struct reel_error *err)
{
	int64_t *last = last_start(state, call->thread, err);

	if (!last)
		return -1;
	count_start(state, last, call->issued_ns, call->calls);
	return 0;
}

/* Calls on a stream that are not recorded have the time of the next record. */
static inline bool has_start(const struct reel_event *ev)
{
	return !ev->counted && ev->call != REEL_CALL_STDIO_READ &&
	       ev->call != REEL_CALL_STDIO_WRITE;
}

static inline uint32_t calls_of(const struct metric_event *ev)
{
	if (!has_start(&ev->raw))
		return NO_START;
	return ev->again && ev->calls == 1 ? SAME_CALL : ev->calls;
}

/* Starts whose order another one may change are held back. */
static int hold_starts(struct arrivals *a, const struct metric_event *ev,
		       uint32_t n, struct reel_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		struct reel_access call = {
			.issued_ns = ev[i].start_ns,
			.thread = ev->raw.thread,
			.calls = calls_of(ev),
			.async = ev->raw.layer == REEL_LAYER_ASYNC,
		};

		if (reel_issue_order_add(&a->order, &call, err))
			return -1;
	}
	return 0;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct arrivals *a = state;
	bool async = ev->raw.layer == REEL_LAYER_ASYNC;
	uint32_t calls = calls_of(ev);
	int64_t *last;

	if (ev->op >= METRIC_OPS)
		return 0;
	if (!reel_issue_order_is_next(&a->order, async))
		return hold_starts(a, ev, n, err);
	last = last_start(a, ev->raw.thread, err);
	if (!last)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		count_start(a, last, ev[i].start_ns, calls);
	return 0;
}

METRIC_FEED_RUNS(arrivals_feed)

static int arrivals_finish(void *state, struct reel_store *st,
			   struct reel_error *err)
{
	struct arrivals *a = state;
	struct reel_insert out;
	int rc;

	if (reel_issue_order_flush(&a->order, err))
		return -1;
	rc = reel_distribution_open(&out, st, err);
	if (!rc)
		rc = reel_distribution_write(&out, "inter_arrival", "io",
					     &a->between, false, err);
	return reel_insert_close(&out, rc);
}

static void arrivals_fini(void *state)
{
	struct arrivals *a = state;

	reel_issue_order_fini(&a->order);
	free(a->start_ns);
}

const struct reel_metric reel_metric_distribution = {
	.name = "distribution",
	.schema = schema,
	.state_bytes = sizeof(struct arrivals),
	.init = arrivals_init,
	.feed = arrivals_feed,
	.finish = arrivals_finish,
	.fini = arrivals_fini,
};

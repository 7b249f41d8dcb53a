/* SPDX-License-Identifier: MIT */
/*
 * I/O time of the job: the union of the times of reads, writes, metadata calls,
 * and of all of them, over all processes.
 *
 * overlap.c writes the rows of single processes, because it keeps their unions
 * anyway.
 */
#include <stdlib.h>

#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/interval_union.h"
#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_io_time.sql.inc"
	;

/* Exact for a call that ends after up to half as many others; a later one may
 * lose a small part. */
#define HELD 65536u

/* Reads, writes, metadata calls; and all of them. */
#define SETS (METRIC_OPS + 1)
#define SET_IO METRIC_OPS

static const char *const set_name[SETS] = {"read", "write", "meta", "io"};

struct set {
	struct reel_union u;
	uint64_t calls, sum_ns;
	int64_t first_ns, last_ns;
};

struct times {
	struct set set[SETS]; /* SET_IO has only the union until sum_sets() */
	uint64_t again_ns;    /* of write sides of copies */
};

static int io_time_init(void *state, struct reel_error *err)
{
	struct times *t = state;
	int i;

	for (i = 0; i < SETS; i++) {
		t->set[i].u.limit = HELD;
		t->set[i].u.keep_gaps = true;
		t->set[i].first_ns = INT64_MAX;
	}
	return 0;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct times *t = state;
	struct set *set;
	uint32_t i;

	if (ev->op >= METRIC_OPS)
		return 0;
	set = &t->set[ev->op];
	set->calls += (uint64_t)n * ev->calls;
	set->sum_ns += metric_run_dur_ns(ev, n);
	if (ev->again)
		t->again_ns += metric_run_dur_ns(ev, n);
	for (i = 0; i < n; i++) {
		struct reel_interval iv = {ev[i].start_ns, metric_end(&ev[i]),
					   0, 0};

		if (iv.start_ns < set->first_ns)
			set->first_ns = iv.start_ns;
		if (iv.end_ns > set->last_ns)
			set->last_ns = iv.end_ns;
		if (reel_union_add(&set->u, &iv, err) ||
		    reel_union_add(&t->set[SET_IO].u, &iv, err))
			return -1;
	}
	return 0;
}

METRIC_FEED_RUNS(io_time_feed)

static void sum_sets(struct times *t)
{
	struct set *all = &t->set[SET_IO];
	int i;

	for (i = 0; i < METRIC_OPS; i++) {
		const struct set *set = &t->set[i];

		all->calls += set->calls;
		all->sum_ns += set->sum_ns;
		if (set->first_ns < all->first_ns)
			all->first_ns = set->first_ns;
		if (set->last_ns > all->last_ns)
			all->last_ns = set->last_ns;
	}
	all->sum_ns -= t->again_ns;
}

static int io_time_finish(void *state, struct reel_store *st,
			  struct reel_error *err)
{
	struct times *t = state;
	struct reel_insert out;
	int i, rc = reel_insert_open(&out, st,
				     "INSERT INTO io_time VALUES "
				     "(?,?,?,?,?,?,?,?,?)",
				     err);

	sum_sets(t);
	for (i = 0; !rc && i < SETS; i++) {
		const struct set *set = &t->set[i];

		if (!set->calls)
			continue;
		reel_insert_null(&out);
		reel_insert_text(&out, set_name[i]);
		reel_insert_int(&out, (int64_t)set->calls);
		reel_insert_int(&out, reel_union_ns(&set->u));
		reel_insert_int(&out, (int64_t)set->sum_ns);
		reel_insert_int(&out, set->first_ns);
		reel_insert_int(&out, set->last_ns);
		reel_insert_int(&out, (int64_t)set->u.clipped);
		reel_insert_int(&out, set->u.clipped_ns);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void io_time_fini(void *state)
{
	struct times *t = state;
	int i;

	for (i = 0; i < SETS; i++)
		reel_union_fini(&t->set[i].u);
}

const struct reel_metric reel_metric_io_time = {
	.name = "io_time",
	.schema = schema,
	.state_bytes = sizeof(struct times),
	.init = io_time_init,
	.feed = io_time_feed,
	.finish = io_time_finish,
	.fini = io_time_fini,
};

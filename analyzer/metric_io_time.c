/* SPDX-License-Identifier: MIT */
/*
 * I/O time of the job: the union of the times in which reads, writes,
 * metadata calls, or any of them were running, over all processes.
 *
 * The rows of single processes come from metric_overlap, which keeps their
 * unions anyway.
 */
#include <stdlib.h>

#include "analyzer/insert.h"
#include "analyzer/interval.h"
#include "analyzer/metric.h"
#include "analyzer/metric_op.h"

static const char schema[] =
#include "schemas/metric_io_time.sql.inc"
	;

#define HELD 65536u /* a call may end behind so many others, at least half */

enum set { SET_READ, SET_WRITE, SET_META, SET_IO, SETS };

static const char *const set_name[SETS] = {"read", "write", "meta", "io"};

struct times {
	struct reel_union u[SETS];
	uint64_t calls[SETS], sum_ns[SETS];
	int64_t first_ns[SETS], last_ns[SETS];
};

static int io_time_init(void *state, struct reel_error *err)
{
	struct times *t = state;
	int i;

	for (i = 0; i < SETS; i++)
		t->u[i].most = HELD;
	return 0;
}

static int add_to_set(struct times *t, enum set set,
		      const struct metric_event *ev, struct reel_error *err)
{
	struct reel_interval iv = {ev->start_ns, ev->end_ns, 0, 0};

	if (!t->calls[set] || iv.start_ns < t->first_ns[set])
		t->first_ns[set] = iv.start_ns;
	if (!t->calls[set] || iv.end_ns > t->last_ns[set])
		t->last_ns[set] = iv.end_ns;
	t->calls[set] += ev->calls;
	t->sum_ns[set] += (uint64_t)ev->dur_ns;
	return reel_union_add(&t->u[set], &iv, err);
}

static int add_event(void *state, const struct metric_event *ev,
		     struct reel_error *err)
{
	static const enum set set_of[METRIC_OPS] = {SET_READ, SET_WRITE,
						    SET_META};
	enum metric_op op = ev->op;

	if (op >= METRIC_OPS)
		return 0;
	if (add_to_set(state, set_of[op], ev, err))
		return -1;
	return add_to_set(state, SET_IO, ev, err);
}

static int io_time_feed(void *state, const struct metric_event *ev, uint32_t n,
			struct reel_error *err)
{
	for (uint32_t i = 0; i < n; i++)
		if (add_event(state, &ev[i], err))
			return -1;
	return 0;
}

static int io_time_finish(void *state, struct reel_store *st,
			  struct reel_error *err)
{
	const struct times *t = state;
	struct reel_insert out;
	int i, rc = reel_insert_open(&out, st,
				     "INSERT INTO io_time VALUES "
				     "(?,?,?,?,?,?,?,?)",
				     err);

	for (i = 0; !rc && i < SETS; i++) {
		if (!t->calls[i])
			continue;
		reel_insert_null(&out);
		reel_insert_text(&out, set_name[i]);
		reel_insert_int(&out, (int64_t)t->calls[i]);
		reel_insert_int(&out, reel_union_ns(&t->u[i]));
		reel_insert_int(&out, (int64_t)t->sum_ns[i]);
		reel_insert_int(&out, t->first_ns[i]);
		reel_insert_int(&out, t->last_ns[i]);
		reel_insert_int(&out, (int64_t)t->u[i].clipped);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void io_time_fini(void *state)
{
	struct times *t = state;
	int i;

	for (i = 0; i < SETS; i++)
		reel_union_fini(&t->u[i]);
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

/* SPDX-License-Identifier: MIT */
/*
 * Failed calls, by call and errno: many ENOENT are a search path, many EAGAIN a
 * polling loop.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/intmap.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_error.sql.inc"
	;

struct failure {
	uint32_t call, message;
	int32_t number;
	uint64_t calls, dur_ns;
};

struct errors {
	struct reel_intmap map;
	struct failure *failure;
	uint32_t room;
};

static int add_event(void *state, const struct metric_event *ev,
		     struct reel_error *err)
{
	struct errors *e = state;
	enum metric_op op = ev->op;
	uint32_t message = op == METRIC_MESSAGE, i;
	struct failure *f;

	if (!metric_failed(&ev->raw) || op == METRIC_IGNORE)
		return 0;
	i = reel_intmap_get(&e->map,
			    (uint64_t)(uint32_t)ev->raw.err << 32 |
				    (uint64_t)message << 16 | ev->raw.call,
			    err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&e->failure, &e->room, i, sizeof(*f), err))
		return -1;
	f = &e->failure[i];
	f->call = ev->raw.call;
	f->message = message;
	f->number = ev->raw.err;
	f->calls += ev->calls;
	f->dur_ns += (uint64_t)ev->dur_ns;
	return 0;
}

METRIC_FEED(error_feed)

static int error_finish(void *state, struct reel_store *st,
			struct reel_error *err)
{
	struct errors *e = state;
	struct reel_insert out;
	uint32_t i;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO error VALUES (?,?,?,?,?)", err);

	for (i = 0; !rc && i < e->map.used; i++) {
		const struct failure *f = &e->failure[i];

		reel_insert_int(&out, f->call);
		reel_insert_int(&out, f->number);
		reel_insert_int(&out, f->message);
		reel_insert_int(&out, (int64_t)f->calls);
		reel_insert_int(&out, (int64_t)f->dur_ns);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void error_fini(void *state)
{
	struct errors *e = state;

	reel_intmap_fini(&e->map);
	free(e->failure);
}

const struct reel_metric reel_metric_error = {
	.name = "error",
	.schema = schema,
	.state_bytes = sizeof(struct errors),
	.needs = METRIC_RARE_ERROR,
	.feed = error_feed,
	.finish = error_finish,
	.fini = error_fini,
};

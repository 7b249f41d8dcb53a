/* SPDX-License-Identifier: MIT */
/*
 * I/O by call site, for calls whose site was recorded ("record --stacks"). The
 * resolver provides the sites.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/intmap.h"
#include "lib/store/event_op.h"
#include "lib/store/file_class.h"
#include "lib/store/insert.h"

#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_callsite.sql.inc"
	;

struct site_sum {
	uint32_t site, call, file_class;
	uint64_t calls, read_bytes, write_bytes, dur_ns;
};

struct sites_sum {
	struct reel_intmap map;
	struct site_sum *sum;
	uint32_t room;
};

static int add_event(void *state, const struct metric_event *ev,
		     struct reel_error *err)
{
	struct sites_sum *s = state;
	enum metric_op op = ev->op;
	/* Calls without a file count as data. */
	uint32_t class_ = ev->raw.class_ == REEL_CLASS_NONE ? REEL_CLASS_DATA
							    : ev->raw.class_;
	struct site_sum *sum;
	uint32_t i;

	if (!ev->raw.site || op == METRIC_IGNORE)
		return 0;
	i = reel_intmap_get(&s->map,
			    (uint64_t)ev->raw.site << 32 | class_ << 16 |
				    ev->raw.call,
			    err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&s->sum, &s->room, i, sizeof(*sum), err))
		return -1;
	sum = &s->sum[i];
	sum->site = ev->raw.site;
	sum->call = ev->raw.call;
	sum->file_class = class_;
	sum->calls += ev->calls;
	if (ev->raw.group == REEL_GROUP_READ)
		sum->read_bytes += (uint64_t)ev->bytes;
	else
		sum->write_bytes += (uint64_t)ev->bytes;
	sum->dur_ns += (uint64_t)ev->dur_ns;
	return 0;
}

METRIC_FEED(site_feed)

static int site_finish(void *state, struct reel_store *st,
		       struct reel_error *err)
{
	struct sites_sum *s = state;
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO site_io VALUES (?,?,?,?,?,?,?)", err);

	for (uint32_t i = 0; !rc && i < s->map.used; i++) {
		const struct site_sum *sum = &s->sum[i];

		reel_insert_int(&out, sum->site);
		reel_insert_int(&out, sum->call);
		reel_insert_text(&out, reel_class_name(sum->file_class));
		reel_insert_int(&out, (int64_t)sum->calls);
		reel_insert_int(&out, (int64_t)sum->read_bytes);
		reel_insert_int(&out, (int64_t)sum->write_bytes);
		reel_insert_int(&out, (int64_t)sum->dur_ns);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void site_fini(void *state)
{
	struct sites_sum *s = state;

	reel_intmap_fini(&s->map);
	free(s->sum);
}

const struct reel_metric reel_metric_callsite = {
	.name = "callsite",
	.schema = schema,
	.state_bytes = sizeof(struct sites_sum),
	.needs = METRIC_RARE_SITE,
	.feed = site_feed,
	.finish = site_finish,
	.fini = site_fini,
};

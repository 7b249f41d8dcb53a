/* SPDX-License-Identifier: MIT */
/*
 * What was done from where in the program, over the calls whose site was
 * recorded ("record --stacks"). Sites themselves come from the resolver.
 */
#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/file_class.h"
#include "analyzer/idmap.h"
#include "analyzer/metric.h"
#include "analyzer/metric_op.h"
#include "analyzer/metric_row.h"
#include "analyzer/metric_table.h"

static const char schema[] =
#include "schemas/metric_site.sql.inc"
	;

struct site_sum {
	uint32_t site, call, file_class;
	uint64_t calls, read_bytes, write_bytes, dur_ns;
};

struct sites_sum {
	struct reel_idmap map;
	struct site_sum *sum;
	uint32_t room;
};

static int site_init(void **state, struct reel_error *err)
{
	*state = reel_alloc(1, sizeof(struct sites_sum), err);
	return *state ? 0 : -1;
}

static int site_feed(void *state, const struct reel_event *ev,
		     struct reel_error *err)
{
	struct sites_sum *s = state;
	enum metric_op op = metric_op(ev);
	/* What has no file goes by the name of data, too. */
	uint32_t class_ = ev->class_ == REEL_CLASS_NONE ? REEL_CLASS_DATA :
							  ev->class_;
	struct site_sum *sum;
	uint32_t i;

	if (!ev->site || op == METRIC_NOTHING)
		return 0;
	i = reel_idmap_get(&s->map,
			   (uint64_t)ev->site << 32 | class_ << 16 | ev->call,
			   err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&s->sum, &s->room, i, sizeof(*sum), err))
		return -1;
	sum = &s->sum[i];
	sum->site = ev->site;
	sum->call = ev->call;
	sum->file_class = class_;
	sum->calls += metric_calls(ev);
	if (ev->group == REEL_GROUP_READ)
		sum->read_bytes += (uint64_t)metric_bytes(ev);
	else
		sum->write_bytes += (uint64_t)metric_bytes(ev);
	sum->dur_ns += (uint64_t)metric_dur(ev);
	return 0;
}

static int site_finish(void *state, struct reel_store *st,
		       struct reel_error *err)
{
	struct sites_sum *s = state;
	struct metric_row out;
	int rc = metric_row_open(
		&out, st, "INSERT INTO site_io VALUES (?,?,?,?,?,?,?)", err);

	for (uint32_t i = 0; !rc && i < s->map.used; i++) {
		const struct site_sum *sum = &s->sum[i];

		metric_row_int(&out, sum->site);
		metric_row_int(&out, sum->call);
		metric_row_text(&out, reel_class_name(sum->file_class));
		metric_row_int(&out, (int64_t)sum->calls);
		metric_row_int(&out, (int64_t)sum->read_bytes);
		metric_row_int(&out, (int64_t)sum->write_bytes);
		metric_row_int(&out, (int64_t)sum->dur_ns);
		rc = metric_row_done(&out, err);
	}
	return metric_row_close(&out, rc, err);
}

static void site_fini(void *state)
{
	struct sites_sum *s = state;

	if (!s)
		return;
	reel_idmap_fini(&s->map);
	free(s->sum);
	free(s);
}

const struct reel_metric reel_metric_site = {
	.name = "site",
	.schema = schema,
	.init = site_init,
	.feed = site_feed,
	.finish = site_finish,
	.fini = site_fini,
};

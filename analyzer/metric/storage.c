/* SPDX-License-Identifier: MIT */
/*
 * Reads that fetched from storage, by file. The bytes are arg2 of their records
 * (trace_format.h, FETCHED).
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_storage.sql.inc"
	;

struct fetched {
	uint64_t reads, read_bytes, bytes, dur_ns, waits, wait_ns;
};

struct storage {
	struct fetched *file;
	uint32_t room;
};

static int add_event(void *state, const struct metric_event *ev,
		     struct reel_error *err)
{
	struct storage *s = state;
	struct fetched *f;

	if (!ev->storage)
		return 0;
	if (reel_array_reach(&s->file, &s->room, ev->raw.file, sizeof(*f), err))
		return -1;
	f = &s->file[ev->raw.file];
	if (ev->storage == METRIC_WAITED) {
		f->waits++;
		f->wait_ns += (uint64_t)ev->dur_ns;
		return 0;
	}
	f->reads += ev->calls;
	f->read_bytes += (uint64_t)ev->bytes;
	f->bytes += metric_fetched_bytes(&ev->raw);
	f->dur_ns += (uint64_t)ev->dur_ns;
	return 0;
}

METRIC_FEED(storage_feed)

static int storage_finish(void *state, struct reel_store *st,
			  struct reel_error *err)
{
	struct storage *s = state;
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO storage VALUES (?,?,?,?,?,?,?)", err);

	for (uint32_t i = 0; !rc && i < s->room; i++) {
		const struct fetched *f = &s->file[i];

		if (!f->reads && !f->waits)
			continue;
		reel_insert_int(&out, i);
		reel_insert_int(&out, (int64_t)f->reads);
		reel_insert_int(&out, (int64_t)f->read_bytes);
		reel_insert_int(&out, (int64_t)f->bytes);
		reel_insert_int(&out, (int64_t)f->dur_ns);
		reel_insert_int(&out, (int64_t)f->waits);
		reel_insert_int(&out, (int64_t)f->wait_ns);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void storage_fini(void *state)
{
	struct storage *s = state;

	free(s->file);
}

const struct reel_metric reel_metric_storage = {
	.name = "storage",
	.schema = schema,
	.state_bytes = sizeof(struct storage),
	.needs = METRIC_RARE_STORAGE,
	.feed = storage_feed,
	.finish = storage_finish,
	.fini = storage_fini,
};

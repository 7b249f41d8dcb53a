/* SPDX-License-Identifier: MIT */
/*
 * I/O through mappings: bytes of touched pages, and the length of mappings
 * without this information.
 *
 * A piece of a mapping may be recorded twice, as read and as written; the two
 * records are adjacent in their thread, with one time.
 */
#include <stdlib.h>

#include "lib/array.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_mapped.sql.inc"
	;

struct process {
	uint64_t mappings, length, known, bytes[2], timed;
	/* The last piece. */
	int64_t start_ns, offset;
	uint32_t thread, open;
};

struct mapped {
	struct process *process;
	uint32_t room;
};

static uint64_t length_of(const struct metric_event *ev)
{
	if (ev->raw.asked < 0)
		return 0;
	return (uint64_t)(ev->raw.asked < METRIC_BYTES_MAX ? ev->raw.asked
							   : METRIC_BYTES_MAX);
}

static void add_piece(struct process *p, const struct metric_event *ev)
{
	bool again = p->start_ns == ev->raw.start_ns &&
		     p->offset == ev->raw.offset &&
		     p->thread == ev->raw.thread && p->open == ev->raw.open;

	p->bytes[ev->raw.group == REEL_GROUP_WRITE] += (uint64_t)ev->bytes;
	if (ev->dur_ns) { /* one page fault */
		p->timed += (uint64_t)ev->bytes;
		return;
	}
	if (!again && ev->raw.arg >= 0)
		p->known += length_of(ev);
	p->start_ns = ev->raw.start_ns;
	p->offset = ev->raw.offset;
	p->thread = ev->raw.thread;
	p->open = ev->raw.open;
}

static int add_event(void *state, const struct metric_event *ev,
		     struct reel_error *err)
{
	struct mapped *m = state;
	bool made = ev->raw.call == REEL_CALL_MMAP && !metric_failed(&ev->raw);
	struct process *p;

	if ((!made && ev->op != METRIC_MAPPED) ||
	    ev->raw.kind == REEL_KIND_MEMORY)
		return 0;
	if (reel_array_reach(&m->process, &m->room, ev->raw.process, sizeof(*p),
			     err))
		return -1;
	p = &m->process[ev->raw.process];
	if (made) {
		p->mappings += ev->calls;
		p->length += length_of(ev);
	} else {
		add_piece(p, ev);
	}
	return 0;
}

METRIC_FEED(mapped_feed)

static int mapped_finish(void *state, struct reel_store *st,
			 struct reel_error *err)
{
	struct mapped *m = state;
	struct reel_insert out;
	uint32_t i;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO mapped_io VALUES (?,?,?,?,?,?,?)", err);

	for (i = 0; !rc && i < m->room; i++) {
		const struct process *p = &m->process[i];

		if (!p->mappings && !p->known)
			continue;
		reel_insert_int(&out, i);
		reel_insert_int(&out, (int64_t)p->mappings);
		reel_insert_int(&out, (int64_t)p->length);
		reel_insert_int(&out, (int64_t)p->known);
		reel_insert_int(&out, (int64_t)p->bytes[0]);
		reel_insert_int(&out, (int64_t)p->bytes[1]);
		reel_insert_int(&out, (int64_t)p->timed);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void mapped_fini(void *state)
{
	struct mapped *m = state;

	free(m->process);
}

const struct reel_metric reel_metric_mapped = {
	.name = "mapped",
	.schema = schema,
	.state_bytes = sizeof(struct mapped),
	.needs = METRIC_RARE_MAPPING,
	.feed = mapped_feed,
	.finish = mapped_finish,
	.fini = mapped_fini,
};

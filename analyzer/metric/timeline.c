/* SPDX-License-Identifier: MIT */
/*
 * I/O over time: calls, bytes and time per second and process.
 *
 * The bytes and the time of a call are spread over the seconds that it covers,
 * in proportion, and their sums are exact; the call itself counts in the bin of
 * its end. For many processes or days the bins get wider, so that memory is
 * bounded.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/intmap.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_timeline.sql.inc"
	;

#define FIRST_WIDTH_NS INT64_C(1000000000)
#define BINS_MAX (1u << 18)
#define SPREAD_MAX 65536 /* bins that a call may cover before they widen */
#define WIDEST_NS (METRIC_TIME_MAX * 4)

struct bin {
	uint32_t process;
	uint32_t messages;
	int64_t index; /* time / width */
	uint64_t calls[METRIC_OPS], dur_ns[METRIC_OPS], bytes[2];
};

/* The last bin of a process: nearly always the next one, too. */
struct cursor {
	int64_t from_ns, to_ns; /* 0, 0: none */
	uint32_t bin;
};

struct timeline {
	struct reel_intmap map;
	struct bin *bin;
	uint32_t room;
	int64_t width_ns;
	struct cursor *cursor; /* by process_id */
	uint32_t cursors;
};

static int timeline_init(void *state, struct reel_error *err)
{
	struct timeline *t = state;

	t->width_ns = FIRST_WIDTH_NS;
	return 0;
}

static struct bin *bin_at(struct timeline *t, uint32_t process, int64_t index,
			  struct reel_error *err)
{
	uint32_t i;

	/* Times are below 2^53 ns: an index of seconds fits 24 bits. */
	i = reel_intmap_get(&t->map, (uint64_t)process << 32 | (uint64_t)index,
			    err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&t->bin, &t->room, i, sizeof(*t->bin), err))
		return NULL;
	t->bin[i].process = process;
	t->bin[i].index = index;
	return &t->bin[i];
}

static void add_bin(struct bin *to, const struct bin *from)
{
	int i;

	to->messages += from->messages;
	for (i = 0; i < METRIC_OPS; i++) {
		to->calls[i] += from->calls[i];
		to->dur_ns[i] += from->dur_ns[i];
	}
	to->bytes[0] += from->bytes[0];
	to->bytes[1] += from->bytes[1];
}

/* Double the width of the bins: about half of them remain. */
static int widen_bins(struct timeline *t, struct reel_error *err)
{
	struct timeline wide = {.width_ns = t->width_ns * 2};
	uint32_t i;

	for (i = 0; i < t->map.used; i++) {
		struct bin *to = bin_at(&wide, t->bin[i].process,
					t->bin[i].index / 2, err);

		if (!to) {
			reel_intmap_fini(&wide.map);
			free(wide.bin);
			return -1;
		}
		add_bin(to, &t->bin[i]);
	}
	wide.cursor = t->cursor;
	wide.cursors = t->cursors;
	reel_intmap_fini(&t->map);
	free(t->bin);
	*t = wide;
	if (t->cursors)
		memset(t->cursor, 0, t->cursors * sizeof(*t->cursor));
	return 0;
}

/* The share of @amount up to @at, between @start and @end. */
static uint64_t share_until(uint64_t amount, int64_t start, int64_t end,
			    int64_t at)
{
	return (uint64_t)((unsigned __int128)amount * (uint64_t)(at - start) /
			  (uint64_t)(end - start));
}

static int spread_call(struct timeline *t, enum metric_op op,
		       const struct metric_event *ev, struct reel_error *err)
{
	int64_t start = ev->start_ns, end = metric_end(ev), at = start;
	uint64_t bytes = (uint64_t)ev->bytes, bytes_at = 0;

	while (at < end) {
		int64_t index = at / t->width_ns;
		int64_t to = (index + 1) * t->width_ns;
		struct bin *b = bin_at(t, ev->raw.process, index, err);
		uint64_t bytes_to;

		if (!b)
			return -1;
		to = to < end ? to : end;
		bytes_to = share_until(bytes, start, end, to);
		b->dur_ns[op] += (uint64_t)(to - at);
		if (op != METRIC_META)
			b->bytes[op] += bytes_to - bytes_at;
		bytes_at = bytes_to;
		at = to;
	}
	return 0;
}

static int widen_for_call(struct timeline *t, int64_t dur_ns,
			  struct reel_error *err)
{
	while ((t->map.used > BINS_MAX || dur_ns / t->width_ns > SPREAD_MAX) &&
	       t->width_ns < WIDEST_NS)
		if (widen_bins(t, err))
			return -1;
	return 0;
}

/* The bin in which @ev ends; *@whole: it began there, too. */
static inline struct bin *last_bin(struct timeline *t,
				   const struct metric_event *ev, bool *whole,
				   struct reel_error *err)
{
	int64_t start = ev->start_ns, end = metric_end(ev);
	struct cursor *c;
	struct bin *b;

	if (reel_array_reach(&t->cursor, &t->cursors, ev->raw.process,
			     sizeof(*c), err))
		return NULL;
	c = &t->cursor[ev->raw.process];
	if (end < c->from_ns || end >= c->to_ns) {
		b = bin_at(t, ev->raw.process, end / t->width_ns, err);
		if (!b)
			return NULL;
		c->bin = (uint32_t)(b - t->bin);
		c->from_ns = b->index * t->width_ns;
		c->to_ns = c->from_ns + t->width_ns;
	}
	*whole = start >= c->from_ns;
	return &t->bin[c->bin];
}

static METRIC_INLINE int add_event(struct timeline *t,
				   const struct metric_event *ev,
				   struct reel_error *err)
{
	enum metric_op op = ev->op;
	bool whole = false;
	struct bin *b;

	if (op >= METRIC_OPS && op != METRIC_MESSAGE)
		return 0;
	if ((t->map.used > BINS_MAX || ev->dur_ns > FIRST_WIDTH_NS) &&
	    widen_for_call(t, op == METRIC_MESSAGE ? 0 : ev->dur_ns, err))
		return -1;
	b = last_bin(t, ev, &whole, err);
	if (!b)
		return -1;
	if (op == METRIC_MESSAGE) {
		b->messages += ev->calls;
		return 0;
	}
	b->calls[op] += ev->calls;
	if (!whole)
		return spread_call(t, op, ev, err);
	b->dur_ns[op] += (uint64_t)ev->dur_ns;
	if (op != METRIC_META)
		b->bytes[op] += (uint64_t)ev->bytes;
	return 0;
}

/* Add a run to the last bin of its process; false, unless all of it belongs there. */
static bool add_whole_run(struct timeline *t, const struct metric_event *ev,
			  uint32_t n)
{
	const struct cursor *c = &t->cursor[ev->raw.process];
	uint64_t dur_ns = 0;
	bool whole = t->map.used <= BINS_MAX;
	struct bin *b = &t->bin[c->bin];

	for (uint32_t i = 0; i < n; i++) {
		whole &= ev[i].start_ns >= c->from_ns &&
			 metric_end(&ev[i]) < c->to_ns;
		dur_ns += (uint64_t)ev[i].dur_ns;
	}
	if (!whole)
		return false;
	b->calls[ev->op] += (uint64_t)n * ev->calls;
	b->dur_ns[ev->op] += dur_ns;
	if (ev->op != METRIC_META)
		b->bytes[ev->op] += n * (uint64_t)ev->bytes;
	return true;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct timeline *t = state;

	if (n == 1)
		return add_event(t, ev, err);
	if (ev->op < METRIC_OPS && ev->raw.process < t->cursors &&
	    add_whole_run(t, ev, n))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (add_event(t, &ev[i], err))
			return -1;
	return 0;
}

METRIC_FEED_RUNS(timeline_feed)

static int in_order(const void *a, const void *b)
{
	const struct bin *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static int timeline_finish(void *state, struct reel_store *st,
			   struct reel_error *err)
{
	struct timeline *t = state;
	struct reel_insert out;
	uint32_t i;
	int k, rc = reel_insert_open(&out, st,
				     "INSERT INTO timeline VALUES "
				     "(?,?,?,?,?,?,?,?,?,?,?,?)",
				     err);

	if (t->map.used)
		qsort(t->bin, t->map.used, sizeof(*t->bin), in_order);
	for (i = 0; !rc && i < t->map.used; i++) {
		const struct bin *b = &t->bin[i];

		reel_insert_int(&out, b->index * t->width_ns);
		reel_insert_int(&out, t->width_ns);
		reel_insert_int(&out, b->process);
		for (k = 0; k < METRIC_OPS; k++)
			reel_insert_int(&out, (int64_t)b->calls[k]);
		reel_insert_int(&out, b->messages);
		reel_insert_int(&out, (int64_t)b->bytes[METRIC_READ]);
		reel_insert_int(&out, (int64_t)b->bytes[METRIC_WRITE]);
		for (k = 0; k < METRIC_OPS; k++)
			reel_insert_int(&out, (int64_t)b->dur_ns[k]);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

static void timeline_fini(void *state)
{
	struct timeline *t = state;

	reel_intmap_fini(&t->map);
	free(t->bin);
	free(t->cursor);
}

const struct reel_metric reel_metric_timeline = {
	.name = "timeline",
	.schema = schema,
	.state_bytes = sizeof(struct timeline),
	.init = timeline_init,
	.feed = timeline_feed,
	.finish = timeline_finish,
	.fini = timeline_fini,
};

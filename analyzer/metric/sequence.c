/* SPDX-License-Identifier: MIT */
/*
 * Sequentiality: does an access begin at the end of the previous one?
 *
 * There are two definitions. Ours keeps one position per OFD, shared through
 * dup and fork; the first access is neither sequential nor random, reads at end
 * of file do not count, and asynchronous operations are ordered by submission.
 * Darshan keeps two positions per file and process, resets them to 0 at each
 * open, and counts every call that did not fail, so it counts a first access at
 * offset 0 as neither. Both leave out calls at unknown offsets.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/prefetch.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/distribution.h"
#include "analyzer/metric/histogram.h"
#include "analyzer/metric/issue_order.h"
#include "analyzer/metric/metric.h"

static const char schema[] =
#include "schemas/metric_sequence.sql.inc"
	;

enum { FIRST, CONSECUTIVE, SEQUENTIAL, RANDOM, UNKNOWN, ORDERS };
_Static_assert(RANDOM == SEQUENTIAL + 1, "classify_access() adds");

/*
 * Positions of OFDs, whose ids grow with each open of the job: memory holds the
 * pages used in this generation and in the one before, 64 MiB at most. An OFD
 * without an access while the job used 1024 other pages, about 4 million opens,
 * begins anew.
 */
#define PAGE 4096u /* OFDs in a page of positions */
#define PAGES_MAX 1024u

/* Position + 2 of an OFD; 0: no access yet, 1: unknown. */
struct page {
	uint32_t generation; /* of its last use */
	uint64_t next[PAGE];
};

/*
 * Darshan's last bytes read and written, of a file in a process. An open resets
 * them, so only files in use matter: memory holds two generations of a bounded
 * number of pairs, and a pair that drops out restarts at 0.
 */
#define PAIRS_MAX (1u << 16)

struct pair {
	uint64_t key;	    /* process << 32 | file */
	int64_t last[2][2]; /* of its POSIX module, of the others */
};

struct generation {
	struct reel_intmap map;
	struct pair *pair;
	uint32_t room;
};

struct darshan {
	uint64_t ops, seq, consec;
};

struct counts {
	struct pair *pair; /* of the current file; NULL: look it up */
	uint64_t order[2][ORDERS];
	struct darshan darshan[REEL_LAYERS][2];
};

/* Accesses to a file that are not consecutive: forward, back. */
struct jumps {
	uint32_t n[2];
};

struct sequence {
	struct page **page;
	uint32_t pages;
	uint32_t page_generation, pages_used; /* in that generation */
	struct generation now, before;
	struct counts *process;
	uint32_t process_room;
	struct jumps *file; /* by file_id */
	uint32_t file_room;
	struct reel_issue_order order;
	/* Strides other than 0, forward and back, by operation. */
	struct reel_histogram stride[2][2];
};

static reel_access_fn count_access;

static int sequence_init(void *state, struct reel_error *err)
{
	struct sequence *s = state;

	s->order.fn = count_access;
	s->order.ctx = s;
	s->page_generation = 1; /* a new page has 0 */
	return 0;
}

/* Free the pages that the generation that ends did not use. */
static void begin_generation(struct sequence *s)
{
	for (uint32_t i = 0; i < s->pages; i++) {
		if (!s->page[i] || s->page[i]->generation == s->page_generation)
			continue;
		free(s->page[i]);
		s->page[i] = NULL;
	}
	s->page_generation++;
	s->pages_used = 0;
}

static uint64_t *find_position(struct sequence *s, uint32_t open,
			       struct reel_error *err)
{
	uint32_t p = open / PAGE;

	if (s->pages_used >= PAGES_MAX)
		begin_generation(s);
	if (reel_array_reach(&s->page, &s->pages, p, sizeof(*s->page), err))
		return NULL;
	if (!s->page[p]) {
		s->page[p] = reel_alloc(1, sizeof(struct page), err);
		if (!s->page[p])
			return NULL;
	}
	if (s->page[p]->generation != s->page_generation) {
		s->page[p]->generation = s->page_generation;
		s->pages_used++;
	}
	return &s->page[p]->next[open % PAGE];
}

/* Pairs move: drop the pointers to them. */
static void forget_pairs(struct sequence *s)
{
	uint32_t i;

	for (i = 0; i < s->process_room; i++)
		s->process[i].pair = NULL;
}

static struct pair *find_pair(struct sequence *s, uint64_t key,
			      struct reel_error *err)
{
	struct generation *now = &s->now;
	uint32_t i, old, pairs;

	if (now->map.used >= PAIRS_MAX &&
	    reel_intmap_find(&now->map, key) == REEL_NO_INDEX) {
		struct generation oldest = s->before;

		s->before = s->now;
		s->now = oldest;
		reel_intmap_clear(&now->map);
		forget_pairs(s);
	}
	pairs = now->map.used;
	i = reel_intmap_get(&now->map, key, err);
	if (i == REEL_NO_INDEX)
		return NULL;
	if (i >= now->room)
		forget_pairs(s);
	if (reel_array_reach(&now->pair, &now->room, i, sizeof(*now->pair),
			     err))
		return NULL;
	if (i < pairs)
		return &now->pair[i];
	old = reel_intmap_find(&s->before.map, key);
	if (old != REEL_NO_INDEX)
		now->pair[i] = s->before.pair[old];
	else
		now->pair[i] = (struct pair){.key = key};
	return &now->pair[i];
}

static inline uint64_t pair_key(const struct reel_event *ev)
{
	return (uint64_t)ev->process << 32 | ev->file;
}

static inline struct pair *current_pair(struct sequence *s,
					const struct metric_event *ev,
					struct reel_error *err)
{
	uint64_t key = pair_key(&ev->raw);
	struct counts *c = &s->process[ev->raw.process];
	struct pair *pair = c->pair;

	if (pair && pair->key == key)
		return pair;
	pair = find_pair(s, key, err);
	c->pair = pair;
	return pair;
}

/* Classify an access and set the position after it. */
static int classify_access(uint64_t *next, int64_t offset, int64_t bytes)
{
	uint64_t was = *next;

	if (offset < 0 || offset > METRIC_TIME_MAX) {
		*next = 1;
		return UNKNOWN;
	}
	*next = (uint64_t)offset + (uint64_t)bytes + 2;
	if (was == 0)
		return FIRST;
	if (was == 1)
		return UNKNOWN;
	was -= 2;
	if ((uint64_t)offset == was)
		return CONSECUTIVE;
	/* Random accesses go either way: the sign tells it without a branch. */
	return SEQUENTIAL + (int)(((uint64_t)offset - was) >> 63);
}

/* @end: of the access before, from which this one goes @back or forward. */
static void add_stride(struct sequence *s, bool write, int64_t offset,
		       int64_t end, int back)
{
	int64_t stride = ((offset - end) ^ -back) + back;

	reel_histogram_add(&s->stride[write][back], stride, 1);
}

/* Inlined, as the access of nearly every event is next: its members stay in
 * registers. */
static inline __attribute__((always_inline)) int
count_at(struct sequence *s, struct reel_access a, uint64_t *next,
	 struct reel_error *err)
{
	uint64_t *count = s->process[a.process].order[a.write];
	uint64_t none = 1, was;
	int order, back;

	if (!a.open)
		next = &none;
	was = *next;
	order = classify_access(next, a.offset, a.bytes);
	count[order]++;
	/* One record for several calls: the others are consecutive. */
	count[order == UNKNOWN ? UNKNOWN : CONSECUTIVE] += a.calls - 1;
	if (order != SEQUENTIAL && order != RANDOM)
		return 0;
	back = order - SEQUENTIAL;
	add_stride(s, a.write, a.offset, (int64_t)was - 2, back);
	if (reel_array_reach(&s->file, &s->file_room, a.file, sizeof(*s->file),
			     err))
		return -1;
	s->file[a.file].n[back]++;
	return 0;
}

static int count_access(void *state, const struct reel_access *a,
			struct reel_error *err)
{
	uint64_t *next = find_position(state, a->open, err);

	return next ? count_at(state, *a, next, err) : -1;
}

static METRIC_INLINE int add_accesses(struct sequence *s, enum metric_op op,
				      const struct metric_event *ev, uint32_t n,
				      struct reel_error *err)
{
	bool async = ev->raw.layer == REEL_LAYER_ASYNC;
	bool is_next = reel_issue_order_is_next(&s->order, async);
	struct reel_access a = {
		.bytes = ev->bytes,
		.process = ev->raw.process,
		.file = ev->raw.file,
		.open = ev->raw.open,
		.calls = ev->calls,
		.write = op == METRIC_WRITE,
		.async = async,
	};

	uint64_t *next;
	uint32_t i;

	if (!a.bytes)
		return 0;
	next = find_position(s, a.open, err);
	if (!next)
		return -1;
	for (i = 0; i < n && is_next; i++) {
		a.offset = ev[i].raw.offset;
		if (count_at(s, a, next, err))
			return -1;
	}
	for (; i < n; i++) {
		a.offset = ev[i].raw.offset;
		a.issued_ns = async ? ev[i].start_ns : metric_end(&ev[i]);
		if (reel_issue_order_add(&s->order, &a, err))
			return -1;
	}
	return 0;
}

/* Darshan counts stdio streams in a module of their own. */
static int64_t *last_bytes(struct pair *pair, const struct metric_event *ev)
{
	return pair->last[ev->raw.layer != REEL_LAYER_POSIX &&
			  ev->raw.layer != REEL_LAYER_ASYNC];
}

static inline void count_darshan(struct counts *c, struct pair *pair,
				 enum metric_op op,
				 const struct metric_event *ev, uint32_t n)
{
	struct darshan *d = &c->darshan[ev->raw.layer][op];
	int64_t *end = &last_bytes(pair, ev)[op], last = *end;
	uint64_t ops = 0, seq = 0, consec = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t offset = ev[i].raw.offset;

		/* At an unknown offset a call is neither in order nor out of it. */
		if (offset < 0 || offset > METRIC_TIME_MAX)
			continue;
		ops++;
		seq += offset > last;
		consec += offset == last + 1;
		last = offset + ev->bytes - 1;
	}
	/* One record for several calls: the others are consecutive. */
	d->ops += ops * ev->calls;
	d->seq += seq + ops * (ev->calls - 1);
	d->consec += consec + ops * (ev->calls - 1);
	*end = last;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct sequence *s = state;
	enum metric_op op = ev->op;
	struct pair *pair;

	if (metric_failed(&ev->raw) || !ev->raw.file ||
	    ev->raw.layer >= REEL_LAYERS)
		return 0;
	if (op != METRIC_READ && op != METRIC_WRITE &&
	    (op != METRIC_META || ev->raw.group != REEL_GROUP_OPEN))
		return 0;
	if (reel_array_reach(&s->process, &s->process_room, ev->raw.process,
			     sizeof(*s->process), err))
		return -1;
	pair = current_pair(s, ev, err);
	if (!pair)
		return -1;
	if (op == METRIC_META) {
		memset(last_bytes(pair, ev), 0, sizeof(pair->last[0]));
		return 0;
	}
	count_darshan(&s->process[ev->raw.process], pair, op, ev, n);
	return add_accesses(s, op, ev, n, err);
}

METRIC_FEED_RUNS(feed_runs)

/* Files that are opened have their pairs in no cache: fetch the slots of the map
 * together, then the pairs. */
static void prefetch_pairs(const struct sequence *s,
			   const struct metric_event *ev, uint32_t n)
{
	const struct reel_intmap *map = &s->now.map;
	uint32_t at;

	if (!map->mask)
		return;
	for (uint32_t i = 0; i < n; i += metric_run(&ev[i], n - i))
		if (ev[i].raw.group == REEL_GROUP_OPEN)
			reel_prefetch(&map->slot[reel_intmap_slot_of(
				pair_key(&ev[i].raw), map->mask)]);
	for (uint32_t i = 0; i < n; i += metric_run(&ev[i], n - i)) {
		if (ev[i].raw.group != REEL_GROUP_OPEN)
			continue;
		at = reel_intmap_find(map, pair_key(&ev[i].raw));
		if (at < s->now.room)
			reel_prefetch_range(&s->now.pair[at],
					    sizeof(struct pair));
	}
}

static int sequence_feed(void *state, const struct metric_event *ev, uint32_t n,
			 struct reel_error *err)
{
	prefetch_pairs(state, ev, n);
	return feed_runs(state, ev, n, err);
}

static const char *const op_name[] = {"read", "write"};

static int write_sequence(const struct sequence *s, struct reel_store *st,
			  struct reel_error *err)
{
	struct reel_insert out;
	uint32_t p;
	int op, i,
		rc = reel_insert_open(&out, st,
				      "INSERT INTO sequence VALUES "
				      "(?,?,?,?,?,?,?)",
				      err);

	for (p = 0; p < s->process_room; p++) {
		for (op = METRIC_READ; !rc && op <= METRIC_WRITE; op++) {
			const uint64_t *order = s->process[p].order[op];
			uint64_t all = 0;

			for (i = 0; i < ORDERS; i++)
				all += order[i];
			if (!all)
				continue;
			reel_insert_int(&out, p);
			reel_insert_text(&out, op_name[op]);
			for (i = 0; i < ORDERS; i++)
				reel_insert_int(&out, (int64_t)order[i]);
			rc = reel_insert_done(&out, err);
		}
	}
	return reel_insert_close(&out, rc);
}

static int write_process_darshan(struct reel_insert *out, uint32_t process,
				 const struct counts *c, struct reel_error *err)
{
	int layer, op;

	for (layer = 0; layer < REEL_LAYERS; layer++) {
		for (op = METRIC_READ; op <= METRIC_WRITE; op++) {
			const struct darshan *d = &c->darshan[layer][op];

			if (!d->ops)
				continue;
			reel_insert_int(out, process);
			reel_insert_text(out, reel_layer_name(layer));
			reel_insert_text(out, op_name[op]);
			reel_insert_int(out, (int64_t)d->ops);
			reel_insert_int(out, (int64_t)d->seq);
			reel_insert_int(out, (int64_t)d->consec);
			if (reel_insert_done(out, err))
				return -1;
		}
	}
	return 0;
}

static int write_darshan(const struct sequence *s, struct reel_store *st,
			 struct reel_error *err)
{
	struct reel_insert out;
	uint32_t p;
	int rc = reel_insert_open(&out, st,
				  "INSERT INTO darshan_sequence VALUES "
				  "(?,?,?,?,?,?)",
				  err);

	for (p = 0; !rc && p < s->process_room; p++)
		rc = write_process_darshan(&out, p, &s->process[p], err);
	return reel_insert_close(&out, rc);
}

static int write_jumps(const struct sequence *s, struct reel_store *st,
		       struct reel_error *err)
{
	struct reel_insert out;
	uint32_t i;
	int rc = reel_insert_open(
		&out, st, "INSERT INTO file_sequence VALUES (?,?,?)", err);

	for (i = 0; !rc && i < s->file_room; i++) {
		const struct jumps *j = &s->file[i];

		if (!j->n[0] && !j->n[1])
			continue;
		reel_insert_int(&out, i);
		reel_insert_int(&out, j->n[0]);
		reel_insert_int(&out, j->n[1]);
		rc = reel_insert_done(&out, err);
	}
	return reel_insert_close(&out, rc);
}

/* A stride of 0 is a consecutive access. */
static int write_strides(struct sequence *s, struct reel_store *st,
			 struct reel_error *err)
{
	struct reel_insert out;
	int op, rc = reel_distribution_open(&out, st, err);

	for (op = METRIC_READ; !rc && op <= METRIC_WRITE; op++) {
		uint64_t none = 0;

		for (uint32_t p = 0; p < s->process_room; p++)
			none += s->process[p].order[op][CONSECUTIVE];
		if (none)
			reel_histogram_add(&s->stride[op][false], 0, none);
		rc = reel_distribution_write(&out, "stride", op_name[op],
					     &s->stride[op][false], false, err);
		if (!rc)
			rc = reel_distribution_write(
				&out, "stride", op_name[op],
				&s->stride[op][true], true, err);
	}
	return reel_insert_close(&out, rc);
}

static void forget_orders(struct sequence *s)
{
	for (uint32_t p = 0; p < s->process_room; p++) {
		for (int op = METRIC_READ; op <= METRIC_WRITE; op++) {
			uint64_t *order = s->process[p].order[op];

			for (int i = CONSECUTIVE; i <= RANDOM; i++) {
				order[UNKNOWN] += order[i];
				order[i] = 0;
			}
		}
	}
}

static int sequence_finish(void *state, struct reel_store *st,
			   struct reel_error *err)
{
	struct sequence *s = state;
	int64_t no_seeks = 0;
	bool has;

	if (reel_issue_order_flush(&s->order, err) ||
	    reel_store_int(st,
			   "SELECT count(*) FROM note "
			   "WHERE key = 'strace.no_seeks'",
			   &no_seeks, &has, err))
		return -1;
	/* Offsets that were followed through a log without its seeks are false. */
	if (no_seeks) {
		forget_orders(s);
		return write_sequence(s, st, err);
	}
	if (write_sequence(s, st, err) || write_darshan(s, st, err))
		return -1;
	return write_strides(s, st, err) || write_jumps(s, st, err) ? -1 : 0;
}

static void sequence_fini(void *state)
{
	struct sequence *s = state;
	uint32_t i;

	for (i = 0; i < s->pages; i++)
		free(s->page[i]);
	free(s->page);
	reel_intmap_fini(&s->now.map);
	reel_intmap_fini(&s->before.map);
	free(s->now.pair);
	free(s->before.pair);
	free(s->process);
	free(s->file);
	reel_issue_order_fini(&s->order);
}

const struct reel_metric reel_metric_sequence = {
	.name = "sequence",
	.schema = schema,
	.state_bytes = sizeof(struct sequence),
	.init = sequence_init,
	.feed = sequence_feed,
	.finish = sequence_finish,
	.fini = sequence_fini,
};

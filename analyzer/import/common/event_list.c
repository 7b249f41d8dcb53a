/* SPDX-License-Identifier: MIT */
/* The events of an import: chunks that never move, and merges of sorted runs. */
#include "analyzer/import/common/event_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "analyzer/import/common/sorter.h"

#define CHUNK_BITS 16
#define CHUNK_EVENTS (1u << CHUNK_BITS)
#define HUGE_PAGE (2u << 20)

struct event_key {
	int64_t end_ns;
	uint32_t thread, index;
};

/* Most of an import's memory, written once: huge pages save a tenth of its time. */
static int add_chunk(struct event_list *l, struct reel_error *err)
{
	size_t bytes = CHUNK_EVENTS * sizeof(struct reel_event);
	void *chunk;

	bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	if (reel_array_reach(&l->chunk, &l->chunk_room, l->chunks,
			     sizeof(*l->chunk), err))
		return -1;
	chunk = aligned_alloc(HUGE_PAGE, bytes);
	if (!chunk)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	madvise(chunk, bytes, MADV_HUGEPAGE);
	l->chunk[l->chunks++] = chunk;
	return 0;
}

static struct reel_event *event_of(const struct event_list *l, uint32_t i)
{
	return &l->chunk[i >> CHUNK_BITS][i & (CHUNK_EVENTS - 1)];
}

/* The order of the sort. */
static int by_end(const void *a, const void *b)
{
	const struct reel_event *x = a, *y = b;
	int64_t ex = x->start_ns + x->dur_ns, ey = y->start_ns + y->dur_ns;

	if (ex != ey)
		return ex < ey ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The same of keys: does @b belong before @a, which was added before it? */
static bool is_before(const struct event_list *l, const struct event_key *b,
		      const struct event_key *a)
{
	if (a->end_ns != b->end_ns)
		return b->end_ns < a->end_ns;
	if (a->thread != b->thread)
		return b->thread < a->thread;
	return event_of(l, b->index)->start_ns <
	       event_of(l, a->index)->start_ns;
}

/* Merge the runs [0, middle) and [middle, n) of @from into @to. */
static void merge_runs(const struct event_list *l, const struct event_key *from,
		       uint32_t middle, uint32_t n, struct event_key *to)
{
	const struct event_key *a = from, *a_end = from + middle;
	const struct event_key *b = a_end, *b_end = from + n;

	while (a < a_end && b < b_end)
		*to++ = is_before(l, b, a) ? *b++ : *a++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

/* The keys of all events, and where their sorted runs begin: *@runs of them, and
 * behind them the number of events. */
static int find_runs(const struct event_list *l, struct event_key *key,
		     uint32_t **start, uint32_t *runs, struct reel_error *err)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i <= l->held; i++) {
		if (i < l->held) {
			const struct reel_event *ev = event_of(l, i);

			key[i] = (struct event_key){ev->start_ns + ev->dur_ns,
						    ev->thread, i};
			if (i && !is_before(l, &key[i], &key[i - 1]))
				continue;
		}
		if (reel_array_reach(start, &room, *runs, sizeof(**start), err))
			return -1;
		(*start)[(*runs)++] = i;
	}
	--*runs;
	return 0;
}

/* Sort the events in memory. */
static int sort_held(struct event_list *l, struct reel_error *err)
{
	struct event_key *key = reel_alloc(l->held + 1ull, sizeof(*key), err);
	struct event_key *other = NULL, *swap;
	uint32_t *start = NULL, runs = 0, k, i;
	int rc = key ? find_runs(l, key, &start, &runs, err) : -1;

	if (!rc && runs > 1 &&
	    !(other = reel_alloc(l->held, sizeof(*other), err)))
		rc = -1;
	for (; !rc && runs > 1; runs = k) {
		for (k = i = 0; i < runs; i += 2) {
			uint32_t from = start[i], middle = start[i + 1];
			uint32_t end = i + 1 < runs ? start[i + 2] : middle;

			merge_runs(l, key + from, middle - from, end - from,
				   other + from);
			start[k++] = from;
		}
		start[k] = l->held;
		swap = key;
		key = other;
		other = swap;
	}
	if (!rc && other) {
		l->order = key;
		key = NULL;
	}
	free(key);
	free(other);
	free(start);
	return rc;
}

static struct reel_event *held_at(const struct event_list *l, uint32_t i)
{
	return event_of(l, l->order ? l->order[i].index : i);
}

/* The events in memory become a sorted run of the file. */
static int spill(struct event_list *l, struct reel_error *err)
{
	if (!l->runs &&
	    sorter_new(&l->runs, sizeof(struct reel_event), by_end, 0, err))
		return -1;
	if (sort_held(l, err))
		return -1;
	for (uint32_t i = 0; i < l->held; i++)
		if (sorter_run_add(l->runs, held_at(l, i), err))
			return -1;
	free(l->order);
	l->order = NULL;
	l->held = 0;
	return sorter_run_end(l->runs, err);
}

struct reel_event *event_list_add(struct event_list *l, struct reel_error *err)
{
	if (l->held == EVENT_LIST_HELD && spill(l, err))
		return NULL;
	if (l->held == l->chunks << CHUNK_BITS && add_chunk(l, err))
		return NULL;
	return event_of(l, l->held++);
}

static void free_chunks(struct event_list *l)
{
	for (uint32_t i = 0; i < l->chunks; i++)
		free(l->chunk[i]);
	free(l->chunk);
	free(l->order);
	l->chunk = NULL;
	l->order = NULL;
	l->chunks = l->chunk_room = l->held = 0;
}

int event_list_sort(struct event_list *l, struct reel_error *err)
{
	if (!l->runs)
		return sort_held(l, err);
	if (spill(l, err))
		return -1;
	free_chunks(l);
	return sorter_finish(l->runs, err);
}

int event_list_next(struct event_list *l, struct reel_event **ev,
		    struct reel_error *err)
{
	*ev = &l->read;
	if (l->runs)
		return sorter_next(l->runs, &l->read, err);
	if (l->next == l->held)
		return 0;
	*ev = held_at(l, l->next++);
	return 1;
}

void event_list_fini(struct event_list *l)
{
	free_chunks(l);
	sorter_free(l->runs);
	*l = (struct event_list){0};
}

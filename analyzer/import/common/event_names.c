/* SPDX-License-Identifier: MIT */
/* Counts and times of trace events by category and name. */
#include "analyzer/import/common/event_names.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/import/common/trace_events.h"
#include "analyzer/write/writer.h"

/* The number of a category; those past the most share the last one. */
static uint32_t category_of(struct event_names *e, const char *text,
			    struct reel_error *err)
{
	uint32_t i = 0;

	while (i < e->categories && strcmp(e->category[i], text))
		i++;
	if (i < e->categories)
		return i;
	if (i == EVENT_CATEGORIES_MOST)
		return i - 1;
	e->category[i] = reel_strdup(
		i == EVENT_CATEGORIES_MOST - 1 ? "other" : text, err);
	if (!e->category[i])
		return REEL_NO_INDEX;
	return e->categories++;
}

static int add_name(struct event_names *e, const char *text, uint32_t category,
		    struct reel_error *err)
{
	if (reel_array_reach(&e->name, &e->room, e->names, sizeof(*e->name),
			     err))
		return -1;
	e->name[e->names].text = reel_strdup(text, err);
	e->name[e->names].category = category;
	return e->name[e->names].text ? (int)!++e->names : -1;
}

uint32_t event_names_index(struct event_names *e, const char *category,
			   const char *text, size_t len, struct reel_error *err)
{
	uint32_t c = category_of(e, category, err);
	uint64_t key = reel_fnv1a(REEL_FNV_SEED + c, text, len);

	if (c == REEL_NO_INDEX)
		return REEL_NO_INDEX;
	for (;; key++) { /* two names may have one key */
		uint32_t i = reel_intmap_get(&e->by_name, key, err);
		const struct event_name *n;

		if (i == REEL_NO_INDEX)
			return i;
		if (i == e->names && add_name(e, text, c, err))
			return REEL_NO_INDEX;
		n = &e->name[i];
		if (n->category == c && !strcmp(n->text, text))
			return i;
	}
}

void event_names_add(struct event_names *e, uint32_t index, uint64_t count,
		     int64_t time)
{
	struct event_name *n = &e->name[index];

	/* Sums of damaged times wrap around. */
	n->count += count;
	n->time = (int64_t)((uint64_t)n->time + (uint64_t)time);
}

uint32_t event_names_count(struct event_names *e, const struct trace_event *ev,
			   struct reel_error *err)
{
	uint32_t i = event_names_index(e, ev->category.s, ev->name.s,
				       ev->name.len, err);

	if (i != REEL_NO_INDEX)
		event_names_add(e, i, 1, ev->dur_ns);
	return i;
}

int event_names_write(const struct event_names *e, struct reel_writer *w,
		      uint32_t source, uint32_t first, int64_t rank,
		      struct reel_error *err)
{
	const char *time = e->time_counter ? e->time_counter : "TIME_NS";

	for (uint32_t i = 0; i < e->names; i++) {
		const struct event_name *n = &e->name[i];
		struct reel_writer_record row = {
			.record_id = first + i,
			.source_id = source,
			.module = e->category[n->category],
			.record = n->text,
			.rank = rank < 0 ? REEL_NO_OFFSET : rank};
		struct reel_writer_number count = {.integer =
							   (int64_t)n->count};
		struct reel_writer_number sum = {.integer = n->time};

		if (reel_writer_record(w, &row, err) ||
		    reel_writer_value(w, row.record_id, "COUNT", &count, err) ||
		    reel_writer_value(w, row.record_id, time, &sum, err))
			return -1;
	}
	return 0;
}

void event_names_fini(struct event_names *e)
{
	for (uint32_t i = 0; i < e->categories; i++)
		free(e->category[i]);
	for (uint32_t i = 0; i < e->names; i++)
		free(e->name[i].text);
	free(e->name);
	reel_intmap_fini(&e->by_name);
	*e = (struct event_names){0};
}

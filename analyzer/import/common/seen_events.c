/* SPDX-License-Identifier: MIT */
/*
 * A set of events by their numbers and hashes.
 *
 * A series is an array of hashes by number: a miss of the cache for each event, as
 * in a hash table, would cost more than the parsing of the event. A number far
 * beyond the last one ends the array, as a damaged log may have any number. A
 * number that is outside of it, or comes again with another hash, is in the table.
 *
 * The high half of a slot of the table is the place where its search begins, the
 * low half a hash of the event.
 */
#include "analyzer/import/common/seen_events.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/intmap.h"

#define FIRST_SLOTS 1024u
#define ROW 8u		/* slots of 8 bytes in a cache line */
#define GAP_FIRST 1024u /* numbers that an array leaves out at most, and */
#define GAP_EACH 4u	/* as many more for each number in it */

struct seen_series {
	uint64_t first; /* number of hash[0] */
	uint32_t *hash; /* 0: not seen */
	uint32_t n, room, seen;
	bool ended; /* no number is appended any more */
};

/* 1 when @word is there, else 0 and it is added. */
static int place_word(struct seen_table *s, uint64_t word)
{
	uint32_t i = (uint32_t)(word >> 32) & s->mask;

	for (; s->slot[i]; i = (i + 1) & s->mask)
		if (s->slot[i] == word)
			return 1;
	s->slot[i] = word;
	s->used++;
	return 0;
}

static int widen_table(struct seen_table *s, struct reel_error *err)
{
	uint32_t slots = s->mask ? (s->mask + 1) * 2 : FIRST_SLOTS;
	struct seen_table wide = {NULL, 0, slots - 1};

	if (!slots)
		return reel_fail(err, REEL_E_MEMORY, "too many events");
	wide.slot = reel_alloc(slots, sizeof(*wide.slot), err);
	if (!wide.slot)
		return -1;
	for (uint32_t i = 0; s->mask && i <= s->mask; i++)
		if (s->slot[i])
			place_word(&wide, s->slot[i]);
	free(s->slot);
	*s = wide;
	return 0;
}

static int add_to_table(struct seen_table *s, uint64_t series, uint64_t number,
			uint32_t hash, struct reel_error *err)
{
	uint64_t place = reel_hash_number(series, number / ROW) / ROW * ROW;
	uint64_t word = (place + number % ROW) << 32 | hash;

	/* Half of the slots are free, so that searches are short. */
	if ((!s->mask || s->used >= (s->mask + 1) / 2) && widen_table(s, err))
		return -1;
	return place_word(s, word);
}

static struct seen_series *find_series(struct seen_events *s, uint64_t series,
				       struct reel_error *err)
{
	uint32_t i;

	if (s->series_n && series == s->last_key)
		return &s->series[s->last];
	i = reel_intmap_get(&s->by_series, series, err);
	if (i == REEL_NO_INDEX ||
	    (i == s->series_n && reel_array_reach(&s->series, &s->series_room,
						  i, sizeof(*s->series), err)))
		return NULL;
	s->series_n += i == s->series_n;
	s->last_key = series;
	s->last = i;
	return &s->series[i];
}

int seen_events_add(struct seen_events *s, uint64_t series, uint64_t number,
		    uint64_t content, struct reel_error *err)
{
	struct seen_series *r = find_series(s, series, err);
	uint32_t hash = (uint32_t)(content >> 32);
	uint64_t at;

	if (!r)
		return -1;
	hash += !hash;
	if (!r->n)
		r->first = number;
	at = number - r->first; /* huge, if it is before the first */
	if (at >= r->n && !r->ended) {
		r->ended = at > GAP_FIRST + (uint64_t)GAP_EACH * r->seen ||
			   at >= UINT32_MAX;
		if (!r->ended) {
			if (reel_array_reach(&r->hash, &r->room, (uint32_t)at,
					     sizeof(*r->hash), err))
				return -1;
			r->n = (uint32_t)at + 1;
		}
	}
	if (at >= r->n || (r->hash[at] && r->hash[at] != hash))
		return add_to_table(&s->others, series, number, hash, err);
	if (r->hash[at])
		return 1;
	r->hash[at] = hash;
	r->seen++;
	return 0;
}

void seen_events_fini(struct seen_events *s)
{
	for (uint32_t i = 0; i < s->series_n; i++)
		free(s->series[i].hash);
	free(s->series);
	reel_intmap_fini(&s->by_series);
	free(s->others.slot);
	*s = (struct seen_events){0};
}

/* SPDX-License-Identifier: MIT */
/*
 * A set of events by their numbers and hashes.
 *
 * The high half of a slot is the place where its search begins, the low half a hash
 * of the event. Places of eight numbers in a row are in one cache line, as a log
 * has them in a row: a miss of the cache for each event would cost more than the
 * parsing of the event.
 */
#include "analyzer/import/common/seen_events.h"

#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/import/common/text_hash.h"

#define FIRST_SLOTS 1024u
#define ROW 8u /* slots of 8 bytes in a cache line */

/* 1 when @word is there, else 0 and it is added. */
static int place_word(struct seen_events *s, uint64_t word)
{
	uint32_t i = (uint32_t)(word >> 32) & s->mask;

	for (; s->slot[i]; i = (i + 1) & s->mask)
		if (s->slot[i] == word)
			return 1;
	s->slot[i] = word;
	s->used++;
	return 0;
}

static int widen_set(struct seen_events *s, struct reel_error *err)
{
	uint32_t slots = s->mask ? (s->mask + 1) * 2 : FIRST_SLOTS;
	struct seen_events wide = {NULL, 0, slots - 1};

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

int seen_events_add(struct seen_events *s, uint64_t series, uint64_t number,
		    uint64_t content, struct reel_error *err)
{
	uint64_t place = hash_number(series, number / ROW) / ROW * ROW;
	uint64_t word = (place + number % ROW) << 32 | content >> 32;

	/* Half of the slots are free, so that searches are short. */
	if ((!s->mask || s->used >= (s->mask + 1) / 2) && widen_set(s, err))
		return -1;
	return place_word(s, word ? word : 1);
}

void seen_events_fini(struct seen_events *s)
{
	free(s->slot);
	*s = (struct seen_events){0};
}

/* SPDX-License-Identifier: MIT */
/*
 * Maps from 64-bit keys, and from texts, to dense 32-bit indices.
 *
 * At most half of the slots are used, so that probes are short.
 */
#include "lib/intmap.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#define FIRST_SLOTS 64u
#define FIRST_TEXTS 16u

static void place_key(struct reel_intmap *m, uint64_t key, uint32_t index)
{
	uint32_t i = reel_intmap_slot_of(key, m->mask);

	while (m->slot[i].index)
		i = (i + 1) & m->mask;
	m->slot[i].key = key;
	m->slot[i].index = index;
}

static int widen_map(struct reel_intmap *m, struct reel_error *err)
{
	uint32_t slots = m->mask ? (m->mask + 1) * 2 : FIRST_SLOTS, i;
	struct reel_intmap wide = {NULL, m->used, slots - 1};

	if (!slots)
		return reel_fail(err, REEL_E_MEMORY, "too many keys");
	wide.slot = reel_alloc(slots, sizeof(*wide.slot), err);
	if (!wide.slot)
		return -1;
	for (i = 0; m->mask && i <= m->mask; i++)
		if (m->slot[i].index)
			place_key(&wide, m->slot[i].key, m->slot[i].index);
	free(m->slot);
	*m = wide;
	return 0;
}

uint32_t reel_intmap_insert(struct reel_intmap *m, uint64_t key,
			    struct reel_error *err)
{
	if ((!m->mask || m->used >= (m->mask + 1) / 2) && widen_map(m, err))
		return REEL_NO_INDEX;
	place_key(m, key, ++m->used);
	return m->used - 1;
}

void reel_intmap_clear(struct reel_intmap *m)
{
	if (m->mask)
		memset(m->slot, 0, (m->mask + (size_t)1) * sizeof(*m->slot));
	m->used = 0;
}

void reel_intmap_fini(struct reel_intmap *m)
{
	free(m->slot);
	m->slot = NULL;
	m->used = m->mask = 0;
}

uint32_t reel_texts_keep(struct reel_texts *t, const char *text,
			 struct reel_error *err)
{
	uint64_t key = reel_hash_bytes(REEL_HASH_FIRST, text, strlen(text));

	for (;; key++) { /* two texts may have one key */
		uint32_t i = reel_intmap_get(&t->by_hash, key, err);

		if (i == REEL_NO_INDEX)
			return i;
		if (i < t->texts) {
			if (!strcmp(t->text[i], text))
				return i;
			continue;
		}
		if (i == t->room) {
			uint32_t room = t->room ? 2 * t->room : FIRST_TEXTS;

			if (reel_grow(&t->text, room, sizeof(*t->text), err))
				return REEL_NO_INDEX;
			t->room = room;
		}
		t->text[i] = reel_strdup(text, err);
		if (!t->text[i])
			return REEL_NO_INDEX;
		t->texts++;
		return i;
	}
}

void reel_texts_fini(struct reel_texts *t)
{
	for (uint32_t i = 0; i < t->texts; i++)
		free(t->text[i]);
	free(t->text);
	reel_intmap_fini(&t->by_hash);
	*t = (struct reel_texts){0};
}

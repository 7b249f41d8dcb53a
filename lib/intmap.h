/* SPDX-License-Identifier: MIT */
/*
 * A map from 64-bit keys to dense 32-bit indices, for hot paths: open
 * addressing, 16 bytes per slot, no removal.
 */
#ifndef LIB_INTMAP_H
#define LIB_INTMAP_H

#include <stddef.h>
#include <stdint.h>

struct reel_error;

struct reel_intmap_slot {
	uint64_t key;
	uint32_t index; /* plus one; 0: free */
	uint32_t pad;
};

/* Zeroed is empty. */
struct reel_intmap {
	struct reel_intmap_slot *slot;
	uint32_t used;
	uint32_t mask; /* slots - 1; 0 while there are none */
};

#define REEL_NO_INDEX UINT32_MAX

static inline uint32_t reel_intmap_slot_of(uint64_t key, uint32_t mask)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return (uint32_t)(key >> 29) & mask;
}

/* Give @key, which is not in the map, the next index. Returns it, or
 * REEL_NO_INDEX with @err filled. */
uint32_t reel_intmap_insert(struct reel_intmap *m, uint64_t key,
			    struct reel_error *err);

static inline uint32_t reel_intmap_find(const struct reel_intmap *m,
					uint64_t key)
{
	uint32_t i;

	if (!m->mask)
		return REEL_NO_INDEX;
	i = reel_intmap_slot_of(key, m->mask);
	for (; m->slot[i].index; i = (i + 1) & m->mask)
		if (m->slot[i].key == key)
			return m->slot[i].index - 1;
	return REEL_NO_INDEX;
}

/*
 * The index of @key; a new key gets the next index, which the caller recognizes
 * because it equals the previous number of keys. REEL_NO_INDEX with @err
 * filled.
 */
static inline uint32_t reel_intmap_get(struct reel_intmap *m, uint64_t key,
				       struct reel_error *err)
{
	uint32_t i = reel_intmap_find(m, key);

	if (i != REEL_NO_INDEX)
		return i;
	return reel_intmap_insert(m, key, err);
}

void reel_intmap_clear(struct reel_intmap *m); /* memory is kept */
void reel_intmap_fini(struct reel_intmap *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Maps to dense 32-bit indices, without removal: from 64-bit keys, for hot paths (open
 * addressing, 16 bytes per slot), and from texts, of which one copy is kept.
 *
 * The hash of texts takes eight bytes at a time: several times as fast as FNV-1a on
 * paths. Its values are of this machine and are never stored.
 */
#ifndef LIB_INTMAP_H
#define LIB_INTMAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#define REEL_HASH_FIRST 0xcbf29ce484222325u

/* The hash of @n, continued from @h. */
static inline uint64_t reel_hash_number(uint64_t h, uint64_t n)
{
	unsigned __int128 wide = (unsigned __int128)(h ^ n ^ REEL_HASH_FIRST) *
				 0x9e3779b97f4a7c15u;

	return (uint64_t)wide ^ (uint64_t)(wide >> 64);
}

/* The hash of @n bytes of @p, and of their number, continued from @h. The last eight bytes
 * may be hashed twice in part, so that none is taken alone. */
static inline uint64_t reel_hash_bytes(uint64_t h, const char *p, size_t n)
{
	uint64_t v = 0;
	uint32_t first, last;

	h = reel_hash_number(h, n);
	if (n >= sizeof(v)) {
		for (; n > sizeof(v); p += sizeof(v), n -= sizeof(v)) {
			memcpy(&v, p, sizeof(v));
			h = reel_hash_number(h, v);
		}
		memcpy(&v, p + n - sizeof(v), sizeof(v));
	} else if (n >= sizeof(first)) {
		memcpy(&first, p, sizeof(first));
		memcpy(&last, p + n - sizeof(last), sizeof(last));
		v = (uint64_t)first << 32 | last;
	} else if (n) {
		v = (uint64_t)(uint8_t)p[0] << 16 |
		    (uint64_t)(uint8_t)p[n / 2] << 8 | (uint8_t)p[n - 1];
	}
	return reel_hash_number(h, v);
}

/* Copies of texts, one of each: names that stand in many records. Zeroed is empty. */
struct reel_texts {
	char **text;
	uint32_t texts, room;
	struct reel_intmap by_hash;
};

/* The index of a copy of @text, which lives as long as @t. REEL_NO_INDEX with @err
 * (REEL_E_MEMORY). */
uint32_t reel_texts_keep(struct reel_texts *t, const char *text,
			 struct reel_error *err);
void reel_texts_fini(struct reel_texts *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A hash of texts for maps in memory, eight bytes at a time: several times as fast
 * as FNV-1a on paths. Its values are of this machine and are never stored.
 */
#ifndef ANALYZER_IMPORT_TEXT_HASH_H
#define ANALYZER_IMPORT_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEXT_HASH_FIRST 0xcbf29ce484222325u

/* The hash of @n, continued from @h. */
static inline uint64_t hash_number(uint64_t h, uint64_t n)
{
	unsigned __int128 wide = (unsigned __int128)(h ^ n ^ TEXT_HASH_FIRST) *
				 0x9e3779b97f4a7c15u;

	return (uint64_t)wide ^ (uint64_t)(wide >> 64);
}

/* The hash of @n bytes of @p, and of their number, continued from @h. */
static inline uint64_t hash_bytes(uint64_t h, const char *p, size_t n)
{
	uint64_t v = 0;

	h = hash_number(h, n);
	for (; n >= sizeof(v); p += sizeof(v), n -= sizeof(v)) {
		memcpy(&v, p, sizeof(v));
		h = hash_number(h, v);
	}
	for (v = 0; n--; p++)
		v = v << 8 | (uint8_t)*p;
	return hash_number(h, v);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * FNV-1a with 64 bits: the hash of strings in the shim, lib, analyzer and
 * replay. Start with REEL_FNV_SEED.
 */
#ifndef SCHEMAS_HASH_H
#define SCHEMAS_HASH_H

#include <stddef.h>
#include <stdint.h>

#define REEL_FNV_SEED 0xcbf29ce484222325ull

/* The hash of @len bytes of @s, continued from @h. */
static inline uint64_t reel_fnv1a(uint64_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3ull;
	return h;
}

#endif

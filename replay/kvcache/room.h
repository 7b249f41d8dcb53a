/* SPDX-License-Identifier: MIT */
/*
 * Memory as large as an object, with few pages behind it: the same piece of memory,
 * mapped again and again. So one call can read or write a whole object, as NumPy's
 * does, and many users need little memory.
 */
#ifndef REPLAY_KVCACHE_ROOM_H
#define REPLAY_KVCACHE_ROOM_H

#include <stddef.h>
#include <stdint.h>

struct reel_error;

struct room {
	uint8_t *at; /* NULL: none */
	size_t bytes;
};

/* Map @bytes, of which each @piece is the same memory. 0, or -1 with @err. */
int room_map(struct room *r, size_t bytes, size_t piece,
	     struct reel_error *err);
/* Fill its piece with random bytes. */
void room_noise(struct room *r, size_t piece, uint64_t seed);
void room_unmap(struct room *r);

#endif

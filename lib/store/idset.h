/* SPDX-License-Identifier: MIT */
/*
 * A set of 32-bit ids, in pages: memory grows with the ids in it.
 */
#ifndef LIB_STORE_IDSET_H
#define LIB_STORE_IDSET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define REEL_IDSET_PAGES 65536

/* Zeroed is empty. */
struct reel_idset {
	uint64_t **page; /* of 65,536 ids each; NULL: none in it */
	uint32_t first, last;
};

static inline bool reel_idset_has(const struct reel_idset *s, int64_t id)
{
	uint64_t u = (uint64_t)id;
	const uint64_t *p;

	if (u > UINT32_MAX || !s->page)
		return false;
	p = s->page[u >> 16];
	return p && (p[(u & 0xffff) >> 6] >> (u & 63) & 1);
}

/* 0, or -1: no memory. An id beyond 32 bits is left out: no event has it. */
static inline int reel_idset_add(struct reel_idset *s, int64_t id)
{
	uint64_t u = (uint64_t)id;
	uint32_t at = (uint32_t)(u >> 16);

	if (u > UINT32_MAX)
		return 0;
	if (!s->page) {
		s->page = calloc(REEL_IDSET_PAGES, sizeof(*s->page));
		if (!s->page)
			return -1;
		s->first = s->last = at;
	}
	if (!s->page[at] && !(s->page[at] = calloc(1024, sizeof(uint64_t))))
		return -1;
	s->first = at < s->first ? at : s->first;
	s->last = at > s->last ? at : s->last;
	s->page[at][(u & 0xffff) >> 6] |= 1ull << (u & 63);
	return 0;
}

/* Remove all ids; the list of pages is kept. */
static inline void reel_idset_clear(struct reel_idset *s)
{
	for (uint32_t i = s->first; s->page && i <= s->last; i++) {
		free(s->page[i]);
		s->page[i] = NULL;
	}
	s->first = REEL_IDSET_PAGES - 1;
	s->last = 0;
}

static inline void reel_idset_fini(struct reel_idset *s)
{
	reel_idset_clear(s);
	free(s->page);
	s->page = NULL;
}

#endif

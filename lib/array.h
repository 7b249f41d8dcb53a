/* SPDX-License-Identifier: MIT */
/* Arrays that grow with the largest index in use, or at their end. */
#ifndef LIB_ARRAY_H
#define LIB_ARRAY_H

#include <stddef.h>
#include <stdint.h>

struct reel_error;

/* The slow path of reel_array_reach(). */
int reel_array_widen(void *p, uint32_t *room, uint32_t index, size_t bytes,
		     struct reel_error *err);

/*
 * Make room for element @index in the array *@p of elements of @bytes. *@room
 * is the number of elements; it is doubled as needed, and new elements are
 * zero. 0 or -1 with @err.
 */
static inline int reel_array_reach(void *p, uint32_t *room, uint32_t index,
				   size_t bytes, struct reel_error *err)
{
	return index < *room ? 0 : reel_array_widen(p, room, index, bytes, err);
}

/*
 * Make room behind the @n elements of *@p, of which *@room fit now. New elements are
 * not set, so that those that are never used take no memory. 0 or -1 with @err.
 */
int reel_array_append(void *p, uint32_t *room, uint32_t n, size_t bytes,
		      struct reel_error *err);

#endif

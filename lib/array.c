/* SPDX-License-Identifier: MIT */
/* Arrays that grow with the largest index in use, or at their end. */
#include "lib/array.h"

#include <string.h>

#include "lib/error.h"

/* Room for @index, not set. */
static int grow(void *p, uint32_t *room, uint32_t index, size_t bytes,
		struct reel_error *err)
{
	uint64_t want = *room ? *room : 16;

	while (want <= index)
		want *= 2;
	if (want > UINT32_MAX)
		return reel_fail(err, REEL_E_MEMORY, "too many ids");
	if (reel_grow(p, want, bytes, err))
		return -1;
	*room = (uint32_t)want;
	return 0;
}

int reel_array_widen(void *p, uint32_t *room, uint32_t index, size_t bytes,
		     struct reel_error *err)
{
	uint32_t was = *room;
	char *data;

	if (grow(p, room, index, bytes, err))
		return -1;
	memcpy(&data, p, sizeof(data));
	memset(data + (size_t)was * bytes, 0, (size_t)(*room - was) * bytes);
	return 0;
}

int reel_array_append(void *p, uint32_t *room, uint32_t n, size_t bytes,
		      struct reel_error *err)
{
	return n < *room ? 0 : grow(p, room, n, bytes, err);
}

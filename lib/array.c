/* SPDX-License-Identifier: MIT */
/* Arrays that grow with the largest index in use. */
#include "lib/array.h"

#include <string.h>

#include "lib/error.h"

int reel_array_widen(void *p, uint32_t *room, uint32_t index, size_t bytes,
		     struct reel_error *err)
{
	uint64_t want = *room ? *room : 16;
	char *data;

	while (want <= index)
		want *= 2;
	if (want > UINT32_MAX)
		return reel_fail(err, REEL_E_MEMORY, "too many ids");
	if (reel_grow(p, want, bytes, err))
		return -1;
	memcpy(&data, p, sizeof(data));
	memset(data + (size_t)*room * bytes, 0, (want - *room) * bytes);
	*room = (uint32_t)want;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Which of libc's functions has a wrapper here: for objects that were opened
 * with RTLD_DEEPBIND, whose calls the loader bound past us.
 */
#include "preload/real.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Some stand in no header. */
#define CALL(id, NAME, layer, group, ret, fails, fn, params, ...) ret fn params;
#define ALSO(NAME, ret, fails, fn, params, ...) ret fn params;
#define BY_HAND(id, NAME, layer, group, ret, fn, params) ret fn params;
#define ALSO_BY_HAND(NAME, ret, fn, params) ret fn params;
#define PART(...)
#define MARK(...)
#include "schemas/calls.def"
#undef CALL
#undef ALSO
#undef BY_HAND
#undef ALSO_BY_HAND

static const struct {
	void *const *real;
	void *ours;
} wrapped[] = {
#define PAIR(fn) {(void *const *)(const void *)&real.fn, (void *)fn},
#define CALL(id, NAME, layer, group, ret, fails, fn, ...) PAIR(fn)
#define ALSO(NAME, ret, fails, fn, ...) PAIR(fn)
#define BY_HAND(id, NAME, layer, group, ret, fn, params) PAIR(fn)
#define ALSO_BY_HAND(NAME, ret, fn, params) PAIR(fn)
#include "schemas/calls.def"
};

#define LIBC_REACH (4 << 20) /* its functions lie within, from any of them */

void *shim_wrapper_of(void *function)
{
	intptr_t far = (intptr_t)function - (intptr_t)(void *)real.close;

	if (far > LIBC_REACH || far < -LIBC_REACH)
		return NULL;
	for (size_t i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]); i++)
		if (*wrapped[i].real == function)
			return wrapped[i].ours;
	return NULL;
}

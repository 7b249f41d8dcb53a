/* SPDX-License-Identifier: MIT */
/*
 * Which of libc's functions has a wrapper here: for objects that were opened
 * with RTLD_DEEPBIND, whose calls the loader bound past us.
 */
#include "preload/core/symbols.h"

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

#define WRAPPED (sizeof(wrapped) / sizeof(wrapped[0]))
#define LIBC_REACH (4 << 20) /* its functions lie within, from any of them */

/* Most of libc's functions have none, and a library calls hundreds of them. */
#define SIEVE_BITS 4096
static uint64_t sieve[SIEVE_BITS / 64];
static bool sieved;

static uint32_t sieve_bit(const void *function)
{
	return ((uintptr_t)function >> 4) % SIEVE_BITS;
}

static void make_sieve(void)
{
	for (size_t i = 0; i < WRAPPED; i++) {
		uint32_t bit = sieve_bit(*wrapped[i].real);

		sieve[bit / 64] |= 1ull << bit % 64;
	}
	sieved = true;
}

void *shim_wrapper_of(void *function)
{
	intptr_t far = (intptr_t)function - (intptr_t)(void *)real.close;
	uint32_t bit = sieve_bit(function);

	if (far > LIBC_REACH || far < -LIBC_REACH)
		return NULL;
	if (!sieved)
		make_sieve();
	if (!(sieve[bit / 64] >> bit % 64 & 1))
		return NULL;
	for (size_t i = 0; i < WRAPPED; i++)
		if (*wrapped[i].real == function)
			return wrapped[i].ours;
	return NULL;
}

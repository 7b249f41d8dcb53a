/* SPDX-License-Identifier: MIT */
/* Pseudo-random numbers, the same in every run: xorshift64. */
#ifndef TESTS_LIB_RANDOM_H
#define TESTS_LIB_RANDOM_H

#include <stdint.h>

static uint64_t chance_state = 88172645463325252ull; /* never 0 */

static inline uint64_t chance(void)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return chance_state;
}

static inline uint64_t chance_below(uint64_t n)
{
	return chance() % n;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Draw from quantile tables, and permute numbers, without any state. */
#ifndef REPLAY_WORKLOAD_QUANTILES_H
#define REPLAY_WORKLOAD_QUANTILES_H

#include <stddef.h>
#include <stdint.h>

struct quantiles;
struct reel_error;

/* The value at @share (0 to 1) of the distribution; 0 when @q is empty. */
int64_t quantiles_at(const struct quantiles *q, double share);
/*
 * The value of item @i of @n: item by item in an order that @seed permutes, the
 * values stand at the shares (k + 1/2) / n, so that n items follow the
 * distribution as closely as n values can.
 */
int64_t quantiles_item(const struct quantiles *q, uint64_t i, uint64_t n,
		       uint64_t seed);
double quantiles_mean(const struct quantiles *q);
/*
 * The table of @n values at most of @value[@count], which is sorted in place.
 * Nearest rank at equal shares; a table of one value where all are equal. Gives
 * memory to @q. 0, or -1 with @err (REEL_E_MEMORY).
 */
int quantiles_of(struct quantiles *q, int64_t *value, size_t count, uint32_t n,
		 struct reel_error *err);

/* Position @i of a permutation of 0 .. n - 1 that @seed chooses. Any i < n < 2^62. */
uint64_t permuted(uint64_t i, uint64_t n, uint64_t seed);
/* The next number of a sequence (splitmix64); in [0, 1). */
uint64_t random_next(uint64_t *state);
double random_share(uint64_t *state);

#endif

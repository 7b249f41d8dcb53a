/* SPDX-License-Identifier: MIT */
/* Draw from quantile tables, and permute numbers, without any state. */
#include "replay/workload/quantiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/workload/workload.h"

int64_t quantiles_at(const struct quantiles *q, double share)
{
	double at, below;
	uint32_t i;

	if (!q->n)
		return 0;
	if (!(share > 0) || q->n == 1)
		return q->value[0];
	if (share >= 1)
		return q->value[q->n - 1];
	at = share * (q->n - 1);
	i = (uint32_t)at;
	below = (double)q->value[i];
	return (int64_t)llround(below +
				(at - i) * ((double)q->value[i + 1] - below));
}

int64_t quantiles_item(const struct quantiles *q, uint64_t i, uint64_t n,
		       uint64_t seed)
{
	if (q->n <= 1 || !n)
		return quantiles_at(q, 0);
	return quantiles_at(q,
			    ((double)permuted(i, n, seed) + 0.5) / (double)n);
}

/* The area under the straight lines. */
double quantiles_mean(const struct quantiles *q)
{
	double sum = 0;

	if (q->n <= 1)
		return q->n ? (double)q->value[0] : 0;
	for (uint32_t i = 0; i + 1 < q->n; i++)
		sum += ((double)q->value[i] + (double)q->value[i + 1]) / 2;
	return sum / (q->n - 1);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int quantiles_of(struct quantiles *q, int64_t *value, size_t count, uint32_t n,
		 struct reel_error *err)
{
	free(q->value);
	memset(q, 0, sizeof(*q));
	if (!count)
		return 0;
	qsort(value, count, sizeof(*value), by_value);
	if (value[0] == value[count - 1])
		n = 1;
	else if (n > count)
		n = (uint32_t)count;
	q->value = reel_alloc(n, sizeof(*q->value), err);
	if (!q->value)
		return -1;
	q->n = n;
	for (uint32_t i = 0; i < n; i++)
		q->value[i] =
			value[n == 1 ? 0
				     : (size_t)llround((double)i *
						       (double)(count - 1) /
						       (n - 1))];
	return 0;
}

uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

double random_share(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

/*
 * A Feistel network of four rounds on the smallest even number of bits that
 * holds n - 1; positions beyond n walk on along their circle. At most 4 n
 * positions, so it takes 4 walks at worst on average.
 */
uint64_t permuted(uint64_t i, uint64_t n, uint64_t seed)
{
	unsigned int half = 1;
	uint64_t mask;

	if (n < 2)
		return 0;
	while (half < 31 && (n - 1) >> (2 * half))
		half++;
	mask = (UINT64_C(1) << half) - 1;
	do {
		uint64_t left = i >> half, right = i & mask;

		for (uint64_t round = 0; round < 4; round++) {
			uint64_t state = seed ^ (right << 8) ^ (round << 58);
			uint64_t mixed = left ^ (random_next(&state) & mask);

			left = right;
			right = mixed;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

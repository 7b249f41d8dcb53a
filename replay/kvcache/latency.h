/* SPDX-License-Identifier: MIT */
/* Latencies in bins, so that threads and ranks can be added. */
#ifndef REPLAY_KVCACHE_LATENCY_H
#define REPLAY_KVCACHE_LATENCY_H

#include <stdint.h>

#define LATENCY_PARTS 32 /* of a power of two: 3 % wide */
#define LATENCY_BINS (48 * LATENCY_PARTS)

struct latency {
	uint64_t bin[LATENCY_BINS];
	uint64_t n;
};

void latency_add(struct latency *l, int64_t ns);
void latency_merge(struct latency *to, const struct latency *from);
/* The latency at @share of them: the middle of its bin, in ns. NaN: none. */
double latency_at(const struct latency *l, double share);

#endif

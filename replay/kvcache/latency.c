/* SPDX-License-Identifier: MIT */
/* Latencies in bins. */
#include "replay/kvcache/latency.h"

#include <math.h>

#define PART_BITS 5 /* of LATENCY_PARTS */

void latency_add(struct latency *l, int64_t ns)
{
	uint64_t v = ns > LATENCY_PARTS ? (uint64_t)ns : LATENCY_PARTS;
	unsigned int power = 63 - (unsigned int)__builtin_clzll(v);
	unsigned int bin = (power - PART_BITS) * LATENCY_PARTS +
			   (unsigned int)(v >> (power - PART_BITS)) -
			   LATENCY_PARTS;

	l->bin[bin < LATENCY_BINS ? bin : LATENCY_BINS - 1]++;
	l->n++;
}

void latency_merge(struct latency *to, const struct latency *from)
{
	for (int i = 0; i < LATENCY_BINS; i++)
		to->bin[i] += from->bin[i];
	to->n += from->n;
}

double latency_at(const struct latency *l, double share)
{
	double want = ceil(share * (double)l->n);
	uint64_t seen = 0;

	for (int i = 0; i < LATENCY_BINS && l->n; i++) {
		seen += l->bin[i];
		if (seen && (double)seen >= want)
			return exp2(i / LATENCY_PARTS + PART_BITS) *
			       (1 + (i % LATENCY_PARTS + 0.5) / LATENCY_PARTS);
	}
	return NAN;
}

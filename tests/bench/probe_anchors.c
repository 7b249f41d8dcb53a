/* SPDX-License-Identifier: MIT */
/*
 * The cost of an anchor in a C program: batches of begin and end. Prints: name,
 * ns for one of the two, the median of many batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "schemas/ioreel.h"

#define PAIRS 100
#define ROUNDS 3000

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static double t[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		double start = now_ns();

		for (int i = 0; i < PAIRS; i++) {
			IOREEL_BEGIN("step", i);
			IOREEL_END("step");
		}
		t[r] = (now_ns() - start) / (2 * PAIRS);
	}
	qsort(t, ROUNDS, sizeof(*t), by_value);
	printf("anchor in C\t%.1f\n", t[ROUNDS / 2]);
	return 0;
}

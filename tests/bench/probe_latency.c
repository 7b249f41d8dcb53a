/* SPDX-License-Identifier: MIT */
/*
 * The quantiles of one cached 4 KiB pread, bare (libc's second name, which no
 * tracer wraps) and through the symbol that tracers wrap, in alternating
 * blocks:
 *
 *	probe_latency [BLOCKS]
 *
 * Prints for each quantile: name, ns bare, and ns that traced adds: medians of
 * the blocks and of the differences of neighbouring blocks. Far quantiles over
 * all blocks together would measure other load on the machine.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 10000
#define BLOCKS_MOST 60
#define QUANTILES 3

extern ssize_t __pread64(int fd, void *buf, size_t n, off_t off);

static const struct {
	const char *name;
	int at;
} quantiles[QUANTILES] = {{"p50", BLOCK / 2},
			  {"p99", BLOCK / 100 * 99},
			  {"p99.9", BLOCK / 1000 * 999}};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int by_difference(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static void one_block(int fd, bool bare, uint32_t out[static QUANTILES])
{
	static uint32_t ns[BLOCK];
	static char buf[4096];

	for (int i = 0; i < BLOCK; i++) {
		uint64_t start = now_ns();

		if (bare)
			__pread64(fd, buf, 4096, (i & 15) * 4096);
		else
			pread64(fd, buf, 4096, (i & 15) * 4096);
		ns[i] = (uint32_t)(now_ns() - start);
	}
	qsort(ns, BLOCK, sizeof(*ns), by_value);
	for (int q = 0; q < QUANTILES; q++)
		out[q] = ns[quantiles[q].at];
}

int main(int argc, char **argv)
{
	static int32_t bare[QUANTILES][BLOCKS_MOST];
	static int32_t added[QUANTILES][BLOCKS_MOST];
	int blocks = argc > 1 ? atoi(argv[1]) : BLOCKS_MOST;
	int fd = open("latency.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	static char page[4096];

	if (blocks < 1 || blocks > BLOCKS_MOST)
		return 2;
	for (int i = 0; i < 16; i++)
		if (write(fd, page, sizeof(page)) != (long)sizeof(page))
			return 1;
	for (int b = 0; b < blocks; b++) {
		uint32_t of[2][QUANTILES];

		for (int i = 0; i < 2; i++)
			one_block(fd, (b + i) & 1, of[(b + i) & 1]);
		for (int q = 0; q < QUANTILES; q++) {
			bare[q][b] = (int32_t)of[1][q];
			added[q][b] = (int32_t)of[0][q] - bare[q][b];
		}
	}
	for (int q = 0; q < QUANTILES; q++) {
		qsort(bare[q], (size_t)blocks, sizeof(int32_t), by_difference);
		qsort(added[q], (size_t)blocks, sizeof(int32_t), by_difference);
		printf("pread %s\t%d\t%d\n", quantiles[q].name,
		       bare[q][blocks / 2], added[q][blocks / 2]);
	}
	return unlink("latency.bin");
}

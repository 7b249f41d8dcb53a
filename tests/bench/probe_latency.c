/* SPDX-License-Identifier: MIT */
/*
 * The distribution of one cached 4 KiB pread, bare (libc's second name, which
 * nobody wraps) and through the symbol that tracers wrap, in turn in blocks so
 * that noise meets both alike. A file for argv[1].
 *
 * Prints for each quantile: name, ns bare, ns traced.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 2000
#define BLOCKS 150

extern ssize_t __pread64(int fd, void *buf, size_t n, off_t off);

static uint32_t ns[2][BLOCK * BLOCKS];

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

int main(int argc, char **argv)
{
	int blocks = argc > 1 ? atoi(argv[1]) : BLOCKS;
	static const struct {
		const char *name;
		double part;
	} wanted[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};
	static char buf[4096];
	int fd = open("latency.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (blocks < 1 || blocks > BLOCKS)
		return 2;
	for (int i = 0; i < 16; i++)
		if (write(fd, buf, sizeof(buf)) != (long)sizeof(buf))
			return 1;
	for (int b = 0; b < blocks * 2; b++)
		for (int i = 0; i < BLOCK; i++) {
			uint64_t start = now_ns();

			if (b & 1)
				pread64(fd, buf, 4096, (i & 15) * 4096);
			else
				__pread64(fd, buf, 4096, (i & 15) * 4096);
			ns[b & 1][b / 2 * BLOCK + i] =
				(uint32_t)(now_ns() - start);
		}
	for (int w = 0; w < 2; w++)
		qsort(ns[w], (size_t)(BLOCK * blocks), sizeof(**ns), by_value);
	for (int q = 0; q < 3; q++) {
		size_t at = (size_t)(BLOCK * blocks * wanted[q].part);

		printf("pread %s\t%u\t%u\n", wanted[q].name, ns[0][at],
		       ns[1][at]);
	}
	return unlink("latency.bin");
}

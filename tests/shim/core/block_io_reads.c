/* SPDX-License-Identifier: MIT */
/*
 * Reads files that are not in the page cache, by several calls and threads, and
 * one that is. Argument: a directory. Prints the bytes that the kernel counts
 * as fetched by the reading threads; status 77 if it counts none.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define PART (128 << 10)

static char buf[2][BYTES];
static const char *dir;

static int make(const char *name, int cached)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, buf[0], BYTES) != BYTES || fsync(fd) ||
	    lseek(fd, 0, SEEK_SET))
		exit(1);
	if (!cached)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

static long fetched(void)
{
	struct rusage now;

	getrusage(RUSAGE_THREAD, &now);
	return now.ru_inblock * 512;
}

static void *thread(void *sum)
{
	int fd = make("pread", 0);
	long before;

	/* The open is its first record: later fetches belong to the thread. */
	before = fetched();
	for (int i = 0; i < BYTES; i += PART)
		if (pread(fd, buf[1], PART, i) != PART)
			exit(1);
	*(long *)sum = fetched() - before;
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct iovec two[2] = {{buf[0], PART / 2}, {buf[1], PART / 2}};
	int plain, vector, small, cached;
	long before, sum[3] = {0};
	pthread_t t;

	if (argc < 2)
		return 2;
	dir = argv[1];
	plain = make("read", 0);
	vector = make("readv", 0);
	small = make("small", 0);
	cached = make("cached", 1);
	if (read(cached, buf[0], PART) !=
	    PART) /* the faults of the start are over */
		return 1;
	before = fetched();
	while (read(plain, buf[0], PART) > 0)
		;
	while (readv(vector, two, 2) > 0)
		;
	while (read(small, buf[0], 4096) > 0)
		;
	while (read(cached, buf[0], BYTES) > 0)
		;
	sum[0] = fetched() - before;
	pthread_create(&t, NULL, thread, &sum[1]);
	pthread_join(t, NULL);
	printf("%ld\n", sum[0] + sum[1]);
	return sum[0] && sum[1] ? 0 : 77;
}

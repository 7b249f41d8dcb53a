/* SPDX-License-Identifier: MIT */
/*
 * One thread opens files, starts writes, reads the data back and closes, twice.
 * Another thread asks whether the writes are complete. The argument: a folder.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WRITES 50
#define BYTES 5000

static struct aiocb block[2 * WRITES];
static atomic_int started, ended;
static char buf[BYTES];

static void *reap(void *unused)
{
	for (int i = 0; i < 2 * WRITES; i++) {
		while (started <= i || aio_error(&block[i]) == EINPROGRESS)
			usleep(10);
		if (aio_return(&block[i]) != BYTES)
			return NULL;
		ended = i + 1;
	}
	return unused;
}

static int one_file(const char *folder, int n)
{
	char path[4096];
	int fd, i;

	snprintf(path, sizeof(path), "%s/file.%d", folder, n);
	fd = open(path, O_CREAT | O_RDWR, 0644);
	for (i = 0; i < WRITES; i++) {
		struct aiocb *b = &block[n * WRITES + i];

		b->aio_fildes = fd;
		b->aio_buf = buf;
		b->aio_nbytes = BYTES;
		b->aio_offset = (off_t)i * BYTES;
		if (aio_write(b))
			return 1;
		started = n * WRITES + i + 1;
	}
	while (ended < (n + 1) * WRITES)
		usleep(10);
	for (i = 0; i < WRITES; i++)
		if (pread(fd, buf, BYTES, (off_t)i * BYTES) != BYTES)
			return 1;
	return close(fd);
}

int main(int argc, char **argv)
{
	pthread_t reaper;

	if (argc < 2 || pthread_create(&reaper, NULL, reap, NULL))
		return 1;
	alarm(30);
	return one_file(argv[1], 0) || one_file(argv[1], 1);
}

/* SPDX-License-Identifier: MIT */
/*
 * While its writes are in flight, a thread makes a file, which another thread
 * then opens. The argument: a folder.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define WRITES 20
#define BYTES 500000

static struct aiocb block[WRITES];
static char buf[BYTES], path[4096];
static atomic_bool made;

static void *open_it(void *unused)
{
	int fd;

	while (!made)
		usleep(10);
	fd = open(path, O_RDONLY);
	return fd >= 0 && !close(fd) ? path : unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *opened;
	int fd, new;

	snprintf(path, sizeof(path), "%s/data", argv[argc - 1]);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	snprintf(path, sizeof(path), "%s/made", argv[argc - 1]);
	pthread_create(&thread, NULL, open_it, NULL);
	for (int i = 0; i < WRITES; i++) {
		block[i].aio_fildes = fd;
		block[i].aio_buf = buf;
		block[i].aio_nbytes = BYTES;
		block[i].aio_offset = (off_t)i * BYTES;
		if (aio_write(&block[i]))
			return 1;
	}
	new = open(path, O_CREAT | O_WRONLY, 0644);
	close(new);
	made = true;
	pthread_join(thread, &opened);
	for (int i = 0; i < WRITES; i++) {
		while (aio_error(&block[i]) == EINPROGRESS)
			usleep(10);
		if (aio_return(&block[i]) != BYTES)
			return 1;
	}
	close(fd);
	return opened ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * Two threads that create, and that remove, the same files in the working
 * directory at the same time: one of the two calls fails.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 400

static pthread_barrier_t barrier;

static void *race(void *arg)
{
	char name[32];
	int fd;

	for (int i = 0; i < ROUNDS; i++) {
		snprintf(name, sizeof(name), "file%d", i);
		pthread_barrier_wait(&barrier);
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (fd >= 0)
			close(fd);
		pthread_barrier_wait(&barrier);
		unlink(name);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, race, NULL))
		return 1;
	race(NULL);
	return pthread_join(thread, NULL) ? 1 : 0;
}

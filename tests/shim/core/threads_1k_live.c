/* SPDX-License-Identifier: MIT */
/* A thousand threads that live at the same time, each with some I/O in turn. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 1000

static pthread_barrier_t all;
static int fd;

static void *thread(void *arg)
{
	intptr_t i = (intptr_t)arg;

	for (int k = 0; k < 3; k++) {
		if (pwrite(fd, "x", 1, i * 3 + k) != 1)
			return (void *)1;
		pthread_barrier_wait(&all);
	}
	return NULL;
}

int main(void)
{
	pthread_t th[THREADS];
	pthread_attr_t attr;
	void *r, *bad = NULL;

	fd = open("live.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pthread_barrier_init(&all, NULL, THREADS);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&th[i], &attr, thread, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(th[i], &r);
		if (r)
			bad = r;
	}
	printf("%s, size %ld\n", bad ? "bad" : "good",
	       (long)lseek(fd, 0, SEEK_END));
	return 0;
}

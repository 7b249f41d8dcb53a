/* SPDX-License-Identifier: MIT */
/*
 * I/O in the destructors of thread-specific data, in every round that POSIX
 * allows, and of C++ thread_local objects: a naive tracer has given up the
 * thread by then. Prints the size: each write must be in the trace.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *obj, void *dso);
extern void *__dso_handle;
static pthread_key_t keys[3];
static int fd;

static void put(void)
{
	int own = open("tls.bin", O_WRONLY | O_APPEND);

	if (write(own, "d", 1) != 1 || close(own))
		abort();
}

static void key_dtor(void *value)
{
	intptr_t round = (intptr_t)value;

	put();
	if (round < 4)
		pthread_setspecific(keys[0], (void *)(round + 1));
}

static void other_dtor(void *value)
{
	(void)value;
	put();
}

static void object_dtor(void *value)
{
	(void)value;
	put();
}

static void *thread(void *arg)
{
	pthread_setspecific(keys[0], (void *)1);
	pthread_setspecific(keys[1], (void *)1);
	pthread_setspecific(keys[2], (void *)1);
	__cxa_thread_atexit_impl(object_dtor, NULL, &__dso_handle);
	return arg;
}

int main(void)
{
	pthread_t th[50];

	fd = open("tls.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pthread_key_create(&keys[0], key_dtor);
	pthread_key_create(&keys[1], other_dtor);
	pthread_key_create(&keys[2], other_dtor);
	for (int i = 0; i < 50; i++)
		pthread_create(&th[i], NULL, thread, NULL);
	for (int i = 0; i < 50; i++)
		pthread_join(th[i], NULL);
	printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
	return 0;
}

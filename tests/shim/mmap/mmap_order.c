/* SPDX-License-Identifier: MIT */
/* Two threads touch groups of 16 pages of the mapped file argv[1] out of order;
 * prints the order. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define GROUP 65536l
#define GROUPS 64

static volatile char *at;
static long sum;

static void touch(int group)
{
	struct timespec ms = {0, 200000};

	sum += at[group * GROUP];
	printf("%d\n", group);
	nanosleep(&ms, NULL); /* longer than two processors' clocks differ */
}

static void *second(void *unused)
{
	for (int i = 0; i < GROUPS / 2; i++)
		touch(i * 27 % GROUPS);
	return unused;
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	char *p = mmap(NULL, (GROUPS + 1) * GROUP, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	p = (char *)(((unsigned long)p + GROUP - 1) & -(unsigned long)GROUP);
	at = mmap(p, GROUPS * GROUP, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	if (at == MAP_FAILED || pthread_create(&thread, NULL, second, NULL) ||
	    pthread_join(thread, NULL))
		return 2;
	for (int i = GROUPS / 2; i < GROUPS; i++)
		touch(i * 27 % GROUPS);
	munmap(p, GROUPS * GROUP);
	return 0;
}

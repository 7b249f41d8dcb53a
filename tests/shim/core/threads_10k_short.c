/* SPDX-License-Identifier: MIT */
/* Ten thousand short threads, or argv[1] x 8, eight at a time, one write
 * each. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int fd;

static void *one(void *arg)
{
	if (write(fd, "x", 1) != 1)
		return (void *)1;
	return arg;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1250;
	pthread_t th[8];
	void *bad, *all = NULL;

	fd = open("threads.bin", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 8; k++)
			pthread_create(&th[k], NULL, one, NULL);
		for (int k = 0; k < 8; k++) {
			pthread_join(th[k], &bad);
			if (bad)
				all = bad;
		}
	}
	printf("%s, size %ld\n", all ? "bad" : "good",
	       (long)lseek(fd, 0, SEEK_END));
	unlink("threads.bin");
	return 0;
}

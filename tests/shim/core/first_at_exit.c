/* SPDX-License-Identifier: MIT */
/*
 * A thread whose first I/O happens while main() returns. first_at_exit SPINS
 * FILE: it starts after SPINS rounds of a loop and counts its reads in FILE.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int go, fd;
static long *reads;

static void *late(void *spins)
{
	char c;

	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		;
	for (volatile long i = 0; i < *(long *)spins; i++)
		;
	for (;;) {
		if (pread(fd, &c, 1, 0) != 1)
			err(1, "pread");
		__atomic_fetch_add(reads, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static long spins;
	pthread_t t;
	int count;

	if (argc != 3)
		return 2;
	spins = atol(argv[1]);
	count = open(argv[2], O_RDWR | O_CREAT, 0600);
	fd = open(argv[0], O_RDONLY);
	if (count < 0 || fd < 0 || ftruncate(count, sizeof(*reads)))
		err(1, "open");
	reads = mmap(NULL, sizeof(*reads), PROT_READ | PROT_WRITE, MAP_SHARED,
		     count, 0);
	if (reads == MAP_FAILED || pthread_create(&t, NULL, late, &spins))
		err(1, "pthread_create");
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	return 0;
}

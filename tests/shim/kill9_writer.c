/* SPDX-License-Identifier: MIT */
/*
 * Two threads that write until they are killed and count their own calls in
 * shared memory, the oracle: argv[1] is the file of the counters, for each
 * thread its tid, calls begun and calls done; behind them the process id.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counts {
	uint64_t tid, begun, done;
};
static struct counts *counts;
static int data;

static void *writer(void *arg)
{
	volatile struct counts *c = &counts[(intptr_t)arg];
	char buf[512] = { 0 };

	c->tid = (uint64_t)syscall(SYS_gettid);
	for (uint64_t i = 0;; i++) {
		__atomic_store_n(&c->begun, i + 1, __ATOMIC_SEQ_CST);
		if (pwrite(data, buf, 1 + i % sizeof(buf), 0) < 0)
			return NULL;
		__atomic_store_n(&c->done, i + 1, __ATOMIC_SEQ_CST);
	}
}

int main(int argc, char **argv)
{
	pthread_t th;
	int fd;

	if (argc < 3)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, 4096))
		return 1;
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	data = open(argv[2], O_RDWR | O_CREAT, 0600);
	counts[2].tid = (uint64_t)getpid();
	pthread_create(&th, NULL, writer, (void *)1);
	writer((void *)0);
	return 0;
}

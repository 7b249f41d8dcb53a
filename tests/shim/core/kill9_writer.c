/* SPDX-License-Identifier: MIT */
/*
 * Two threads write until they are killed and count their own calls in shared
 * memory, the oracle. argv[1]: the file of the counters: for each thread its
 * tid, calls begun and calls done, then the process id. argv[3]: how the
 * process ends by itself while they write; "timer": one thread, interrupted by
 * a handler up to its last moment; "altstack": a thread whose signal stack is
 * above its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define ENOUGH 3000
#define STACK (256 << 10)

struct counts {
	uint64_t tid, begun, done;
};
static struct counts *counts;
static int data;

static int write_one(struct counts *c)
{
	char buf[512] = {0};
	uint64_t i = c->done;

	__atomic_store_n(&c->begun, i + 1, __ATOMIC_SEQ_CST);
	if (pwrite(data, buf, 1 + i % sizeof(buf), 0) < 0)
		return -1;
	__atomic_store_n(&c->done, i + 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void *writer(void *arg)
{
	struct counts *c = &counts[(intptr_t)arg];

	c->tid = (uint64_t)syscall(SYS_gettid);
	while (!write_one(c))
		;
	return NULL;
}

static void on_timer(int sig)
{
	(void)sig;
	write_one(&counts[0]);
}

static uint64_t done(int i)
{
	return __atomic_load_n(&counts[i].done, __ATOMIC_SEQ_CST);
}

static void *interrupted(void *stack)
{
	struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
	struct sigaction sa = {.sa_handler = on_timer};
	stack_t alt = {.ss_sp = stack, .ss_size = STACK};

	if (stack) {
		sigaltstack(&alt, NULL);
		sa.sa_flags = SA_ONSTACK;
	}
	counts[0].tid = (uint64_t)syscall(SYS_gettid);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (done(0) < (stack ? ENOUGH : 200))
		write(data, "", 1); /* interrupted by the handler */
	if (stack)
		setitimer(ITIMER_REAL, &never, NULL);
	return NULL;
}

/* In a thread, because the stack of the first one is above all others. */
static int below_its_handler(void)
{
	char *low = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	sigset_t alarm;
	pthread_t th;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, low, STACK);
	if (pthread_create(&th, &attr, interrupted, low + STACK))
		return 1;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	return pthread_join(th, NULL);
}

static int end_by(const char *way)
{
	pthread_t th;

	if (!strcmp(way, "timer")) {
		interrupted(NULL);
		return 0;
	}
	if (!strcmp(way, "altstack"))
		return below_its_handler();
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&th, NULL, writer, (void *)i);
	while (done(0) < ENOUGH || done(1) < ENOUGH)
		usleep(1000);
	if (!strcmp(way, "_exit"))
		_exit(0);
	if (!strcmp(way, "quick_exit"))
		quick_exit(0);
	return 0;
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
	if (argc > 3)
		return end_by(argv[3]);
	pthread_create(&th, NULL, writer, (void *)1);
	writer((void *)0);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A call inside a call: a signal handler writes while flock() waits. The inner
 * event ends before the outer one and is inside its time, and the end times of
 * a thread's events never decrease.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENOUGH 20 /* writes, 5 ms apart */

static int data;
static volatile int *writes; /* shared by both processes */

static void handler(int sig)
{
	if (pwrite(data, "n", 1, *writes) == 1)
		++*writes;
	(void)sig;
}

int main(void)
{
	struct itimerval every = {{0, 5000}, {0, 5000}}, none = {0};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	int fd = open("nested.lock", O_RDWR | O_CREAT, 0600), ready[2];
	pid_t parent = getpid();
	char c;

	data = open("nested.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	writes = mmap(NULL, sizeof(*writes), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (writes == MAP_FAILED || pipe(ready))
		return 1;
	if (!fork()) {
		int own = open("nested.lock", O_RDWR);

		flock(own, LOCK_EX);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		while (*writes < ENOUGH && getppid() == parent)
			usleep(1000);
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1)
		return 1;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	flock(fd, LOCK_EX);
	setitimer(ITIMER_REAL, &none, NULL);
	wait(NULL);
	printf("nested: %s\n", *writes > 2 ? "yes" : "no");
	return 0;
}

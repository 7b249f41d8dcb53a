/* SPDX-License-Identifier: MIT */
/*
 * Jumps out of calls that then never return: read() of a pipe, open() of a
 * FIFO, flock(), a lock by fcntl(), fread() and fgets() of a pipe. Later calls
 * must be recorded as usual. A thread sends the signals when it sees the call
 * asleep: after a fixed time the caller could be anywhere, in malloc() too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t jumps;
static pthread_t blocked;
static int turn = -1;

#define TURNS 120

static void handler(int sig)
{
	(void)sig;
	jumps++;
	siglongjmp(back, 1);
}

static int p[2], data, lock_fd;
static char buf[100];

static void block_in(int what)
{
	struct flock lk = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	FILE *f;

	switch (what) {
	case 0:
		(void)!read(p[0], buf, 1);
		break;
	case 1:
		open("jump.fifo", O_RDONLY);
		break;
	case 2:
		flock(lock_fd, LOCK_EX);
		break;
	case 3:
		fcntl(lock_fd, F_SETLKW, &lk);
		break;
	case 4:
		f = fdopen(dup(p[0]), "r"); /* leaked: its lock stays held */
		(void)!fread(buf, 1, 10, f);
		break;
	default:
		f = fdopen(dup(p[0]), "r");
		(void)!fgets(buf, 10, f);
	}
	printf("%d returned\n", what);
}

/* Holds both locks until it is ended. */
static pid_t locker(void)
{
	struct flock lk = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready) || (pid = fork()) < 0)
		exit(1);
	if (!pid) {
		int fd = open("jump.lock", O_RDWR);

		flock(fd, LOCK_EX);
		fcntl(fd, F_SETLK, &lk);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static int sleeps(void)
{
	char path[64], text[256] = "", *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		_exit(1);
	close(fd);
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}

static void *send_signals(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i ||
		       !sleeps())
			usleep(200);
		pthread_kill(blocked, SIGALRM);
	}
	return arg;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	volatile long done = 0;
	pthread_t sender;
	pid_t pid;

	data = open("jump.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	lock_fd = open("jump.lock", O_RDWR | O_CREAT, 0600);
	if (pipe(p) || mkfifo("jump.fifo", 0600))
		return 1;
	pid = locker();
	sigaction(SIGALRM, &sa, NULL);
	blocked = pthread_self();
	if (pthread_create(&sender, NULL, send_signals, NULL))
		return 1;
	for (volatile int i = 0; i < TURNS; i++) {
		if (!sigsetjmp(back, 1)) {
			__atomic_store_n(&turn, i, __ATOMIC_RELEASE);
			block_in(i % 6);
		}
		if (pwrite(data, buf, 10, i * 10) == 10 &&
		    pread(data, buf, 10, i * 10) == 10)
			done++;
	}
	pthread_join(sender, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%d jumps, %ld pairs\n", (int)jumps, (long)done);
	return 0;
}

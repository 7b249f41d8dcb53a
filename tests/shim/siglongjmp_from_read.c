/* SPDX-License-Identifier: MIT */
/*
 * Jumps out of calls that never return: read of a pipe, open of a FIFO, flock,
 * a lock by fcntl, fread and fgets of a pipe. What comes afterwards must be
 * recorded as if nothing had happened.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

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
		f = fdopen(dup(p[0]), "r"); /* lost: its lock is never left */
		(void)!fread(buf, 1, 10, f);
		break;
	default:
		f = fdopen(dup(p[0]), "r");
		(void)!fgets(buf, 10, f);
	}
	printf("%d returned\n", what);
}

/* Holds both locks until it is told to end. */
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

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	struct itimerval soon = {{0, 0}, {0, 2000}};
	volatile long done = 0;
	pid_t pid;

	data = open("jump.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	lock_fd = open("jump.lock", O_RDWR | O_CREAT, 0600);
	if (pipe(p) || mkfifo("jump.fifo", 0600))
		return 1;
	pid = locker();
	sigaction(SIGALRM, &sa, NULL);
	for (volatile int i = 0; i < 120; i++) {
		if (!sigsetjmp(back, 1)) {
			setitimer(ITIMER_REAL, &soon, NULL);
			block_in(i % 6);
		}
		if (pwrite(data, buf, 10, i * 10) == 10 &&
		    pread(data, buf, 10, i * 10) == 10)
			done++;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%d jumps, %ld pairs\n", (int)jumps, (long)done);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Two threads fill window after window by reads, while the main thread opens
 * files, dup2()s one onto a free number, and forks: each open gets the lowest
 * number, the file holds only its own bytes, and a child has the descriptors of
 * its parent. Then a handler jumps out of reads, and no descriptor is left
 * open. Prints the number of violations.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define READS 1000000
#define JUMPS 4000

static int data, running = 2;
static sigjmp_buf out;

static int open_now(void)
{
	int n = 0;

	for (int fd = 0; fd < 600; fd++)
		n += syscall(SYS_fcntl, fd, F_GETFD) >= 0;
	return n;
}

static void *reader(void *arg)
{
	char b[16];

	for (long i = 0; i < READS; i++)
		if (pread(data, b, sizeof(b), i * 7919 % 4000) < 0)
			break;
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return arg;
}

static void meet_readers(void)
{
	int mine = open("mine", O_RDWR | O_CREAT | O_TRUNC, 0600), status;
	int other = 0, lost = 0, more = 0, n = open_now();
	struct stat a, b;
	pthread_t th[2];

	fstat(mine, &a);
	for (int i = 0; i < 2; i++)
		pthread_create(&th[i], NULL, reader, NULL);
	for (int i = 0; __atomic_load_n(&running, __ATOMIC_ACQUIRE); i++) {
		int fd = open("data", O_RDONLY);

		other += fd != mine + 1;
		close(fd);
		lost += dup2(mine, mine + 1) != mine + 1;
		for (int k = 0; k < 4; k++) /* while the number is ours */
			lost += fstat(mine + 1, &b) || a.st_ino != b.st_ino;
		close(mine + 1);
		if (i % 64)
			continue;
		if (!fork())
			syscall(SYS_exit_group, open_now());
		wait(&status);
		more += WEXITSTATUS(status) != n;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(th[i], NULL);
	fstat(mine, &a);
	close(mine);
	printf("another number %d, ours taken %d, bytes that are not ours %ld, "
	       "children with more %d\n",
	       other, lost, (long)a.st_size, more);
}

static void on_timer(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void jump(void)
{
	struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	volatile int jumps = 0;
	char b[16];

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &every, NULL);
	if (sigsetjmp(out, 1))
		jumps++;
	while (jumps < JUMPS)
		if (pread(data, b, sizeof(b), 0) < 0)
			return;
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
}

int main(void)
{
	char b[4096] = "";
	int n;

	data = open("data", O_RDWR | O_CREAT, 0600);
	if (write(data, b, sizeof(b)) != sizeof(b))
		return 1;
	meet_readers();
	n = open_now();
	jump();
	printf("left open after jumps %d\n", open_now() - n);
	return 0;
}

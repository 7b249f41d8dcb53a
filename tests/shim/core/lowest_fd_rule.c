/* SPDX-License-Identifier: MIT */
/*
 * Every call that makes a descriptor gets the lowest free number, and no other
 * descriptor is open: also while threads start and end, in a forked child, and
 * after the exit handlers.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* By fcntl(), because listing /proc/self/fd would open a descriptor. */
static void open_ones(const char *when)
{
	printf("%s:", when);
	for (int fd = 0; fd < 2000; fd++)
		if (syscall(SYS_fcntl, fd, F_GETFD) >= 0)
			printf(" %d", fd);
	printf("\n");
	fflush(stdout);
}

static void *thread(void *arg)
{
	char tmpl[] = "low.XXXXXX";
	int fd = mkstemp(tmpl);

	printf("thread: mkstemp %d\n", fd);
	for (int i = 0; i < 20000; i++) /* more than fit into a window */
		if (pwrite(fd, "x", 1, i) != 1)
			break;
	open_ones("after many writes");
	close(fd);
	unlink(tmpl);
	return arg;
}

static void at_exit(void)
{
	open_ones("at exit");
}

int main(void)
{
	int p[2], s[2], fd;
	pthread_t th;
	DIR *d;
	FILE *f;

	atexit(at_exit);
	open_ones("start");
	fd = open("low.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	printf("open %d\n", fd);
	f = fopen("low.txt", "w");
	printf("fopen %d\n", fileno(f));
	d = opendir(".");
	printf("opendir %d\n", dirfd(d));
	if (pipe(p) || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return 1;
	printf("pipe %d %d socketpair %d %d\n", p[0], p[1], s[0], s[1]);
	printf("memfd %d\n", memfd_create("m", 0));
	printf("eventfd %d\n", eventfd(0, 0));
	printf("dup %d\n", dup(fd));
	printf("F_DUPFD %d\n", fcntl(fd, F_DUPFD, 100));
	printf("F_DUPFD_CLOEXEC %d\n", fcntl(fd, F_DUPFD_CLOEXEC, 0));
	closedir(d);
	printf("creat in the hole %d\n", creat("low.two", 0600));
	close(p[0]);
	printf("openat in the hole %d\n",
	       openat(AT_FDCWD, "low.two", O_RDONLY));
	pthread_create(&th, NULL, thread, NULL);
	pthread_join(th, NULL);
	open_ones("after the thread");
	fflush(stdout);
	if (!fork()) {
		printf("child: open %d\n", open("low.bin", O_RDONLY));
		thread(NULL);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	fclose(f);
	printf("last %d\n", open("low.bin", O_RDONLY));
	return unlink("low.bin") || unlink("low.txt") || unlink("low.two");
}

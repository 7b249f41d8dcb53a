/* SPDX-License-Identifier: MIT */
/*
 * Offsets of one open file description through dup, dup2, fcntl, fork and seek,
 * and of two descriptions of one file. Prints for each transfer the expected
 * line of the trace: call, bytes, offset.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char buf[4096];

static void rd(int fd, size_t n)
{
	long at = (long)lseek64(fd, 0, SEEK_CUR);
	long r = (long)read(fd, buf, n);

	printf("read %ld %ld\n", r, at);
}

static void wr(int fd, size_t n)
{
	long r = (long)write(fd, buf, n);

	printf("write %ld %ld\n", r, (long)lseek64(fd, 0, SEEK_CUR) - r);
}

int main(void)
{
	int a = open("dup.bin", O_RDWR | O_CREAT | O_TRUNC, 0600), b, c, d, e;
	pid_t pid;

	wr(a, 4000);
	lseek(a, 100, SEEK_SET);
	rd(a, 10);
	b = dup(a);
	rd(b, 20);
	c = dup2(a, 30);
	rd(c, 30);
	d = fcntl(c, F_DUPFD, 40);
	rd(d, 40);
	close(a);
	rd(b, 50);
	e = open("dup.bin", O_RDONLY);
	rd(e, 7);
	rd(b, 3);
	rd(e, 7);
	printf("pread %ld 1000\n", (long)pread(e, buf, 11, 1000));
	rd(e, 7);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		rd(b, 60);
		rd(e, 5);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	rd(b, 70);
	rd(e, 6);
	lseek(b, -100, SEEK_END);
	rd(b, 200);
	rd(b, 200);
	close(e);
	e = open("dup.bin", O_WRONLY | O_APPEND);
	wr(e, 9);
	wr(e, 9);
	unlink("dup.bin");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A job for the oracle: POSIX calls of every kind on files below a folder, from
 * two processes of two threads each; or, with "stdio", streams.
 *
 * Its calls depend only on the name of the folder: two runs make the same
 * calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;

static char *name(char *buf, int who, const char *what)
{
	snprintf(buf, 512, "%s/%s.%d", folder, what, who);
	return buf;
}

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void vectors(int fd)
{
	char a[100], b[3000];
	struct iovec iov[2] = {{a, sizeof(a)}, {b, sizeof(b)}};

	memset(a, 1, sizeof(a));
	memset(b, 2, sizeof(b));
	check(writev(fd, iov, 2) == 3100, "writev");
	check(pwritev(fd, iov, 2, 50) == 3100, "pwritev");
	check(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	check(readv(fd, iov, 2) == 3100, "readv");
	check(preadv(fd, iov, 2, 3000) == 150, "preadv at the end");
	check(preadv2(fd, iov, 1, -1, 0) == 50, "preadv2 at the position");
}

static void *posix(void *arg)
{
	int who = (int)(long)arg, fd, other;
	char path[512], to[512], buf[4096] = {0};
	struct stat st;

	fd = open(name(path, who, "a"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	check(fd >= 0, "open");
	for (int i = 0; i < 20 + who; i++)
		check(write(fd, buf, (size_t)(1000 + i)) > 0, "write");
	for (int i = 0; i < 30; i++)
		check(pread(fd, buf, sizeof(buf), i * 777) > 0, "pread");
	check(pwrite(fd, buf, 10, 100000) == 10, "pwrite");
	check(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	while (read(fd, buf, 3000) > 0)
		;
	other = dup(fd);
	check(lseek(other, -5, SEEK_END) > 0 && read(fd, buf, 100) == 5, "dup");
	close(other);
	check(fsync(fd) == 0 && ftruncate(fd, 5000) == 0, "fsync");
	close(fd);
	/* Not fd again: the other thread may have reused it. */
	check(close(fd + 500) < 0 && errno == EBADF, "close of nothing");
	check(stat(path, &st) == 0 && lstat(path, &st) == 0, "stat");
	fd = openat(AT_FDCWD, name(path, who, "v"), O_RDWR | O_CREAT, 0600);
	vectors(fd);
	check(fstat(fd, &st) == 0 && st.st_size == 3150, "fstat");
	close(fd);
	fd = creat(name(path, who, "c"), 0600);
	check(read(fd, buf, 1) < 0, "read of what was opened to write");
	check(write(fd, NULL, 0) == 0, "write of nothing");
	close(fd);
	check(rename(path, name(to, who, "d")) == 0 && unlink(to) == 0,
	      "rename");
	check(open(name(path, who, "none"), O_RDONLY) < 0, "open of nothing");
	check(stat(path, &st) < 0, "stat of nothing");
	return NULL;
}

static void *streams(void *arg)
{
	int who = (int)(long)arg;
	char path[512], buf[10000] = {0};
	FILE *f = fopen(name(path, who, "s"), "w");

	check(f != NULL, "fopen");
	for (int i = 0; i < 100; i++)
		check(fwrite(buf, 1, (size_t)(100 + i), f) > 0, "fwrite");
	fclose(f);
	f = fopen(path, "r");
	check(f != NULL, "fopen");
	while (fread(buf, 13, 5, f) == 5)
		;
	fclose(f);
	f = fopen(path, "r");
	check(f != NULL, "fopen");
	while (fread(buf, 1, sizeof(buf), f) > 0)
		;
	fclose(f);
	return NULL;
}

static void two_threads(void *(*fn)(void *), long who)
{
	pthread_t t;

	check(pthread_create(&t, NULL, fn, (void *)(who + 1)) == 0, "thread");
	fn((void *)who);
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	void *(*fn)(void *) = posix;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	folder = argv[1];
	if (argc > 2 && strcmp(argv[2], "stdio") == 0)
		fn = streams;
	pid = fork();
	if (pid == 0) {
		two_threads(fn, 10);
		exit(0);
	}
	two_threads(fn, 20);
	check(waitpid(pid, &status, 0) == pid && status == 0, "child");
	return 0;
}

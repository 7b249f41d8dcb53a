/* SPDX-License-Identifier: MIT */
/*
 * Cases that need a model of the job: lines that it writes in every way and
 * reads back, locks that it fails to get, and calls that fail for their
 * arguments. "make" makes its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/job.h"

static long read_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256], *more = NULL;
	size_t room = 0;
	long n = 0;

	while (f && n < 20 && fgets(line, sizeof(line), f))
		n++;
	while (f && getline(&more, &room, f) > 0)
		n++;
	free(more);
	if (f)
		fclose(f);
	return n;
}

/* A status file with other lines each time, which gets its name by a rename. */
static void rewrite(int times)
{
	for (int k = 0; k < times; k++) {
		FILE *f = fopen("status.tmp", "w");

		for (int i = 0; f && i < 30; i++)
			fprintf(f, "%*d\n", 1 + (i * 7 + k * 3) % 40, i);
		if (f)
			fclose(f);
		rename("status.tmp", "status");
		want("lines of a status file", read_lines("status"), 30);
	}
}

static void write_lines(void)
{
	char line[64];
	int fd = open("calls", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	FILE *f = fopen("stream", "w");

	for (int i = 0; i < 50; i++) {
		int n = snprintf(line, sizeof(line), "%*d\n", i % 37, i);

		if (write(fd, line, (size_t)n) != n ||
		    fwrite(line, 1, (size_t)n, f) != (size_t)n)
			bad = 1;
	}
	close(fd);
	fclose(f);
	want("lines of write()", read_lines("calls"), 50);
	want("lines of fwrite()", read_lines("stream"), 50);
	f = fopen("log", "a");
	for (int i = 0; i < 25; i++)
		fprintf(f, "appended %d\n", i * i);
	fclose(f);
	want("lines of a log", read_lines("log"), 5 + 25);
}

/* Read stderr back while it is still open. */
static void write_errors(void)
{
	FILE *keep = stderr;

	if (!freopen("errors", "w", stderr))
		bad = 1;
	for (int i = 0; i < 10; i++)
		fprintf(keep, "error %*d\n", i, i);
	want("lines of stderr", read_lines("errors"), 10);
}

/* Ask for locks that a child holds. */
static void ask_for_locks(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open("locked", O_RDWR | O_CREAT, 0644), told[2], go[2];
	char byte = 0;
	pid_t child;

	if (fd < 0 || pipe(told) || pipe(go))
		exit(1);
	child = fork();
	if (!child) {
		int own = open("locked", O_RDWR);

		flock(own, LOCK_EX);
		fcntl(own, F_SETLK, &lock);
		_exit(write(told[1], &byte, 1) != 1 ||
		      read(go[0], &byte, 1) != 1);
	}
	want("read()", read(told[0], &byte, 1), 1);
	want("fcntl()", fcntl(fd, F_SETLK, &lock) ? errno : 0, EAGAIN);
	want("lockf()", lockf(fd, F_TLOCK, 0) ? errno : 0, EAGAIN);
	want("flock()", flock(fd, LOCK_EX | LOCK_NB) ? errno : 0, EWOULDBLOCK);
	want("write()", write(go[1], &byte, 1), 1);
	waitpid(child, NULL, 0);
	want("flock()", flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
}

static void ask_too_much(void)
{
	static struct iovec part[2000];
	char byte = 0, name[300];
	int fd = open("calls", O_RDWR);
	struct stat st;

	for (int i = 0; i < 2000; i++)
		part[i] = (struct iovec){&byte, 1};
	want("readv()", readv(fd, part, 2000) < 0 ? errno : 0, EINVAL);
	want("pwritev()", pwritev(fd, part, 1025, 0) < 0 ? errno : 0, EINVAL);
	close(fd);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	want("open()", open(name, O_RDONLY) < 0 ? errno : 0, ENAMETOOLONG);
	want("stat()", stat("fifo", &st), 0);
	want("unlink()", unlink("fifo"), 0);
	fd = open("/", O_RDONLY | O_DIRECTORY);
	want("fstat()", fstat(fd, &st), 0);
	close(fd);
	want("fstat()", fstat(0, &st) ? errno : 0, EBADF);
}

/* printf() into a pipe, between other calls that libc buffers. */
static void print_to_pipe(void)
{
	for (int i = 0; i < 3000; i++) {
		printf("%d ", i);
		fwrite("line\n", 1, 5, stdout);
	}
	printf("end\n");
	fflush(stdout);
}

static void make(void)
{
	FILE *f = fopen("log", "w");

	for (int i = 0; f && i < 5; i++)
		fprintf(f, "before %d\n", i);
	if (f)
		fclose(f);
	if (mkfifo("fifo", 0600))
		bad = 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "make")) {
		make();
		return bad;
	}
	write_lines();
	rewrite(3);
	ask_for_locks();
	ask_too_much();
	print_to_pipe();
	write_errors();
	return bad;
}

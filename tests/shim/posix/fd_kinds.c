/* SPDX-License-Identifier: MIT */
/*
 * Unusual descriptors: closed ones, named pipes, O_PATH. Prints values that
 * must be the same bare and traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void said(const char *what, long r)
{
	printf("%s %ld %s\n", what, r, r < 0 ? strerror(errno) : "-");
	errno = 0;
}

/* Open files, opened again by their number. */
static void again(void)
{
	char name[64], text[16];
	int fd = open("number.bin", O_RDWR | O_CREAT, 0600), more;

	said("write", write(fd, "0123456789", 10));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	more = open(name, O_RDONLY);
	said("read by /proc/self/fd", read(more, text, 10));
	close(more);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	more = open(name, O_RDONLY);
	said("read by /dev/fd", read(more, text, 4));
	close(more);
	close(fd);
}

/* As in <(command) of a shell: the number names a pipe. */
static void pipe_again(void)
{
	char name[64], text[16];
	int ends[2], more;

	if (pipe(ends))
		return;
	said("write", write(ends[1], "hello", 5));
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	more = open(name, O_RDONLY);
	said("read of a pipe by /dev/fd", read(more, text, 3));
	close(more);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[0]);
	more = open(name, O_RDONLY);
	said("read of a pipe by /proc/self/fd", read(more, text, 2));
	close(more);
	close(ends[0]);
	close(ends[1]);
}

static void fifo(void)
{
	char text[32];
	int fd;

	said("mkfifo", mkfifo("named", 0600));
	fflush(stdout);
	if (!fork()) {
		fd = open("named", O_WRONLY);
		for (int i = 0; i < 3; i++)
			if (write(fd, "message", 7) != 7)
				_exit(1);
		_exit(0);
	}
	fd = open("named", O_RDONLY);
	for (int i = 0; i < 3; i++)
		said("read of the pipe", read(fd, text, 7));
	wait(NULL);
	said("read at its end", read(fd, text, 7));
	close(fd);
}

int main(int argc, char **argv)
{
	char text[32];
	struct stat st;
	int fd = open("closed", O_RDWR | O_CREAT, 0644);

	close(fd);
	said("read, closed", read(fd, text, 7));
	said("pwrite, closed", pwrite(fd, text, 7, 3));
	said("fstat, closed", fstat(fd, &st));
	said("fsync, no number", fsync(-1));
	fd = open("closed", O_PATH);
	said("read, O_PATH", read(fd, text, 7));
	said("fstat, O_PATH", fstat(fd, &st));
	said("openat under O_PATH of a file", openat(fd, "x", O_RDONLY));
	close(fd);
	again();
	pipe_again();
	fifo();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A program that logs the offsets of its reads and writes: before each it
 * queries the kernel by raw system calls, which no library can see, and writes
 * "call path offset bytes" to ORACLE.PID. Run as: offsets_probe CASE ORACLE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char buf[1 << 16];
static const char *oracle;
static char *self;

static void say(const char *call, const char *path, long offset, long bytes)
{
	char name[4096], line[4400];
	int n = snprintf(line, sizeof(line), "%s\t%s\t%ld\t%ld\n", call, path,
			 offset, bytes);
	long fd;

	snprintf(name, sizeof(name), "%s.%ld", oracle, syscall(SYS_getpid));
	fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND,
		     0600);
	if (syscall(SYS_write, fd, line, n) != n)
		_exit(99);
	syscall(SYS_close, fd);
}

static long position(int fd)
{
	return syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

/* The offset of a write with the argument @offset. */
static long place(int fd, long offset)
{
	struct stat st;

	if (!(syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND))
		return offset;
	return syscall(SYS_fstat, fd, &st) ? -1 : st.st_size;
}

static void rd(int fd, size_t n, const char *path)
{
	long at = position(fd);

	say("read", path, at, read(fd, buf, n));
}

static void wr(int fd, size_t n, const char *path)
{
	long at = place(fd, position(fd));

	say("write", path, at, write(fd, buf, n));
}

static void pw(int fd, size_t n, long offset, const char *path)
{
	long at = place(fd, offset);

	say("pwrite", path, at, pwrite(fd, buf, n, offset));
}

static void pr(int fd, size_t n, long offset, const char *path)
{
	say("pread", path, offset, pread(fd, buf, n, offset));
}

static void again(const char *what)
{
	execl(self, self, what, oracle, NULL);
	_exit(98);
}

/* The second half of do_exec, after exec. */
static void do_execd(void)
{
	rd(10, 100, "a");
	rd(11, 50, "a");
	lseek(10, 5, SEEK_CUR);
	rd(11, 7, "a");
	wr(12, 9, "w");
	close(11);
	rd(10, 3, "a");
}

static void do_exec(void)
{
	int in = open("a", O_RDONLY), out, status;
	pid_t pid;

	rd(in, 1000, "a");
	dup2(in, 10);
	dup2(in, 11);
	out = open("w", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	wr(out, 10, "w");
	dup2(out, 12);
	pid = fork();
	if (!pid) {
		rd(10, 10, "a");
		again("execd");
	}
	waitpid(pid, &status, 0);
	rd(in, 20, "a");
	wr(out, 5, "w");
	pid = vfork();
	if (!pid) {
		execl(self, self, "execd", oracle, NULL);
		_exit(98);
	}
	waitpid(pid, &status, 0);
	rd(in, 30, "a");
	wr(12, 6, "w");
	close(12);
	wr(out, 6, "w");
}

static void do_append(void)
{
	int a = open("ap", O_WRONLY | O_CREAT | O_APPEND, 0644), b, c;

	wr(a, 100, "ap");
	b = open("ap", O_WRONLY | O_APPEND);
	wr(b, 11, "ap");
	wr(a, 7, "ap");
	lseek(a, 0, SEEK_SET);
	wr(a, 3, "ap");
	pw(a, 5, 0, "ap");
	wr(a, 2, "ap");
	c = open("ap", O_RDWR);
	rd(c, 50, "ap");
	pw(c, 10, 20, "ap");
	rd(c, 5, "ap");
	if (ftruncate(c, 30))
		_exit(97);
	wr(a, 4, "ap");
	wr(c, 100, "ap");
	wr(a, 1, "ap");
	fcntl(c, F_SETFL, O_APPEND);
	wr(c, 8, "ap");
	fcntl(c, F_SETFL, 0);
	wr(c, 8, "ap");
	rename("ap", "old");
	b = open("ap", O_WRONLY | O_CREAT | O_APPEND, 0644);
	wr(b, 40, "ap");
	wr(a, 5, "ap");
	wr(b, 3, "ap");
	unlink("ap");
	c = open("ap", O_WRONLY | O_CREAT | O_APPEND, 0644);
	wr(c, 9, "ap");
	wr(b, 1, "ap");
	wr(c, 9, "ap");
}

static void do_big(void)
{
	struct iovec v[3] = {{buf, 10}, {buf + 10, 0}, {buf + 20, 30}};
	const long g5 = 5l << 30;
	int fd = open("big", O_RDWR | O_CREAT, 0644);
	long at;

	pw(fd, 100, g5, "big");
	pr(fd, 200, g5 - 50, "big");
	lseek(fd, g5 + 50, SEEK_SET);
	rd(fd, 60, "big");
	lseek(fd, -10, SEEK_END);
	wr(fd, 30, "big");
	lseek(fd, 0, SEEK_DATA);
	rd(fd, 10, "big");
	say("preadv", "big", g5, preadv(fd, v, 3, g5));
	say("pwritev", "big", 2 * g5, pwritev(fd, v, 3, 2 * g5));
	at = position(fd);
	say("readv", "big", at, readv(fd, v, 3));
	at = position(fd);
	say("writev", "big", at, writev(fd, v, 3));
	at = position(fd);
	say("preadv2", "big", at, preadv2(fd, v, 3, -1, 0));
	rd(fd, 7, "big");
	pr(fd, 100, 1l << 62, "big");
}

static void do_paths(void)
{
	int dir, fd, status;
	pid_t pid;

	mkdir("d", 0755);
	mkdir("d/e", 0755);
	dir = open("d", O_RDONLY | O_DIRECTORY);
	wr(openat(dir, "x", O_RDWR | O_CREAT, 0644), 10, "d/x");
	rd(openat(dir, "../a", O_RDONLY), 10, "a");
	if (chdir("d/e"))
		_exit(97);
	rd(open("../x", O_RDONLY), 4, "d/x");
	wr(open("y", O_RDWR | O_CREAT, 0644), 3, "d/e/y");
	if (fchdir(dir))
		_exit(97);
	pid = fork();
	if (!pid) {
		rd(open("x", O_RDONLY), 2, "d/x");
		rd(chdir("..") ? -1 : open("a", O_RDONLY), 2, "a");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	rd(open("e/y", O_RDONLY), 2, "d/e/y");
	rename("x", "z");
	fd = open("z", O_RDONLY);
	rd(fd, 5, "d/z");
	unlink("z");
	rd(fd, 50, "d/z");
	rd(fd, 50, "d/z");
	wr(open("tab\t", O_RDWR | O_CREAT, 0644), 1, "d/tab\\t");
	wr(open("quote\"'", O_RDWR | O_CREAT, 0644), 2, "d/quote\"'");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	self = argv[0];
	oracle = argv[2];
	if (!strcmp(argv[1], "exec"))
		do_exec();
	else if (!strcmp(argv[1], "execd"))
		do_execd();
	else if (!strcmp(argv[1], "append"))
		do_append();
	else if (!strcmp(argv[1], "big"))
		do_big();
	else if (!strcmp(argv[1], "paths"))
		do_paths();
	else
		return 2;
	return 0;
}

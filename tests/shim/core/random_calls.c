/* SPDX-License-Identifier: MIT */
/*
 * Random calls, from SEED, on descriptors that are copied and that children
 * inherit. Prints "call offset bytes result errno" of each in order. The kernel
 * gives the offset of a transfer, by system calls that the shim does not see;
 * "-" means that it is not asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schemas/syscall.h"
#include "tests/lib/random.h"

#define HELD 12
#define LINES 20000
#define ROOM 60
#define NO -2 /* not asked */

static char (*printed)[ROOM]; /* shared with children: one runs at a time */
static _Atomic int *lines;
static int held[HELD], n_held;
static char buf[1 << 16];
static struct stat st;
static char *volatile nowhere = (char *)8;

static long place(int fd)
{
	return raw(SYS_lseek, fd, 0, SEEK_CUR);
}

static void say(const char *call, long at, long result)
{
	int err = result < 0 ? errno : 0;
	char *to = printed[atomic_fetch_add(lines, 1) % LINES];

	if (at < 0 || err)
		snprintf(to, ROOM, "%s - %ld %d", call, result, err);
	else
		snprintf(to, ROOM, "%s %ld %ld %d", call, at, result, err);
}

static void hold(const char *call, int fd)
{
	say(call, NO, fd);
	if (fd < 0)
		return;
	if (n_held < HELD)
		held[n_held++] = fd;
	else
		say("close", NO, close(fd));
}

static const char *draw_name(char *out)
{
	static const char *const in[] = {"", "a/", "./", "a/../"};

	sprintf(out, "%sf%d", in[chance_below(4)], (int)chance_below(10));
	return out;
}

static size_t draw_size(void)
{
	return chance_below(chance_below(8) ? 500 : 60000);
}

static int draw_parts(struct iovec *v)
{
	int n = 1 + (int)chance_below(3);

	for (int i = 0; i < n; i++)
		v[i] = (struct iovec){buf, chance_below(3000)};
	return n;
}

static void opens(void)
{
	static const int flags[] = {
		O_RDONLY,
		O_RDWR | O_CREAT,
		O_WRONLY | O_CREAT | O_APPEND,
		O_RDWR | O_CREAT | O_TRUNC,
		O_WRONLY | O_CREAT | O_EXCL,
		O_RDWR | O_CREAT | O_APPEND,
		O_RDONLY | O_DIRECTORY,
	};
	int how = flags[chance_below(7)], dir;
	char name[40];

	draw_name(name);
	switch (chance_below(4)) {
	case 0:
		hold("open", open(name, how, 0600));
		break;
	case 1:
		hold("openat", openat(AT_FDCWD, name, how | O_CLOEXEC, 0600));
		break;
	case 2:
		dir = open("a", O_RDONLY | O_DIRECTORY);
		say("open", NO, dir);
		hold("openat", openat(dir, "f3", how, 0600));
		say("close", NO, close(dir));
		break;
	default:
		hold("open", open(".", O_TMPFILE | O_RDWR, 0600));
	}
}

static void copies(int fd)
{
	int i = (int)chance_below((uint64_t)n_held);

	switch (chance_below(5)) {
	case 0:
		hold("dup", dup(fd));
		break;
	case 1:
		hold("fcntl", fcntl(fd, F_DUPFD_CLOEXEC, 20));
		break;
	case 2:
		if (held[i] != fd)
			say("dup2", NO, dup2(fd, held[i]));
		break;
	case 3:
		if (held[i] != fd)
			say("dup3", NO, dup3(fd, held[i], O_CLOEXEC));
		break;
	default:
		say("close", NO, close(held[i]));
		held[i] = held[--n_held];
	}
}

static void reads(int fd)
{
	long at = place(fd), there = (long)chance_below(90000);
	size_t size = draw_size();
	struct iovec v[4];
	int n = draw_parts(v);

	switch (chance_below(8)) {
	case 0:
	case 1:
		say("read", at, read(fd, buf, size));
		break;
	case 2:
		say("read", at, syscall(SYS_read, fd, buf, size));
		break;
	case 3:
		say("readv", at, readv(fd, v, n));
		break;
	case 4:
		say("preadv2", at, preadv2(fd, v, n, -1, 0));
		break;
	case 5:
		say("pread", there, pread(fd, buf, size, there));
		break;
	case 6:
		say("preadv", there, preadv(fd, v, n, there));
		break;
	default:
		say("read", at, read(fd, nowhere, size + 1));
	}
}

/* Appending or not: it ends at the position of the kernel. */
static void wrote(const char *call, int fd, ssize_t n)
{
	int err = errno;
	long at = n > 0 ? place(fd) - n : NO;

	errno = err;
	say(call, at, n);
}

static void writes(int fd)
{
	long there = (long)chance_below(90000);
	int flags = fcntl(fd, F_GETFL);
	size_t size = 1 + draw_size();
	struct iovec v[4];
	int n = draw_parts(v);

	say("fcntl", NO, flags);
	switch (chance_below(5)) {
	case 0:
	case 1:
		wrote("write", fd, write(fd, buf, size));
		break;
	case 2:
		wrote("writev", fd, writev(fd, v, n));
		break;
	case 3:
		wrote("pwritev2", fd, pwritev2(fd, v, n, -1, 0));
		break;
	default:
		if (!(flags & O_APPEND))
			say("pwrite", there, pwrite(fd, buf, size, there));
	}
}

static void moves(int fd)
{
	static const int whence[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_HOLE};
	long off = (long)chance_below(90000);

	switch (chance_below(6)) {
	case 0:
		say("ftruncate", NO, ftruncate(fd, off));
		break;
	case 1:
		say("fallocate", NO, fallocate(fd, off & 1, off, 1 + off / 9));
		break;
	case 2:
		say("lseek", NO, lseek(fd, -off / 500, SEEK_END));
		break;
	default:
		say("lseek", NO, lseek(fd, off, whence[chance_below(4)]));
	}
}

/* Do two descriptors share a position, because they are one OFD? */
static bool are_one(int a, int b)
{
	long at = place(a);
	bool one;

	raw(SYS_lseek, a, at + 1, SEEK_SET);
	one = place(b) == at + 1;
	raw(SYS_lseek, a, at, SEEK_SET);
	return one;
}

static void between(int from, int to)
{
	bool given = chance_below(2), given2 = chance_below(2);
	off_t off = (off_t)chance_below(5000),
	      off2 = (off_t)chance_below(50000);
	long at = given ? off : place(from), at2 = given2 ? off2 : place(to);
	const char *call = "sendfile";
	ssize_t n;

	if (from == to || are_one(from, to))
		return;
	if (chance_below(2)) {
		at2 = place(to);
		n = sendfile(to, from, given ? &off : NULL, draw_size());
	} else {
		call = "copy_file_range";
		n = copy_file_range(from, given ? &off : NULL, to,
				    given2 ? &off2 : NULL, draw_size(), 0);
	}
	say(call, at, n);
	if (n >= 0)
		say("copy_out", n ? at2 : NO, n);
}

static void names(void)
{
	char a[40], b[40];

	draw_name(a);
	draw_name(b);
	switch (chance_below(8)) {
	case 0:
		say("stat", NO, stat(a, &st));
		break;
	case 1:
		say("lstat", NO, lstat(a, &st));
		break;
	case 2:
		say("rename", NO, rename(a, b));
		break;
	case 3:
		say("renameat2", NO,
		    renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
		break;
	case 4:
		say("link", NO, link(a, b));
		break;
	case 5:
		say("unlink", NO, chance_below(3) ? unlink("no") : unlink(a));
		break;
	case 6:
		say("truncate", NO, truncate(a, (off_t)chance_below(90000)));
		break;
	default:
		say("read", NO, read(9999, buf, 1));
	}
}

static void draw(int n, int depth);

/* The child inherits all descriptors and moves their positions. */
static void forks(int depth)
{
	pid_t child;

	if (depth == 3 || chance_below(4))
		return;
	child = fork();
	if (!child) {
		chance_state += 77777;
		draw(40, depth + 1);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void draw(int n, int depth)
{
	while (n--) {
		uint64_t what = chance_below(20);
		int fd = n_held ? held[chance_below((uint64_t)n_held)] : -1;

		if (what < 3 || !n_held)
			opens();
		else if (what < 6)
			copies(fd);
		else if (what < 9)
			reads(fd);
		else if (what < 12)
			writes(fd);
		else if (what < 14)
			moves(fd);
		else if (what < 16)
			between(fd, held[chance_below((uint64_t)n_held)]);
		else if (what < 18)
			names();
		else if (what < 19)
			say("fstat", NO, fstat(fd, &st));
		else
			forks(depth);
	}
}

int main(int argc, char **argv)
{
	printed = mmap(NULL, LINES * sizeof(*printed), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	lines = mmap(NULL, sizeof(*lines), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (printed == MAP_FAILED || lines == MAP_FAILED || argc < 2)
		return 1;
	chance_state += strtoul(argv[1], NULL, 0) * 2654435761u;
	draw(1000, 0);
	for (int i = 0; i < *lines && i < LINES; i++)
		puts(printed[i]);
	return 0;
}

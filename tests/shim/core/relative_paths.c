/* SPDX-License-Identifier: MIT */
/*
 * Relative names after every way to change the working directory, and names
 * relative to a directory's descriptor. Prints the path from the kernel for
 * each open: the trace must have the same, in this order.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(int fd)
{
	char link[64], path[4200];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	/* raw: the oracle must not be recorded */
	n = syscall(SYS_readlink, link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	printf("%s\n", path);
	fflush(stdout);
	close(fd);
}

static void make(const char *name)
{
	tell(open(name, O_RDWR | O_CREAT, 0600));
}

static void *mover(void *arg)
{
	if (chdir("../b"))
		exit(1);
	make("by-thread");
	return arg;
}

static void relative_open_cached_cwd(void)
{
	pthread_t th;
	int a;

	make("top");
	make("./dot");
	if (chdir("a"))
		exit(1);
	make("in-a");
	make("../from-a");
	pthread_create(&th, NULL, mover, NULL);
	pthread_join(th, NULL);
	make("after-thread");
	a = open("../a", O_RDONLY | O_DIRECTORY);
	if (fchdir(a))
		exit(1);
	make("after-fchdir");
	close(a);
	if (syscall(SYS_chdir, "../b"))
		exit(1);
	make("after-raw-chdir");
	if (chdir("../b"))
		exit(1);
	if (!fork()) {
		make("child");
		if (chdir(".."))
			exit(1);
		make("child-moved");
		_exit(0);
	}
	wait(NULL);
	make("parent-stayed");
	if (rename("../b", "../c"))
		exit(1);
	make("in-renamed");
	if (chdir("../link"))
		exit(1);
	make("through-link");
	if (chdir("/proc/self/cwd/.."))
		exit(1);
	make("back");
}

static void openat_dirfd_path(void)
{
	int a = open("a", O_RDONLY | O_DIRECTORY), moved, p;

	tell(openat(a, "at-a", O_RDWR | O_CREAT, 0600));
	tell(openat(a, "../at-parent", O_RDWR | O_CREAT, 0600));
	moved = fcntl(a, F_DUPFD, 50);
	close(a);
	tell(openat(moved, "at-dup", O_RDWR | O_CREAT, 0600));
	if (chdir("c"))
		exit(1);
	tell(openat(moved, "at-elsewhere", O_RDWR | O_CREAT, 0600));
	tell(openat(AT_FDCWD, "at-cwd", O_RDWR | O_CREAT, 0600));
	p = open("../a", O_PATH);
	tell(openat(p, "at-o-path", O_RDWR | O_CREAT, 0600));
	p = openat(moved, "..", O_RDONLY | O_DIRECTORY);
	tell(openat(p, "at-at", O_RDWR | O_CREAT, 0600));
	p = (int)syscall(SYS_openat, moved, ".", O_RDONLY | O_DIRECTORY);
	tell(openat(p, "at-raw", O_RDWR | O_CREAT, 0600));
	if (dup2(p, 200) < 0)
		exit(1);
	tell(openat(200, "at-dup2", O_RDWR | O_CREAT, 0600));
}

/* In c, a sibling of a. */
static void renamed_dirfd(void)
{
	int top, below, child;

	if (chdir("..") || mkdir("d", 0700) || mkdir("d/e", 0700))
		exit(1);
	top = open("d", O_RDONLY | O_DIRECTORY);
	below = openat(top, "e", O_RDONLY | O_DIRECTORY);
	if (rename("d", "f"))
		exit(1);
	tell(openat(top, "at-renamed", O_RDWR | O_CREAT, 0600));
	tell(openat(below, "at-below", O_RDWR | O_CREAT, 0600));
	if (mkdir("d", 0700))
		exit(1);
	tell(openat(below, "at-below-still", O_RDWR | O_CREAT, 0600));
	make("d/new");
	child = fork();
	if (!child) {
		tell(openat(top, "in-child", O_RDWR | O_CREAT, 0600));
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (renameat(top, "e", AT_FDCWD, "a/moved"))
		exit(1);
	tell(openat(below, "at-moved", O_RDWR | O_CREAT, 0600));
	tell(openat(top, "at-top", O_RDWR | O_CREAT, 0600));
}

int main(void)
{
	if (mkdir("a", 0700) || mkdir("b", 0700) || symlink("a", "link"))
		return 1;
	relative_open_cached_cwd();
	openat_dirfd_path();
	renamed_dirfd();
	return 0;
}

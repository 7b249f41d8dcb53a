/* SPDX-License-Identifier: MIT */
/*
 * Files that are created with one name and renamed while they are open, by raw
 * system calls, like those of Rust libraries.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schemas/syscall.h"

static long raw_rename(const char *from, const char *to)
{
	return raw(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to);
}

static int make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, path, strlen(path)) < 0)
		perror(path);
	return fd;
}

int main(void)
{
	int fd = make("one.tmp"), other;
	char path[300] = "";

	if (raw_rename("one.tmp", "one"))
		return 1;
	close(fd);

	if (getcwd(path, sizeof(path) - 20)) /* by its absolute path */
		strcat(path, "/two.tmp");
	fd = make(path);
	if (raw_rename(path, "two"))
		return 1;
	if (fork() == 0) { /* no record: the parent created the file */
		close(fd);
		_exit(0);
	}
	wait(NULL);
	errno = 77;
	close(fd);
	printf("errno %d\n", errno);

	fd = make("seen.tmp"); /* renamed by a recorded call */
	rename("seen.tmp", "seen");
	close(fd);
	other = make("other.tmp"); /* the second of two renamed files */
	fd = make("same.tmp");
	syscall(SYS_renameat2, AT_FDCWD, "other.tmp", AT_FDCWD, "same.tmp",
		RENAME_EXCHANGE);
	close(fd);
	close(other);
	fd = make("gone.tmp");
	unlink("gone.tmp");
	close(fd);
	if (mkdir("dir.tmp", 0700))
		return 1;
	fd = make("dir.tmp/kept"); /* renamed directory, same name */
	rename("dir.tmp", "dir");
	close(fd);

	/* More files at a time than the shim remembers. */
	fd = make("first.tmp");
	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "many%d", i);
		other = make(path);
		if (i % 2)
			close(other);
	}
	close(fd);
	fd = make("last.tmp");
	if (raw_rename("last.tmp", "last"))
		return 1;
	close(fd);
	return 0;
}

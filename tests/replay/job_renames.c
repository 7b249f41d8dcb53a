/* SPDX-License-Identifier: MIT */
/*
 * Names whose initial state has to be inferred: files of "open or create", a
 * file that becomes a directory, two files that swap names, a missing or an
 * existing target of a rename; and numbers that are not descriptors. "make"
 * makes its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/replay/job.h"

static char text[20000];

static void file_of(const char *name, size_t bytes)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	want(name, write(fd, text, bytes), (long)bytes);
	close(fd);
}

static void make(void)
{
	mkdir("dir", 0755);
	file_of("dir/inside", 10);
	file_of("database", 9000);
	file_of("other", 700);
	file_of("was_file", 300);
	file_of("in_the_way", 40);
}

/* As LMDB and SQLite do: the file may exist. */
static void open_or_create(void)
{
	int fd = open("database", O_RDWR | O_CREAT, 0644);
	struct stat st;

	want("pread()", pread(fd, text, 100, 0), 100);
	want("fstatat()", fstatat(fd, "", &st, AT_EMPTY_PATH), 0);
	want("size", st.st_size, 9000);
	want("rename()", rename("database", "nowhere/name"), -1);
	want("rename()", rename("database", "dir"), -1);
	want("link()", link("database", "in_the_way"), -1);
	want("exchange",
	     renameat2(AT_FDCWD, "database", AT_FDCWD, "other",
		       RENAME_EXCHANGE),
	     0);
	close(fd);
	fd = open("database", O_RDONLY);
	want("read()", read(fd, text, sizeof(text)), 700);
	close(fd);
	fd = open("other", O_RDONLY);
	want("read()", read(fd, text, sizeof(text)), 9000);
	close(fd);
}

static void become_dirs(void)
{
	want("unlink()", unlink("was_file"), 0);
	want("mkdir()", mkdir("was_file", 0755), 0);
	want("mkdir()", mkdir("in_the_way", 0755), -1);
	want("truncate()", truncate("in_the_way", 4), 0);
	want("open()", open("nothing", O_TMPFILE | O_RDWR, 0600), -1);
}

static void no_descriptors(void)
{
	want("pread()", pread(-1, text, 10, 0) < 0 ? errno : 0, EBADF);
	want("openat()", openat(-1, "other", O_RDONLY) < 0 ? errno : 0, EBADF);
	want("lseek()", lseek(open("other", O_RDONLY), -1, SEEK_SET), -1);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "make")) {
		make();
		return bad;
	}
	open_or_create();
	become_dirs();
	no_descriptors();
	return bad;
}

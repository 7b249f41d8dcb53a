/* SPDX-License-Identifier: MIT */
/*
 * Limits that the program sets on itself must not kill it through us: a file
 * size limit (SIGXFSZ), no free descriptor, a removed working directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void many(int fd)
{
	char b[16] = { 0 };

	for (int i = 0; i < 30000; i++)
		if (pwrite(fd, b, sizeof(b), 0) != (long)sizeof(b))
			printf("write %d failed: %d\n", i, errno);
}

int main(int argc, char **argv)
{
	struct rlimit size = { 1000, 1000 }, files = { 0, 0 };
	int fd = open("limits.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (argc > 1 && !strcmp(argv[1], "size"))
		setrlimit(RLIMIT_FSIZE, &size);
	if (argc > 1 && !strcmp(argv[1], "files")) {
		getrlimit(RLIMIT_NOFILE, &files);
		files.rlim_cur = (rlim_t)fd + 1;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (argc > 1 && !strcmp(argv[1], "cwd")) {
		mkdir("gone", 0700);
		if (chdir("gone") || rmdir("../gone"))
			return 1;
		printf("open in no directory: %d\n",
		       open("x", O_RDWR | O_CREAT, 0600));
	}
	many(fd);
	printf("%s done\n", argc > 1 ? argv[1] : "plain");
	if (argc > 1 && !strcmp(argv[1], "cwd"))
		return 0;
	unlink("limits.bin");
	return 0;
}

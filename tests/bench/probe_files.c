/* SPDX-License-Identifier: MIT */
/* Read argv[2] small files below argv[1] argv[3] times, like a loader. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char buf[65536];

static void one(const char *name)
{
	struct stat st;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || lseek(fd, 0, SEEK_CUR))
		exit(1);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
}

int main(int argc, char **argv)
{
	int files = argc > 2 ? atoi(argv[2]) : 100;
	int times = argc > 3 ? atoi(argv[3]) : 1;
	char name[4300];

	if (argc < 2)
		return 2;
	mkdir(argv[1], 0700);
	for (int i = 0; i < files; i++) {
		int fd;

		snprintf(name, sizeof(name), "%s/sample_%06d.bin", argv[1], i);
		fd = open(name, O_WRONLY | O_CREAT, 0600);
		if (write(fd, buf, 3000 + (size_t)(i * 7919 % 40000)) < 0)
			return 1;
		close(fd);
	}
	srand(1);
	for (int t = 0; t < times; t++)
		for (int i = 0; i < files; i++) {
			snprintf(name, sizeof(name), "%s/sample_%06d.bin",
				 argv[1], rand() % files);
			one(name);
		}
	return 0;
}

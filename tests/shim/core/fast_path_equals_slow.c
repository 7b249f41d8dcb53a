/* SPDX-License-Identifier: MIT */
/*
 * lseek(), fstat() and spans of every kind, with usual and unusual results, on
 * alternating descriptors, between calls on paths.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/ioreel.h"

#define FILES 3

static void seek(int fd, off_t off, int whence)
{
	printf("%lld\n", (long long)lseek(fd, off, whence));
}

static void status(int fd)
{
	struct stat st = {0};

	printf("%d %lld\n", fstat(fd, &st), (long long)st.st_size);
}

static void call(int what, int fd, int dir, int i)
{
	char buf[16];

	switch (what) {
	case 0:
		seek(fd, rand() % 100, SEEK_SET);
		break;
	case 1:
		seek(fd, -5, SEEK_SET);
		break;
	case 2:
		seek(fd, (off_t)rand() << 24, SEEK_SET);
		break;
	case 3:
		seek(fd, 0, SEEK_END);
		break;
	case 4:
		seek(fd, 0, SEEK_CUR);
		break;
	case 5:
		status(fd);
		break;
	case 6:
		status(dir);
		break;
	case 7:
		status(999);
		break;
	case 8:
		printf("%zd\n", pread(fd, buf, sizeof(buf), i % 50));
		break;
	default:
		fd = open("file.1", O_RDONLY);
		status(fd);
		seek(fd, i, SEEK_SET);
		close(fd);
	}
}

static void span(int what, int i)
{
	static char longest[201], longer[202];

	memset(longest, 'n', 200);
	memset(longer, 'n', 201);
	switch (what) {
	case 0:
		IOREEL_BEGIN("step", i);
		break;
	case 1:
		IOREEL_END("step");
		break;
	case 2:
		IOREEL_BEGIN("eval", INT64_MIN + 1);
		IOREEL_BEGIN("evaluate", INT64_MAX);
		IOREEL_BEGIN("eva", -1);
		IOREEL_END("eval");
		break;
	case 3:
		IOREEL_BEGIN(longest, i);
		IOREEL_END(longer); /* truncated to the same name */
		break;
	case 4:
		IOREEL_BEGIN("", 1);
		IOREEL_END("");
		break;
	default:
		IOREEL_BEGIN("preprocess", i << 10);
		IOREEL_CANCEL("preprocess");
		IOREEL_BEGIN("checkpoint", i);
	}
}

int main(void)
{
	int fd[FILES], dir = open(".", O_RDONLY | O_DIRECTORY);
	char name[16];

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file.%d", i);
		fd[i] = open(name, O_RDWR | O_CREAT, 0600);
	}
	if (ftruncate(fd[2], (off_t)1 << 35) != 0)
		return 1;
	srand(1);
	for (int i = 0; i < 3000; i++) {
		call(rand() % 10, fd[i / 9 % FILES], dir, i);
		span(rand() % 6, i);
		if (i % 500 == 0)
			usleep(10000);
	}
	return 0;
}

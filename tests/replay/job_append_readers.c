/* SPDX-License-Identifier: MIT */
/*
 * Files that grow while other processes read them to the end, without a pause:
 * only its result tells whether a read hit EOF or got the next bytes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 10, WRITES = 30, READERS = 2 };

static int size_of(int k)
{
	return 100 + k;
}

static void grow(const char *name)
{
	static char text[200];
	int fd = open(name, O_WRONLY);

	for (int k = 0; k < WRITES; k++)
		if (write(fd, text, (size_t)size_of(k)) != size_of(k))
			_exit(1);
	_exit(0);
}

static void follow(const char *name)
{
	int fd = open(name, O_RDONLY), whole = 0;
	char text[1000];

	for (int k = 0; k < WRITES; k++)
		whole += size_of(k);
	for (int got = 0, tries = 0; got < whole && tries < 200000; tries++)
		got += (int)read(fd, text, sizeof(text));
	_exit(0);
}

int main(void)
{
	for (int i = 0; i < FILES; i++) {
		char name[16];
		int status, bad = 0;

		snprintf(name, sizeof(name), "f%d", i);
		close(open(name, O_WRONLY | O_CREAT, 0644));
		for (int r = 0; r < READERS; r++)
			if (!fork())
				follow(name);
		if (!fork())
			grow(name);
		while (wait(&status) > 0)
			bad |= status;
		if (bad)
			return 1;
	}
	return 0;
}

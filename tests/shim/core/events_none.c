/* SPDX-License-Identifier: MIT */
/*
 * counted FILES ROUNDS [kill]: ROUNDS steps, each of which opens FILES files,
 * reads each in three pieces, queries its size and closes it. A child and a
 * thread do the same. Prints the number of calls. The child closes the open
 * descriptors of its parent.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schemas/ioreel.h"

#define HANDED 4

static int files, rounds;

static void *work(void *marks)
{
	char path[64], b[5000];
	struct stat st;

	for (int r = 0; r < rounds; r++) {
		if (marks)
			IOREEL_BEGIN("step", r);
		for (int i = 0; i < files; i++) {
			int fd;

			snprintf(path, sizeof(path), "set/%d.bin", i);
			fd = open(path, O_RDONLY);
			if (fd < 0 || read(fd, b, 4096) != 4096 ||
			    pread(fd, b, 100, 7) != 100 ||
			    read(fd, b, 5000) != 904 || fstat(fd, &st) ||
			    close(fd))
				_exit(3);
		}
		if (marks)
			IOREEL_END("step");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char path[64], b[5000] = "";
	int fd, handed[HANDED];
	pthread_t t;

	files = atoi(argv[1]);
	rounds = atoi(argv[2]);
	mkdir("set", 0700);
	for (int i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "set/%d.bin", i);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (write(fd, b, sizeof(b)) != sizeof(b) || close(fd))
			return 3;
	}
	for (int i = 0; i < HANDED; i++)
		handed[i] = open("handed", O_RDONLY | O_CREAT, 0600);
	if (!fork()) {
		for (int i = 0; i < HANDED / 2; i++)
			close(handed[i]);
		close_range((unsigned int)handed[HANDED / 2],
			    (unsigned int)handed[HANDED - 1], 0);
		work(NULL);
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < HANDED; i++)
		close(handed[i]);
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	work(&t);
	if (argc > 3)
		raise(SIGKILL);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Limits that the program sets for itself must not kill it because of the shim:
 * a file size limit (SIGXFSZ), no free descriptor, a removed working directory,
 * no more memory while threads start.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void many(int fd)
{
	char b[16] = {0};

	for (int i = 0; i < 30000; i++)
		if (pwrite(fd, b, sizeof(b), 0) != (long)sizeof(b))
			printf("write %d failed: %d\n", i, errno);
}

static void *one_write(void *arg)
{
	return pwrite(*(int *)arg, "m", 1, 0) == 1 ? NULL : arg;
}

/*
 * No memory for anything new. The stacks of the threads, and the memory that
 * pthread_create() needs from malloc(), exist already.
 */
static int no_memory(int fd)
{
	enum { THREADS = 20, STACK = 65536 };
	static char stacks[THREADS][STACK] __attribute__((aligned(4096)));
	struct rlimit as = {0, 0};
	pthread_t th[THREADS];
	pthread_attr_t attr;
	unsigned long pages;
	void *volatile room;
	int n = 0, writes = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu", &pages) != 1)
		return 1;
	fclose(f);
	room = malloc(100000); /* volatile, so that it is made */
	free(room);
	getrlimit(RLIMIT_AS, &as);
	as.rlim_cur = pages * 4096;
	setrlimit(RLIMIT_AS, &as);
	pthread_attr_init(&attr);
	for (; n < THREADS; n++) {
		pthread_attr_setstack(&attr, stacks[n], STACK);
		if (pthread_create(&th[n], &attr, one_write, &fd))
			break;
	}
	for (int i = 0; i < n; i++) {
		void *bad;

		pthread_join(th[i], &bad);
		writes += !bad;
	}
	printf("threads %d\nwrites %d\n", n, writes);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit size = {1000, 1000}, files = {0, 0};
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
	if (argc > 1 && !strcmp(argv[1], "as"))
		return no_memory(fd);
	many(fd);
	printf("%s done\n", argc > 1 ? argv[1] : "plain");
	if (argc > 1 && !strcmp(argv[1], "cwd"))
		return 0;
	unlink("limits.bin");
	return 0;
}

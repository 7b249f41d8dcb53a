/* SPDX-License-Identifier: MIT */
/*
 * Random names of libc, which later calls use by path: threads that write a
 * file and rename it to its place, a child, and links of the kernel to
 * descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/job.h"

#define THREADS 3
#define SAVES 5

static void check_file(const char *path, long bytes)
{
	char text[100];
	int fd = open(path, O_RDONLY);
	struct stat st;

	want("stat()", stat(path, &st), 0);
	want("read()", read(fd, text, sizeof(text)), bytes);
	close(fd);
}

static void *save(void *arg)
{
	char beside[60], name[40];

	snprintf(name, sizeof(name), "saved.%d", (int)(intptr_t)arg);
	for (int i = 0; i < SAVES; i++) {
		int fd;

		snprintf(beside, sizeof(beside), "%s.XXXXXX", name);
		fd = mkstemp(beside);
		want("write()", write(fd, "0123456789", 10), 10);
		check_file(beside, 10);
		close(fd);
		want("rename()", rename(beside, name), 0);
		check_file(name, 10);
	}
	return NULL;
}

static void told_to_a_child(void)
{
	char name[] = "told.XXXXXX", by_number[40];
	int fd = mkostemp(name, O_APPEND | O_CLOEXEC);

	want("write()", write(fd, "abc", 3), 3);
	snprintf(by_number, sizeof(by_number), "/proc/self/fd/%d", fd);
	check_file(by_number, 3);
	if (fork() == 0) {
		check_file(name, 3);
		want("unlink()", unlink(name), 0);
		_exit(bad);
	}
	wait(NULL);
	want("unlink()", unlink(name), -1);
	close(fd);
}

static void in_a_directory(void)
{
	char dir[] = "dir.XXXXXX";
	int at, fd;

	must(mkdtemp(dir) != NULL, "mkdtemp()");
	at = open(dir, O_RDONLY | O_DIRECTORY);
	fd = openat(at, "file", O_CREAT | O_EXCL | O_WRONLY, 0600);
	want("write()", write(fd, "abc", 3), 3);
	close(fd);
	want("unlinkat()", unlinkat(at, "file", 0), 0);
	close(at);
	want("rmdir()", rmdir(dir), 0);
}

static void others(void)
{
	char suffix[] = "end.XXXXXX.txt", none[] = "none";
	char nowhere[] = "nowhere/XXXXXX";
	int fd = mkstemps(suffix, 4);

	close(fd);
	check_file(suffix, 0);
	want("unlink()", unlink(suffix), 0);
	want("mkstemp()", mkstemp(none), -1);
	want("errno", errno, EINVAL);
	want("mkstemp()", mkstemp(nowhere), -1);
	want("errno", errno, ENOENT);
}

/* libc chooses the folder, too. */
static void shared_memory(void)
{
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/ioreel-test-%d", (int)getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	want("ftruncate()", ftruncate(fd, 4096), 0);
	close(fd);
	want("shm_unlink()", shm_unlink(name), 0);
	want("shm_open()", shm_open(name, O_RDONLY, 0), -1);
}

int main(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, save, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	told_to_a_child();
	in_a_directory();
	others();
	shared_memory();
	return bad;
}

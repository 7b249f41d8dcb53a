/* SPDX-License-Identifier: MIT */
/*
 * A log that is written through one descriptor, while another process renames,
 * reads and removes it; then a new log gets its name. The argument is the
 * initial size of the log.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/job.h"

#define ROUNDS 10

static int *turn; /* shared memory, because calls would be recorded */
static char text[10000];

static void wait_for(int t)
{
	while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != t)
		usleep(50);
}

static void next_turn(void)
{
	__atomic_fetch_add(turn, 1, __ATOMIC_RELEASE);
}

static long size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) ? -1 : st.st_size;
}

static void write_log(void)
{
	for (int t = 0; t < 6 * ROUNDS; t += 6) {
		int fd;

		wait_for(t);
		fd = open("log", O_WRONLY | O_APPEND | O_CREAT, 0644);
		want("write()", write(fd, text, 100), 100);
		next_turn();
		wait_for(t + 2);
		want("write()", write(fd, text, 200), 200);
		next_turn();
		wait_for(t + 4);
		want("write()", write(fd, text, 300), 300);
		close(fd);
		next_turn();
	}
}

static void rotate(long had)
{
	for (int t = 0; t < 6 * ROUNDS; t += 6, had = 0) {
		int fd;

		wait_for(t + 1);
		want("rename()", rename("log", "log.1"), 0);
		next_turn();
		wait_for(t + 3);
		fd = open("log.1", O_RDONLY);
		want("read()", read(fd, text, sizeof(text)), had + 300);
		mkdir("new", 0755);
		want("rename()", rename("log.1", "new/log"), 0);
		want("rename()", rename("new", "old"), 0);
		next_turn();
		wait_for(t + 5);
		want("read()", read(fd, text, sizeof(text)), 300);
		want("size", size_of("old/log"), had + 600);
		close(fd);
		fd = open("old/log", O_RDONLY);
		want("read()", read(fd, text, sizeof(text)), had + 600);
		want("unlink()", unlink("old/log"), 0);
		want("read()", read(fd, text, sizeof(text)), 0);
		close(fd);
		rmdir("old");
		next_turn();
	}
}

int main(int argc, char **argv)
{
	int status;

	turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(turn != MAP_FAILED, "mmap()");
	if (fork() == 0) {
		write_log();
		_exit(bad);
	}
	rotate(argc > 1 ? atol(argv[1]) : 0);
	want("wait()", wait(&status) > 0 && status == 0, 1);
	return bad;
}

/* SPDX-License-Identifier: MIT */
/*
 * One thread opens descriptors, duplicates them, and replaces them by others
 * and back; another thread uses them, and its children inherit them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/job.h"

#define ROUNDS 20

static int turn, fd, copy;

/* By memory, because calls would be recorded. */
static void wait_for(int t)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != t)
		usleep(50);
}

static void next_turn(void)
{
	__atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
}

static void have(const char *name, size_t bytes)
{
	static const char text[20] = "0123456789";
	int made = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	want("write()", write(made, text, bytes), (long)bytes);
	close(made);
}

static void check_open(int from, long bytes)
{
	char text[20];

	want("pread()", pread(from, text, sizeof(text), 0), bytes);
}

static void look_in_child(long bytes)
{
	if (fork() == 0) {
		check_open(fd, bytes);
		_exit(bad);
	}
}

/* Open a file, and replace it by other ones. */
static void *open_fds(void *arg)
{
	int other, kept;

	for (int t = 0; t < 6 * ROUNDS; t += 6) {
		wait_for(t);
		fd = open("seven", O_RDONLY);
		next_turn();
		wait_for(t + 2);
		other = open("three", O_RDONLY);
		kept = dup(fd);
		dup2(other, fd);
		close(other);
		copy = dup(fd);
		next_turn();
		wait_for(t + 4);
		dup2(kept, fd);
		close(kept);
		next_turn();
	}
	return arg;
}

/* Use the descriptor, here and in children. */
static void *use_fd(void *arg)
{
	for (int t = 0; t < 6 * ROUNDS; t += 6) {
		wait_for(t + 1);
		look_in_child(7);
		next_turn();
		wait_for(t + 3);
		look_in_child(3);
		check_open(copy, 3);
		close(copy);
		next_turn();
		wait_for(t + 5);
		look_in_child(7);
		check_open(fd, 7);
		close(fd);
		while (wait(NULL) > 0)
			;
		next_turn();
	}
	return arg;
}

int main(void)
{
	pthread_t a, b;

	have("seven", 7);
	have("three", 3);
	pthread_create(&a, NULL, open_fds, NULL);
	pthread_create(&b, NULL, use_fd, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return bad;
}

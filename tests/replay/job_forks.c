/* SPDX-License-Identifier: MIT */
/*
 * A job whose descriptors come from one thread and are used, or inherited by
 * children, in another: opened, duplicated, put over others, put back.
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

/* Not by calls that are recorded. */
static void wait_for(int t)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != t)
		usleep(50);
}

static void go_on(void)
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

static void look(int from, long bytes)
{
	char text[20];

	want("pread()", pread(from, text, sizeof(text), 0), bytes);
}

static void look_in_child(long bytes)
{
	if (fork() == 0) {
		look(fd, bytes);
		_exit(bad);
	}
}

/* Opens, and puts other files over it. */
static void *opener(void *arg)
{
	int other, kept;

	for (int t = 0; t < 6 * ROUNDS; t += 6) {
		wait_for(t);
		fd = open("seven", O_RDONLY);
		go_on();
		wait_for(t + 2);
		other = open("three", O_RDONLY);
		kept = dup(fd);
		dup2(other, fd);
		close(other);
		copy = dup(fd);
		go_on();
		wait_for(t + 4);
		dup2(kept, fd);
		close(kept);
		go_on();
	}
	return arg;
}

/* Uses it, itself and in children. */
static void *user(void *arg)
{
	for (int t = 0; t < 6 * ROUNDS; t += 6) {
		wait_for(t + 1);
		look_in_child(7);
		go_on();
		wait_for(t + 3);
		look_in_child(3);
		look(copy, 3);
		close(copy);
		go_on();
		wait_for(t + 5);
		look_in_child(7);
		look(fd, 7);
		close(fd);
		while (wait(NULL) > 0)
			;
		go_on();
	}
	return arg;
}

int main(void)
{
	pthread_t a, b;

	have("seven", 7);
	have("three", 3);
	pthread_create(&a, NULL, opener, NULL);
	pthread_create(&b, NULL, user, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return bad;
}

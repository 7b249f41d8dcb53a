#!/bin/bash
# SPDX-License-Identifier: MIT
# A call that returns late created or removed its file long before: calls that
# observed the change wait for it, and the change is not made a second time.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

# Calls on "late" return only when the job lets them.
cat >hold.c <<'E'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
int held, go;
static void hold(const char *path)
{
	if (strcmp(path, "late"))
		return;
	__atomic_fetch_add(&held, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&go, __ATOMIC_SEQ_CST) < held)
		usleep(50);
}
int open(const char *path, int flags, mode_t mode)
{
	int (*next)(const char *, int, mode_t) = dlsym(RTLD_NEXT, "open");
	int fd = next(path, flags, mode);
	hold(path);
	return fd;
}
int unlink(const char *path)
{
	int (*next)(const char *) = dlsym(RTLD_NEXT, "unlink");
	int r = next(path);
	hold(path);
	return r;
}
E
cat >job.c <<'E'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
static int *held, *go, bad;
static void want(int got, int expected)
{
	bad |= got != expected;
}
static void *holds(void *arg)
{
	for (int i = 0; i < 10; i++) {
		int fd = open("late", O_CREAT | O_WRONLY, 0600);
		want(write(fd, "abc", 3), 3);
		close(fd);
		unlink("late");
	}
	return arg;
}
int main(void)
{
	pthread_t a;
	struct stat st;
	held = dlsym(RTLD_DEFAULT, "held");
	go = dlsym(RTLD_DEFAULT, "go");
	if (!held || !go)
		return 2;
	close(open("other", O_CREAT | O_WRONLY, 0600));
	pthread_create(&a, NULL, holds, NULL);
	for (int i = 1; i <= 20; i++) {
		while (__atomic_load_n(held, __ATOMIC_SEQ_CST) < i)
			usleep(50);
		/* Odd: it was created. Even: it was removed. */
		want(i % 2 ? link("other", "late") : stat("late", &st), -1);
		want(access("late", F_OK), i % 2 ? 0 : -1);
		__atomic_store_n(go, i, __ATOMIC_SEQ_CST);
	}
	pthread_join(a, NULL);
	return bad;
}
E
cc -shared -fPIC -o hold.so hold.c -ldl 2>err && cc -pthread -o job job.c -ldl ||
	skip_all 'no compiler'
mkdir work && cd work
check 'the job observes changes of calls that have not returned' '"$IOREEL" record -q -o ../job.reel -- \
	sh -c '\''LD_PRELOAD=$LD_PRELOAD:$0 exec "$1"'\'' "$PWD/../hold.so" ../job'
cd ..
for mode in think afap; do
	replays job.reel $mode -o $mode.db
	check "--$mode: every thread makes the calls in order" \
		'same_sequences out'
done
finish

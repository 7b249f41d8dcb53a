/* SPDX-License-Identifier: MIT */
/*
 * Children made by fork, _Fork, raw clone, a double fork and fork from a
 * thread: each writes its own file and ends in another way. Prints sizes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < 1000; i++)
		if (write(fd, "0123456789", 10) != 10)
			_exit(9);
	close(fd);
}

static void show(const char *name, pid_t pid)
{
	struct stat st = {0};
	int status = 0;

	waitpid(pid, &status, 0);
	stat(name, &st);
	printf("%s: status %x, size %ld\n", name, (unsigned int)status,
	       (long)st.st_size);
	fflush(stdout);
	unlink(name);
}

static void *from_thread(void *arg)
{
	pid_t pid;

	(void)arg;
	work("thread.parent");
	pid = fork();
	if (!pid) {
		work("thread.child");
		_exit(5);
	}
	show("thread.child", pid);
	unlink("thread.parent");
	return NULL;
}

int main(void)
{
	pthread_t th;
	pid_t pid;

	work("parent");
	if (!(pid = fork())) {
		work("fork");
		exit(3);
	}
	show("fork", pid);
	if (!(pid = fork())) {
		work("kill");
		raise(SIGKILL);
	}
	show("kill", pid);
	if (!(pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))) {
		work("clone");
		_Exit(4);
	}
	show("clone", pid);
	if (!(pid = fork())) {
		if (!(pid = fork())) {
			work("double");
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		_exit(6);
	}
	show("double", pid);
	pthread_create(&th, NULL, from_thread, NULL);
	pthread_join(th, NULL);
	work("parent");
	unlink("parent");
	return 0;
}

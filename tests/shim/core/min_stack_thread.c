/* SPDX-License-Identifier: MIT */
/*
 * The smallest stacks: threads of PTHREAD_STACK_MIN, and a handler on an
 * alternate stack of little more than the kernel's minimum (not with an
 * argument, for valgrind, which needs more). Each makes calls of every kind. A
 * wrapper with a path buffer on the stack crashes here.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void calls(const char *name)
{
	struct stat st;
	char b[8];
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	if (write(fd, "12345678", 8) != 8 || pread(fd, b, 8, 0) != 8 ||
	    fstat(fd, &st) || stat(name, &st) || lseek(fd, 0, SEEK_SET) ||
	    access(name, R_OK) || ftruncate(fd, 4) || fsync(fd))
		_exit(3);
	close(dup(fd));
	close(fd);
	if (rename(name, "min.renamed") || unlink("min.renamed"))
		_exit(4);
}

static void *thread(void *arg)
{
	calls("min.thread");
	if (chdir("."))
		_exit(5);
	calls("min.after-chdir");
	return arg;
}

static void handler(int sig)
{
	int fd = open("min.signal", O_RDWR | O_CREAT, 0600);

	(void)sig;
	if (write(fd, "x", 1) != 1)
		_exit(6);
	close(fd);
}

/* The kernel's minimum: its frame, and a little more. */
static void on_small_altstack(void)
{
	unsigned long need = getauxval(AT_MINSIGSTKSZ);
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t ss = {.ss_size = (need > 2048 ? need : 2048) + 2048};
	char *page = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	size_t size = (ss.ss_size + 4095) & ~4095ul;

	mprotect(page + 65536 - size, size, PROT_READ | PROT_WRITE);
	ss.ss_sp = page + 65536 - ss.ss_size;
	memset(ss.ss_sp, 0x5a, ss.ss_size);
	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t th;
	void *r;

	(void)argv;
	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN))
		return 1;
	for (int i = 0; i < 100; i++) {
		if (pthread_create(&th, &attr, thread, NULL))
			return 2;
		pthread_join(th, &r);
	}
	if (argc < 2)
		on_small_altstack();
	printf("done\n");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Mappings that end in every way: argv[1] is read, argv[2] is written. Prints
 * the pages touched in each, in the order in which they end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096l
#define PAGES 256l
#define GROUP 16l

static long sum;

/* At one fault the kernel maps up to 16 pages of the page cache, an aligned
 * group: mappings begin at such a group, and whole groups are touched. */
static char *map(int fd, int prot, int flags)
{
	size_t len = (PAGES + GROUP) * PAGE;
	char *p =
		mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = (char *)(((unsigned long)p + GROUP * PAGE - 1) &
			    -(unsigned long)(GROUP * PAGE));

	if (p == MAP_FAILED ||
	    mmap(at, PAGES * PAGE, prot, flags | MAP_FIXED, fd, 0) != at)
		exit(2);
	return at;
}

static void touch(const char *p, long first, long n)
{
	for (long i = first; i < first + n; i++)
		sum += *(volatile const char *)(p + i * PAGE);
}

static void say(const char *what, long read, long wrote)
{
	printf("%s\t%ld\t%ld\n", what, read * PAGE, wrote * PAGE);
	fflush(stdout);
}

static void splits(int fd)
{
	char *p = map(fd, PROT_READ, MAP_PRIVATE);

	touch(p, 0, 16);
	touch(p, 96, 32);
	touch(p, 192, 48);
	munmap(p + 112 * PAGE, 32 * PAGE);
	say("a hole", 16, 0);
	munmap(p, PAGES * PAGE);
	say("both ends", 80, 0);
	p = map(fd, PROT_READ, MAP_PRIVATE);
	touch(p, 0, 16);
	if (mmap(p, PAGES * PAGE, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
		exit(3);
	say("replaced", 16, 0);
}

static void moves(int fd)
{
	char *p = map(fd, PROT_READ, MAP_PRIVATE);

	touch(p, 0, 16);
	touch(p, 48, 32);
	p = mremap(p, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		exit(4);
	p = mremap(p, 2 * PAGES * PAGE, 64 * PAGE, 0);
	say("cut by mremap", 16, 0);
	munmap(p, 64 * PAGE);
	say("after mremap", 32, 0);
	p = map(fd, PROT_READ, MAP_SHARED);
	touch(p, 0, 32);
	madvise(p, PAGES * PAGE, MADV_DONTNEED);
	say("dropped", 32, 0);
	touch(p, 0, 16);
	munmap(p, PAGES * PAGE);
	say("after that", 16, 0);
}

static void writes(int fd)
{
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);

	memset(p, 1, 48 * PAGE);
	msync(p, PAGES * PAGE, MS_SYNC);
	munmap(p, PAGES * PAGE);
	say("written", 0, 48);
	p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	touch(p, 0, 32);
	munmap(p, PAGES * PAGE);
	say("only read", 32, 0);
}

int main(int argc, char **argv)
{
	int in = open(argv[1], O_RDONLY), out = open(argv[2], O_RDWR);
	char *p;

	if (in < 0 || out < 0)
		return 2;
	splits(in);
	moves(in);
	writes(out);
	munmap((void *)1, PAGE); /* fails and unmaps nothing */
	p = map(in, PROT_READ, MAP_PRIVATE);
	touch(p, 0, 16);
	close(in);
	if (!fork()) {
		touch(p, 32, 32); /* the only I/O of the child */
		exit(0);
	}
	wait(NULL);
	say("in the child", 32, 0);
	say("at the exit", 16, 0);
	return 0;
}

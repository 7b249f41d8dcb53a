/* SPDX-License-Identifier: MIT */
/*
 * Patches mmap() and its like with a jump to functions that make the call by
 * syscall(), as UCX does. "found": patches the functions that dlsym() finds;
 * "libc": libc's own, below every wrapper. Prints the bytes read and written.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

static int hooked;

static void *my_mmap(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off)
{
	hooked++;
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

static int my_munmap(void *addr, size_t len)
{
	hooked++;
	return (int)syscall(SYS_munmap, addr, len);
}

static void *my_mremap(void *addr, size_t len, size_t to_len, int flags,
		       void *to)
{
	hooked++;
	return (void *)syscall(SYS_mremap, addr, len, to_len, flags, to);
}

static int my_msync(void *addr, size_t len, int flags)
{
	hooked++;
	return (int)syscall(SYS_msync, addr, len, flags);
}

static int my_madvise(void *addr, size_t len, int advice)
{
	hooked++;
	return (int)syscall(SYS_madvise, addr, len, advice);
}

/* Write a jump to @to over the function @name of @in. */
static int write_over(void *in, const char *name, void *to)
{
	unsigned char jump[13] = {0x49, 0xbb}; /* mov r11, TO; jmp *r11 */
	unsigned char *at = dlsym(in, name);
	uintptr_t page = (uintptr_t)at & -(uintptr_t)PAGE;

	memcpy(jump + 2, &to, 8);
	memcpy(jump + 10, (unsigned char[]){0x41, 0xff, 0xe3}, 3);
	if (!at || mprotect((void *)page, 2 * PAGE,
			    PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	memcpy(at, jump, sizeof(jump));
	return mprotect((void *)page, 2 * PAGE, PROT_READ | PROT_EXEC);
}

static int touch(int fd)
{
	volatile char *p =
		mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return 1;
	for (int i = 0; i < 4; i++)
		p[i * PAGE] = 1;
	if (msync((void *)p, 4 * PAGE, MS_SYNC) ||
	    madvise((void *)p, 8 * PAGE, MADV_NORMAL))
		return 1;
	p = mremap((void *)p, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
	if (p == MAP_FAILED || munmap((void *)p, 16 * PAGE))
		return 1;
	if (munmap((void *)8, PAGE) == 0 || errno != EINVAL)
		return 1;
	return mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED ||
	       errno != EINVAL;
}

int main(int argc, char **argv)
{
	void *in = argc == 3 && !strcmp(argv[2], "libc")
			   ? dlopen("libc.so.6", RTLD_NOW)
			   : RTLD_DEFAULT;
	int fd = argc == 3 ? open(argv[1], O_RDWR) : -1;

#ifndef __x86_64__
	return 77;
#endif
	if (fd < 0 || ftruncate(fd, 16 * PAGE) ||
	    write_over(in, "mmap", (void *)my_mmap) ||
	    write_over(in, "munmap", (void *)my_munmap) ||
	    write_over(in, "mremap", (void *)my_mremap) ||
	    write_over(in, "msync", (void *)my_msync) ||
	    write_over(in, "madvise", (void *)my_madvise))
		return 77;
	hooked = 0;
	if (touch(fd))
		return 1;
	printf("hooked %d\n", hooked);
	return 0;
}

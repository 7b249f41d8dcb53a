/* SPDX-License-Identifier: MIT */
/*
 * Memory that the kernel refuses, that ends at a page, or that the call itself
 * overwrites. Result and errno are the kernel's, and the record holds the
 * arguments, not the content of that memory after the call.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOW(call)                                                             \
	do {                                                                   \
		errno = 0;                                                     \
		long r_ = (long)(call);                                        \
		printf("%s = %ld, errno %d\n", #call, r_, errno);              \
	} while (0)

/* volatile, against warnings of the compiler */
static void *volatile bad = (void *)8, *volatile none;
static volatile int too_few = -1, too_many = 1 << 20;
static char *edge; /* the last byte before inaccessible memory */

static void vectors(int fd)
{
	char a[64];
	struct iovec wild = {bad, 100};
	struct iovec half[2] = {{a, 10}, {bad, 10}};
	struct iovec huge[2] = {{a, (size_t)-1 / 2 + 1}, {a, 10}};
	struct iovec *last = (struct iovec *)(edge + 1) - 1;

	last->iov_base = a;
	last->iov_len = 7;
	SHOW(readv(fd, last, 1));
	SHOW(readv(fd, last, 2)); /* the second is past the edge */
	SHOW(readv(fd, &wild, 1));
	SHOW(preadv(fd, half, 2, 0));
	SHOW(preadv(fd, bad, 3, 0));
	SHOW(preadv2(fd, half, 2, 0, 0));
	SHOW(pwritev(fd, half, 2, 0));
	SHOW(pwritev(fd, bad, 1, 0));
	SHOW(pwritev2(fd, bad, 1, 0, 0));
	SHOW(readv(fd, huge, 2));
	SHOW(readv(fd, half, too_few));
	SHOW(readv(fd, half, too_many));
	SHOW(readv(fd, NULL, 0));
	SHOW(writev(fd, NULL, 0));
	SHOW(pread(fd, edge, 100, 0));
	SHOW(pread(fd, edge + 1, 100, 0));
}

static void pointers(int fd)
{
	struct stat st;

	SHOW(stat("/etc/passwd", bad));
	SHOW(lstat("/etc/passwd", bad));
	SHOW(fstat(fd, bad));
	SHOW(fstatat(AT_FDCWD, "/etc/passwd", bad, 0));
	SHOW(fstatat(AT_FDCWD, bad, &st, 0));
	SHOW(statx(AT_FDCWD, "/etc/passwd", 0, STATX_ALL, bad));
	SHOW(statx(AT_FDCWD, bad, 0, STATX_ALL, none));
	SHOW(statfs("/", bad));
	SHOW(openat(AT_FDCWD, bad, O_RDONLY));
	SHOW(open(none, O_RDONLY));
	SHOW(creat(bad, 0600));
	SHOW(faccessat(AT_FDCWD, bad, R_OK, 0));
	SHOW(rename("efault.bin", bad));
	SHOW(renameat(AT_FDCWD, bad, AT_FDCWD, bad));
	SHOW(link("efault.bin", bad));
	SHOW(symlink(bad, "efault.sym"));
	SHOW(symlink("x", bad));
	SHOW(readlink("/proc/self/exe", bad, 10));
	SHOW(mkdir(bad, 0700));
	SHOW(rmdir(bad));
	SHOW(unlinkat(AT_FDCWD, bad, 0));
	SHOW(truncate(bad, 0));
	SHOW(chdir(bad));
	SHOW(utimensat(AT_FDCWD, bad, NULL, 0));
	SHOW(mkstemp((char[]){"no template"}));
	SHOW(sendfile(1, fd, bad, 10));
	SHOW(copy_file_range(fd, bad, fd, NULL, 10, 0));
}

static void edges(void)
{
	char *unended = edge - 9, *ended = edge - 10;

	memcpy(unended, "efault.bin", 10); /* no NUL before the edge */
	SHOW(access(unended, R_OK));
	memcpy(ended, "efault.bin", 11);
	SHOW(access(ended, R_OK));
	SHOW(close(open(ended, O_RDONLY)));
}

/* One buffer for the path and the result. */
static void overwritten(void)
{
	char buf[4096] __attribute__((aligned(16)));
	void *volatile same = buf;

	if (symlink("target-of-the-link", "efault.link"))
		return;
	strcpy(buf, "efault.link");
	SHOW(readlink(buf, same, sizeof(buf)));
	strcpy(buf, "efault.bin");
	SHOW(stat(buf, same));
	strcpy(buf, "efault.bin");
	SHOW(statx(AT_FDCWD, buf, 0, STATX_ALL, same));
	unlink("efault.link");
}

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char fill[200];
	int fd = open("efault.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);

	memset(fill, 0x7f, sizeof(fill));
	if (write(fd, fill, sizeof(fill)) != (long)sizeof(fill))
		return 1;
	lseek(fd, 0, SEEK_SET);
	edge = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(edge + page, (size_t)page);
	edge += page - 1;
	vectors(fd);
	pointers(fd);
	edges();
	overwritten();
	close(fd);
	unlink("efault.bin");
	return 0;
}

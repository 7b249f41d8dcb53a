/* SPDX-License-Identifier: MIT */
/* errno after failures, and unchanged after successes: printed and compared. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOW(call)                                                             \
	do {                                                                   \
		errno = 77;                                                    \
		long r_ = (long)(call);                                        \
		printf("%s = %s, errno %d\n", #call,                           \
		       r_ == -1	 ? "-1"                                        \
		       : r_ == 0 ? "0"                                         \
				 : "other",                                    \
		       errno);                                                 \
	} while (0)

static char *volatile bad_ptr = (char *)8; /* volatile: no compile-time view */

int main(void)
{
	char buf[64], long_name[5000];
	struct stat st;
	struct iovec bad = {bad_ptr, 100};
	int fd;

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	SHOW(open("/no/such/file", O_RDONLY));
	SHOW(open(long_name, O_RDONLY));
	SHOW(open(bad_ptr, O_RDONLY));
	SHOW(open(bad_ptr, O_TMPFILE)); /* fails before the path is read */
	SHOW(openat(999, "rel", O_RDONLY));
	SHOW(fopen("/no/such/file", "r"));
	SHOW(opendir("/no/such/dir"));
	fd = open("errno.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	SHOW(write(fd, "hello", 5));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(read(fd, buf, 5));
	SHOW(read(fd, buf, 5));
	SHOW(pread(fd, buf, 5, -1));
	SHOW(read(fd, (void *)bad_ptr, 5));
	SHOW(pread(fd, (void *)bad_ptr, 5, 0));
	SHOW(readv(fd, &bad, 1));
	SHOW(readv(fd, (void *)bad_ptr, 2));
	SHOW(writev(fd, (void *)bad_ptr, 2));
	SHOW(read(999, buf, 1));
	SHOW(read(-1, buf, 1));
	SHOW(lseek(fd, -1, SEEK_SET));
	SHOW(fstat(fd, &st));
	SHOW(fstat(999, &st));
	SHOW(stat("errno.bin", &st));
	SHOW(stat("/no/such", &st));
	SHOW(stat(bad_ptr, &st));
	SHOW(lstat("/no/such", &st));
	SHOW(access("errno.bin", R_OK));
	SHOW(access(bad_ptr, R_OK));
	SHOW(access(bad_ptr, 99));
	SHOW(memfd_create(bad_ptr, ~0u));
	SHOW(stat("errno.bin", (void *)bad_ptr));
	SHOW(unlink("/no/such"));
	SHOW(rename("/no/such", "x"));
	SHOW(rename(bad_ptr, (char *)9));
	SHOW(link("/no/such", bad_ptr)); /* fails at the first name */
	SHOW(symlink("", bad_ptr));
	SHOW(renameat2(999, "x", AT_FDCWD, bad_ptr, 0));
	SHOW(link(long_name, bad_ptr));
	SHOW(mkdir("/no/such/dir", 0700));
	SHOW(rmdir("errno.bin"));
	SHOW(ftruncate(fd, 2));
	SHOW(fsync(fd));
	SHOW(dup(999));
	SHOW(dup2(999, 20));
	SHOW(fcntl(fd, F_GETFL) & 0);
	SHOW(fcntl(999, F_GETFL));
	SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, 999, 0));
	SHOW(munmap((void *)1, 10));
	SHOW(chdir("/no/such"));
	SHOW(close(fd));
	SHOW(close(fd));
	SHOW(close(-1));
	SHOW(readlink("errno.bin", buf, sizeof(buf)));
	SHOW(posix_fallocate(999, 0, 10));
	SHOW(unlink("errno.bin"));
	return 0;
}

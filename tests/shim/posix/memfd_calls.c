/* SPDX-License-Identifier: MIT */
/*
 * Files without a path of the program: memfd_create, shm_open, a file handle.
 * Prints values that must be the same bare and traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void said(const char *what, long r)
{
	printf("%s %ld %s\n", what, r, r < 0 ? strerror(errno) : "-");
	errno = 0;
}

int main(int argc, char **argv)
{
	struct {
		struct file_handle h;
		unsigned char room[128];
	} handle = {.h = {.handle_bytes = 128}};
	const char *volatile bad = (const char *)8;
	char name[300], text[16] = "";
	int fd = memfd_create("weights", MFD_CLOEXEC), mount;
	struct stat st;

	said("memfd", fd);
	said("write", write(fd, "0123456789", 10));
	said("pread", pread(fd, text, 4, 3));
	printf("%s\n", text);
	said("close", close(fd));
	fd = (int)syscall(SYS_memfd_create, "raw", 0u);
	said("memfd by number", fd);
	said("write", write(fd, "0123", 4));
	said("close", close(fd));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	said("memfd, long name", memfd_create(name, 0));
	said("memfd, bad pointer", memfd_create(bad, 0));

	snprintf(name, sizeof(name), "/ioreel.test.%d.%d", (int)getuid(),
		 (int)getppid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	said("shm_open", fd);
	said("write", write(fd, text, 4));
	said("fstat", fstat(fd, &st) ? -1 : (long)st.st_size);
	said("shm_open again", shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	said("close", close(fd));
	said("shm_unlink", shm_unlink(name));
	said("shm_unlink again", shm_unlink(name));
	said("shm_open, slashes", shm_open("/a/b", O_RDWR, 0));

	fd = open("handle.bin", O_RDWR | O_CREAT, 0644);
	said("write", write(fd, "0123456789", 10));
	close(fd);
	if (name_to_handle_at(AT_FDCWD, "handle.bin", &handle.h, &mount, 0)) {
		printf("no handles here\n");
		return 0;
	}
	mount = open(".", O_RDONLY | O_DIRECTORY);
	fd = open_by_handle_at(mount, &handle.h, O_RDONLY);
	said("open_by_handle_at", fd);
	if (fd >= 0)
		said("read", read(fd, text, 7));
	said("open_by_handle_at, bad", open_by_handle_at(-1, &handle.h, 0));
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The optional mode argument reaches the kernel, with O_TMPFILE too. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void show(const char *what, int fd)
{
	struct stat st = {0};

	fstat(fd, &st);
	printf("%s %d mode %o\n", what, fd >= 0, (unsigned int)st.st_mode);
	close(fd);
}

int main(void)
{
	int dir;

	umask(0);
	show("open", open("m1", O_RDWR | O_CREAT | O_EXCL, 0640));
	show("open64", open64("m2", O_RDWR | O_CREAT | O_EXCL, 0604));
	show("creat", creat("m3", 0611));
	dir = open(".", O_RDONLY | O_DIRECTORY);
	show("openat", openat(dir, "m4", O_RDWR | O_CREAT | O_EXCL, 0750));
	show("tmpfile", open(".", O_TMPFILE | O_RDWR, 0640));
	show("openat tmpfile", openat(dir, ".", O_TMPFILE | O_RDWR, 0601));
	unlink("m1");
	unlink("m2");
	unlink("m3");
	unlink("m4");
	return 0;
}

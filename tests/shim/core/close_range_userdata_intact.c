/* SPDX-License-Identifier: MIT */
/*
 * A program that closes every descriptor it did not open and then opens its
 * own: its file must hold only its own bytes, and numbers must be the lowest
 * free ones.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
	char buf[100];
	struct stat st;
	int fd, i;

	printf("first %d\n", open("/dev/null", O_RDONLY));
	for (i = 3; i < 200; i++)
		close(i);
	close_range(3, ~0u, 0);
	closefrom(3);
	fd = open("user.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
	printf("fd %d\n", fd);
	memset(buf, 'u', sizeof(buf));
	for (i = 0; i < 20000; i++)
		if (write(fd, buf, sizeof(buf)) != (long)sizeof(buf))
			return 1;
	for (i = 0; i < 50000; i++)
		if (pread(fd, buf, 100, (i % 20000) * 100) != 100 ||
		    buf[0] != 'u' || buf[99] != 'u')
			return 2;
	fstat(fd, &st);
	printf("size %ld, next fd %d\n", (long)st.st_size, dup(fd));
	unlink("user.bin");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The earliest calls: in an IFUNC resolver of a program linked with -z now,
 * which runs before the preloaded library is relocated, and in a constructor.
 * Built with or without -z now, it must print the same.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int early_fd = -2, ctor_fd = -2;

static int answer(void)
{
	return 42;
}

__attribute__((used)) static int (*pick(void))(void)
{
	char b[4];

	early_fd = open("/etc/passwd", O_RDONLY);
	if (early_fd >= 0 && read(early_fd, b, sizeof(b)) == (long)sizeof(b))
		close(early_fd);
	return answer;
}

int chosen(void) __attribute__((ifunc("pick")));

__attribute__((constructor)) static void early(void)
{
	ctor_fd = open("/etc/passwd", O_RDONLY);
	close(ctor_fd);
}

int main(void)
{
	printf("%d %d %d\n", chosen(), early_fd, ctor_fd);
	return 0;
}

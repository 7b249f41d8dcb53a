/* SPDX-License-Identifier: MIT */
/*
 * Names of any bytes and any length. With TELL set, prints the path from the
 * kernel for each open file, in hex: each must be in the trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void tell(int fd)
{
	char link[64], path[8192];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n < 0) /* past PATH_MAX, which the kernel does not return */
		return;
	printf("path ");
	for (ssize_t i = 0; i < n; i++)
		printf("%02X", (unsigned char)path[i]);
	printf("\n");
}

static void file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0) {
		printf("open: errno %d\n", errno);
		return;
	}
	if (write(fd, "12345", 5) != 5)
		exit(1);
	if (getenv("TELL"))
		tell(fd);
	close(fd);
}

/* Make a directory chain longer than PATH_MAX, and remove it. */
static void deep(void)
{
	char name[201];
	int depth = 0;

	memset(name, 'd', 200);
	name[200] = '\0';
	for (; depth < 25; depth++)
		if (mkdir(name, 0700) || chdir(name))
			break;
	printf("depth %d\n", depth);
	file("too deep to be named");
	unlink("too deep to be named");
	while (depth-- > 0)
		if (chdir("..") || rmdir(name))
			break;
	file("back");
}

int main(void)
{
	static const char *const odd[] = {
		"new\nline",   "tab\there", "back\\slash",
		"quote'\"",    " space ",   "\xff\xfe\x80",
		"caf\xc3\xa9", "caf\xe9",   "\x01\x02\x1b[31m",
		"-dash",       "%s%n",	    "a,b;c|d",
		"...",	       "\xc0\xaf",
	};
	char name[5000];

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		file(odd[i]);
	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	file(name);
	name[255] = 'n';
	name[256] = '\0';
	file(name); /* ENAMETOOLONG */
	name[256] = 'n';
	name[4999] = '\0';
	file(name);
	/* 4,095 bytes: the longest path that the kernel accepts */
	for (int i = 0; i < 4000; i += 2)
		memcpy(name + i, "./", 2);
	memset(name + 4000, 'l', 95);
	name[4095] = '\0';
	file(name);
	file("");
	deep();
	return 0;
}

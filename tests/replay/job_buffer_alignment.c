/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes with buffers at given offsets in a page, in the directory
 * that is its argument.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096

static char memory[1 << 20] __attribute__((aligned(PAGE)));

int main(int argc, char **argv)
{
	int fd;

	memset(memory, 'x', sizeof(memory));
	if (argc != 2 || chdir(argv[1]))
		return 2;
	fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, memory + 100, 300000) != 300000 ||
	    pread(fd, memory + 48, 200000, 0) != 200000 ||
	    pread(fd, memory + PAGE - 1, 65536, 5) != 65536 ||
	    pread(fd, memory + 7, 65535, 0) != 65535 ||
	    lseek(fd, 0, SEEK_SET) ||
	    read(fd, memory + PAGE + 16, 100000) != 100000 ||
	    pwrite(fd, memory + 33, 70000, 1000) != 70000 ||
	    read(fd, memory + 3, 100) != 100)
		return 1;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A library loaded with RTLD_DEEPBIND takes open and write from libc, past any
 * preloaded library. argv[1] is the library, this file built with LIBRARY.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef LIBRARY
int deep_write(const char *name);

int deep_write(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	int n = (int)write(fd, "deep!", 5);

	close(fd);
	return n;
}
#else
int main(int argc, char **argv)
{
	int (*deep_write)(const char *);
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;

	if (!lib)
		return 1;
	*(void **)&deep_write = dlsym(lib, "deep_write");
	printf("%d bytes\n", deep_write("deep.bin"));
	return dlclose(lib);
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * A library loaded with RTLD_DEEPBIND finds open and write in libc before any
 * preloaded library. argv[1] is the library, this file built with LIBRARY; with
 * one more argument it is closed and loaded again.
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
static int once(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	int (*deep_write)(const char *);

	if (!lib)
		return 1;
	*(void **)&deep_write = dlsym(lib, "deep_write");
	printf("%d bytes\n", deep_write("deep.bin"));
	return dlclose(lib);
}

int main(int argc, char **argv)
{
	return argc < 2 || once(argv[1]) || (argc > 2 && once(argv[1]));
}
#endif

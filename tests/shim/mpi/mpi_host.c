/* SPDX-License-Identifier: MIT */
/*
 * A program without MPI. It looks for MPI by a weak reference and by dlsym(),
 * as libraries with optional MPI support do. With arguments it loads the plugin
 * argv[1] and calls its run() with the rest; MPI is in the plugin's own scope.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern int MPI_Init(int *, char ***) __attribute__((weak));
extern int MPI_File_open(void) __attribute__((weak));

int main(int argc, char **argv)
{
	int (*run)(int, char **);
	void *plugin;

	if (argc < 2) {
		printf("weak %d %d\n", MPI_Init != NULL, MPI_File_open != NULL);
		printf("dlsym %d\n", dlsym(RTLD_DEFAULT, "MPI_Init") != NULL);
		printf("dlerror %d\n", dlerror() != NULL);
		printf("dlsym %d\n", dlsym(NULL, "MPI_Barrier") != NULL);
		return 0;
	}
	plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!plugin || dlerror()) {
		puts("no plugin");
		return 1;
	}
	if (MPI_Init || dlsym(RTLD_DEFAULT, "MPI_Init"))
		puts("MPI is in the global scope");
	run = (int (*)(int, char **))dlsym(plugin, "run");
	return run(argc - 1, argv + 1);
}

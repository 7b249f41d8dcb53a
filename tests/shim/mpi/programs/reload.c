/* SPDX-License-Identifier: MIT */
/*
 * Libraries with MPI's symbols, loaded and unloaded repeatedly, often two at
 * the same address. With -DLIBRARY: such a library. Arguments: the libraries'
 * paths.
 */
#ifdef LIBRARY
#define ALSO(fn) __attribute__((weak, alias(#fn)))
int PMPI_Init(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}
int MPI_Init(int *argc, char ***argv) ALSO(PMPI_Init);
int PMPI_Barrier(int comm)
{
	return comm != 7;
}
int MPI_Barrier(int comm) ALSO(PMPI_Barrier);
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < 3 * (argc - 1); i++) {
		void *lib = dlopen(argv[1 + i % (argc - 1)], RTLD_LAZY);
		int (*init)(void *, void *), (*barrier)(int);

		if (!lib)
			return 1;
		*(void **)&init = dlsym(lib, "MPI_Init");
		*(void **)&barrier = dlsym(lib, "MPI_Barrier");
		printf("%d %d\n", init(NULL, NULL), barrier(7));
		dlclose(lib);
	}
	return 0;
}
#endif

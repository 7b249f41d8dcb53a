/* SPDX-License-Identifier: MIT */
/*
 * Two MPI libraries in one process: the program's, and that of a plugin which
 * is bound to its own scope first. Each object must call its own MPI: both
 * print the version string that they get.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int use(const char *who);
int use(const char *who)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING], data[10] = "";
	MPI_File fh;
	int n;

	MPI_Init(NULL, NULL);
	MPI_Get_library_version(version, &n);
	n = MPI_File_open(MPI_COMM_SELF, who, MPI_MODE_CREATE | MPI_MODE_RDWR,
			  MPI_INFO_NULL, &fh);
	if (n == MPI_SUCCESS) {
		MPI_File_write_at(fh, 0, data, 10, MPI_BYTE, MPI_STATUS_IGNORE);
		MPI_File_close(&fh);
	}
	printf("%s: %.5s %d\n", who, version, n != MPI_SUCCESS);
	return 0;
}

#ifndef PLUGIN
int main(int argc, char **argv)
{
	int (*plugin)(const char *);
	void *lib;

	use("program");
	lib = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!lib) {
		puts(dlerror());
		return 1;
	}
	plugin = (int (*)(const char *))dlsym(lib, "use");
	plugin("plugin");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * A statically linked MPI. With LIBRARY this file is the MPI, with one
 * process and two functions; else it is the program, which writes a file.
 */
#include <stdio.h>

int PMPI_Init(int *argc, char ***argv);
int PMPI_Finalize(void);
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);

#ifdef LIBRARY
int PMPI_Init(int *argc, char ***argv)
{
	return !argc && argv;
}

int PMPI_Finalize(void)
{
	return 0;
}

int MPI_Init(int *argc, char ***argv) __attribute__((weak, alias("PMPI_Init")));
int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));
#else
int main(int argc, char **argv)
{
	FILE *f;

	if (MPI_Init(&argc, &argv) || !(f = fopen(argv[1], "w")))
		return 1;
	fputs("written\n", f);
	return fclose(f) || MPI_Finalize();
}
#endif

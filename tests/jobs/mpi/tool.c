/* SPDX-License-Identifier: MIT */
/*
 * A second tool, preloaded beside the tracer: it counts some calls and passes
 * them on, by their PMPI_ names, or, with -DNEXT, to the next definition.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef NEXT
#define REAL(fn) ((__typeof__(&fn))dlsym(RTLD_NEXT, #fn))
#else
#define REAL(fn) P##fn
#endif

static int opens, writes, barriers;

int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info,
		  MPI_File *fh)
{
	opens++;
	return REAL(MPI_File_open)(comm, path, mode, info, fh);
}

int MPI_File_write_at_all(MPI_File fh, MPI_Offset at, const void *buf, int n,
			  MPI_Datatype type, MPI_Status *status)
{
	writes++;
	return REAL(MPI_File_write_at_all)(fh, at, buf, n, type, status);
}

int MPI_Barrier(MPI_Comm comm)
{
	barriers++;
	return REAL(MPI_Barrier)(comm);
}

int MPI_Finalize(void)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Barrier(MPI_COMM_WORLD);
	printf("%d: tool saw %d %d %d\n", rank, opens, writes, barriers);
	fflush(stdout);
	return REAL(MPI_Finalize)();
}

/* SPDX-License-Identifier: MIT */
/* A tool that interposes MPI by its profiling interface. */
#include <mpi.h>

int MPI_File_write_at_all(MPI_File fh, MPI_Offset off, const void *buf, int n,
			  MPI_Datatype type, MPI_Status *status)
{
	return PMPI_File_write_at_all(fh, off, buf, n, type, status);
}

/* SPDX-License-Identifier: MIT */
/* Collective and independent I/O of the ranks, for any MPI: built by run. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	static char block[50000];
	int rank, size, moved;
	long sum = 0, all;
	MPI_Status st;
	MPI_File f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	memset(block, 'A' + rank, sizeof(block));
	MPI_File_open(MPI_COMM_WORLD, "data.bin",
		      MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &f);
	MPI_File_set_size(f, 0);
	for (int i = 0; i < 5; i++) {
		MPI_File_write_at_all(f, (MPI_Offset)(i * size + rank) * 50000,
				      block, 50000, MPI_BYTE, &st);
		MPI_Get_count(&st, MPI_BYTE, &moved);
		sum += moved;
	}
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at(f, (MPI_Offset)((rank + 1) % size) * 50000, block, 100,
			 MPI_BYTE, &st);
	sum += block[99];
	MPI_File_close(&f);
	MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("%ld\n", all);
	MPI_Finalize();
	return 0;
}

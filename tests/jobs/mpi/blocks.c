/* SPDX-License-Identifier: MIT */
/*
 * The pattern of IOR: segments of a block for each rank, moved in transfers,
 * written, then read by another rank. Arguments: the folder, then c
 * (collective) or i (independent), s (one shared file) or p (one each). Each
 * rank prints what it asked to write and read.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define SEGMENTS 3
#define BLOCK 262144
#define TRANSFER 65536

static char buf[TRANSFER];

int main(int argc, char **argv)
{
	int rank, ranks, all, one;
	long moved = 0;
	char name[4096];
	MPI_File fh;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	all = argv[2][0] == 'c';
	one = argv[3][0] == 's';
	for (int pass = 0; pass < 2; pass++) {
		int who = pass ? (rank + 1) % ranks : rank;

		if (one)
			snprintf(name, sizeof(name), "%s/blocks", argv[1]);
		else
			snprintf(name, sizeof(name), "%s/blocks.%d", argv[1],
				 who);
		MPI_File_open(one ? MPI_COMM_WORLD : MPI_COMM_SELF, name,
			      pass ? MPI_MODE_RDONLY
				   : MPI_MODE_CREATE | MPI_MODE_WRONLY,
			      MPI_INFO_NULL, &fh);
		for (int i = 0; i < SEGMENTS * BLOCK / TRANSFER; i++) {
			long in = (long)i * TRANSFER;
			MPI_Offset at = one ? in / BLOCK * BLOCK * ranks +
							(long)who * BLOCK +
							in % BLOCK
					    : in;

			if (pass && all)
				MPI_File_read_at_all(fh, at, buf, TRANSFER,
						     MPI_BYTE,
						     MPI_STATUS_IGNORE);
			else if (pass)
				MPI_File_read_at(fh, at, buf, TRANSFER,
						 MPI_BYTE, MPI_STATUS_IGNORE);
			else if (all)
				MPI_File_write_at_all(fh, at, buf, TRANSFER,
						      MPI_BYTE,
						      MPI_STATUS_IGNORE);
			else
				MPI_File_write_at(fh, at, buf, TRANSFER,
						  MPI_BYTE, MPI_STATUS_IGNORE);
			moved += TRANSFER;
		}
		MPI_File_close(&fh);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	printf("%d wrote %ld read %ld\n", rank, moved / 2, moved / 2);
	MPI_Finalize();
	return 0;
}

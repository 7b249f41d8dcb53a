/* SPDX-License-Identifier: MIT */
/*
 * Edge cases of MPI-IO: empty transfers, memory by absolute
 * address, views into a grid, the shared pointer, halves of a collective,
 * counts of 64 bits, a file per rank. Each rank prints the bytes it asked to
 * write and read, computed here, without ioreel.
 * Arguments: the folder of the files.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static char buf[1 << 16];
static long wrote, has_read;

/* Half of the ranks move nothing. */
static void nothing(MPI_File fh)
{
	int n = rank % 2 ? 0 : 5000;

	MPI_File_write_at_all(fh, rank * 5000, buf, n, MPI_BYTE,
			      MPI_STATUS_IGNORE);
	wrote += n;
	MPI_File_read_at_all(fh, rank * 5000, n ? buf : NULL, n, MPI_BYTE,
			     MPI_STATUS_IGNORE);
	has_read += n;
}

/* Two arrays at once, by their addresses. */
static void bottom(MPI_File fh)
{
	static int one[100], two[50];
	int lengths[2] = {100, 50};
	MPI_Aint at[2];
	MPI_Datatype both;

	MPI_Get_address(one, &at[0]);
	MPI_Get_address(two, &at[1]);
	MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &both);
	MPI_Type_commit(&both);
	MPI_File_write_at(fh, 100000 + rank * 600, MPI_BOTTOM, 1, both,
			  MPI_STATUS_IGNORE);
	wrote += 600;
	MPI_File_read_at_all(fh, 100000 + rank * 600, MPI_BOTTOM, 1, both,
			     MPI_STATUS_IGNORE);
	has_read += 600;
	MPI_Type_free(&both);
}

/* A column of a grid of doubles, 16 high, a rank's share of 4 wide. */
static void subarray(MPI_File fh)
{
	int sizes[2] = {16, 4 * ranks}, part[2] = {16, 4};
	int from[2] = {0, 4 * rank};
	MPI_Datatype column;

	MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_DOUBLE,
				 &column);
	MPI_Type_commit(&column);
	MPI_File_set_view(fh, 200000, MPI_DOUBLE, column, "native",
			  MPI_INFO_NULL);
	MPI_File_write_all(fh, buf, 64, MPI_DOUBLE, MPI_STATUS_IGNORE);
	wrote += 512;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_seek(fh, 0, MPI_SEEK_SET);
	MPI_File_read(fh, buf, 64, MPI_DOUBLE, MPI_STATUS_IGNORE);
	has_read += 512;
	MPI_File_seek(fh, 8, MPI_SEEK_SET);
	MPI_File_write_all_begin(fh, buf, 24, MPI_DOUBLE);
	MPI_File_write_all_end(fh, buf, MPI_STATUS_IGNORE);
	wrote += 192;
	MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	MPI_Type_free(&column);
}

/* Some file systems have no shared pointer: then skip it. */
static void shared(MPI_File fh)
{
	MPI_Status status;
	int n = 0;

	if (MPI_File_seek_shared(fh, 300000, MPI_SEEK_SET))
		return;
	MPI_File_write_shared(fh, buf, 700, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_write_ordered(fh, buf, 300 + rank, MPI_BYTE,
			       MPI_STATUS_IGNORE);
	wrote += 1000 + rank;
	MPI_File_seek_shared(fh, 300000, MPI_SEEK_SET);
	MPI_File_read_ordered(fh, buf, 100, MPI_BYTE, &status);
	MPI_Get_count(&status, MPI_BYTE, &n);
	has_read += n;
}

static void wide(MPI_File fh)
{
#if MPI_VERSION >= 4
	MPI_File_write_at_c(fh, 400000 + 4000 * rank, buf, 1000, MPI_INT,
			    MPI_STATUS_IGNORE);
	MPI_File_read_at_all_c(fh, 400000 + 4000 * rank, buf, 500, MPI_INT,
			       MPI_STATUS_IGNORE);
	wrote += 4000;
	has_read += 2000;
#else
	(void)fh;
#endif
}

static void requests(MPI_File fh)
{
	MPI_Request r[3];

	for (int i = 0; i < 3; i++)
		MPI_File_iwrite_at(fh, 500000 + (rank * 3 + i) * 1000, buf,
				   1000, MPI_BYTE, &r[i]);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	wrote += 3000;
	MPI_File_iread_at(fh, 500000 + rank * 3000, buf, 3000, MPI_BYTE, r);
	MPI_Wait(r, MPI_STATUS_IGNORE);
	has_read += 3000;
}

static void own_file(const char *folder)
{
	char name[4096];
	MPI_File fh;

	snprintf(name, sizeof(name), "%s/own.%d", folder, rank);
	MPI_File_open(MPI_COMM_SELF, name,
		      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_APPEND,
		      MPI_INFO_NULL, &fh);
	MPI_File_write(fh, buf, 1234, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_write(fh, buf, 4321, MPI_BYTE, MPI_STATUS_IGNORE);
	wrote += 5555;
	MPI_File_close(&fh);
}

int main(int argc, char **argv)
{
	char name[4096];
	MPI_File fh;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(name, sizeof(name), "%s/edges.bin", argv[1]);
	if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR,
			  MPI_INFO_NULL, &fh))
		MPI_Abort(MPI_COMM_WORLD, 1);
	nothing(fh);
	bottom(fh);
	subarray(fh);
	if (argc > 2)
		shared(fh);
	wide(fh);
	requests(fh);
	MPI_File_close(&fh);
	own_file(argv[1]);
	printf("%d wrote %ld read %ld\n", rank, wrote, has_read);
	MPI_Finalize();
	return 0;
}

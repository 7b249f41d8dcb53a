/* SPDX-License-Identifier: MIT */
/*
 * MPI-IO calls of every kind, and the records they must give: call, offset in
 * the file, bytes requested, result, error; "-" for none. The values are
 * computed here, not queried from MPI. Arguments: the data file, the prefix of
 * the output files.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static FILE *lines;
static char buf[1 << 19];
static int rank, ranks;

static void say(const char *call, long offset, long asked, long result, int err)
{
	fprintf(lines, "%s ", call);
	fprintf(lines, offset < 0 ? "- " : "%ld ", offset);
	fprintf(lines, asked < 0 ? "- " : "%ld ", asked);
	fprintf(lines, "%ld %d\n", result, err);
}

/* Explicit offsets, the default view; the last read hits the end of the
 * file. */
static void explicit_offsets(MPI_File fh)
{
	MPI_Datatype thousand;
	MPI_Request request;
	MPI_Status status;
	long end = 4000000 + 1000L * ranks;

	MPI_Type_contiguous(1000, MPI_INT, &thousand);
	MPI_Type_commit(&thousand);
	MPI_File_write_at_all(fh, rank * 400000L, buf, 100, thousand, &status);
	say("MPI_File_write_at_all", rank * 400000L, 400000, 400000, 0);
	MPI_File_write_at(fh, 4000000 + 1000L * rank, buf, 1000, MPI_BYTE,
			  MPI_STATUS_IGNORE);
	say("MPI_File_write_at", 4000000 + 1000L * rank, 1000, 1000, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_iread_at(fh, rank * 100L, buf, 100, MPI_CHAR, &request);
	MPI_Wait(&request, &status);
	say("MPI_File_iread_at", rank * 100L, 100, 100, 0);
	MPI_File_iwrite_at(fh, rank * 100L, buf, 7, MPI_INT, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	say("MPI_File_iwrite_at", rank * 100L, 28, 28, 0);
	MPI_File_read_at_all_begin(fh, rank * 50L, buf, 50, MPI_CHAR);
	MPI_File_read_at_all_end(fh, buf, MPI_STATUS_IGNORE);
	say("MPI_File_read_at_all_begin", rank * 50L, 50, 50, 0);
	say("MPI_File_read_at_all_end", -1, -1, 50, 0);
	MPI_File_read_at(fh, end - 10, buf, 100, MPI_CHAR, MPI_STATUS_IGNORE);
	say("MPI_File_read_at", end - 10, 100, 10, 0);
	MPI_File_read_at(fh, end, buf, 100, MPI_CHAR, &status);
	say("MPI_File_read_at", end, 100, 0, 0);
#if MPI_VERSION >= 4
	MPI_File_write_at_c(fh, 64L * rank, buf, 16, MPI_INT, &status);
	say("MPI_File_write_at", 64L * rank, 64, 64, 0);
	MPI_File_read_at_all_c(fh, 64L * rank, buf, 4, MPI_INT,
			       MPI_STATUS_IGNORE);
	say("MPI_File_read_at_all", 64L * rank, 16, 16, 0);
#endif
	MPI_Type_free(&thousand);
}

/* The individual file pointer, through a view with holes. */
static void pointers(MPI_File fh)
{
	MPI_Datatype holes;
	long at = 8L * rank, tile = 8L * (9 * ranks + 1);

	MPI_Type_vector(10, 1, ranks, MPI_DOUBLE, &holes);
	MPI_Type_commit(&holes);
	MPI_File_set_view(fh, at, MPI_DOUBLE, holes, "native", MPI_INFO_NULL);
	say("MPI_File_set_view", at, -1, 0, 0);
	MPI_File_read_all(fh, buf, 10, MPI_DOUBLE, MPI_STATUS_IGNORE);
	say("MPI_File_read_all", at, 80, 80, 0);
	MPI_File_read(fh, buf, 5, MPI_DOUBLE, MPI_STATUS_IGNORE);
	say("MPI_File_read", at + tile, 40, 40, 0);
	MPI_File_seek(fh, 3, MPI_SEEK_SET);
	say("MPI_File_seek", at + 24L * ranks, -1, at + 24L * ranks, 0);
	MPI_File_write(fh, buf, 2, MPI_DOUBLE, MPI_STATUS_IGNORE);
	say("MPI_File_write", at + 24L * ranks, 16, 16, 0);
	MPI_File_read_at(fh, 11, buf, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	say("MPI_File_read_at", at + tile + 8L * ranks, 8, 8, 0);
	MPI_File_set_view(fh, 40, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
	say("MPI_File_set_view", 40, -1, 0, 0);
	MPI_File_read_at(fh, 3, buf, 2, MPI_INT, MPI_STATUS_IGNORE);
	say("MPI_File_read_at", 52, 8, 8, 0);
	MPI_File_read(fh, buf, 2, MPI_INT, MPI_STATUS_IGNORE);
	say("MPI_File_read", 40, 8, 8, 0);
	MPI_Type_free(&holes);
}

/* The shared pointer: offsets are unknown. */
static void shared(MPI_File fh)
{
	MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	say("MPI_File_set_view", 0, -1, 0, 0);
	MPI_File_write_ordered(fh, buf, 10, MPI_CHAR, MPI_STATUS_IGNORE);
	say("MPI_File_write_ordered", -1, 10, 10, 0);
	MPI_File_write_shared(fh, buf, 11, MPI_CHAR, MPI_STATUS_IGNORE);
	say("MPI_File_write_shared", -1, 11, 11, 0);
}

static void whole_file(MPI_File fh)
{
	MPI_Offset size;

	MPI_File_set_size(fh, 5000000);
	say("MPI_File_set_size", 5000000, -1, 0, 0);
	MPI_File_get_size(fh, &size);
	say("MPI_File_get_size", -1, -1, 0, 0);
	MPI_File_set_atomicity(fh, 0);
	say("MPI_File_set_atomicity", -1, -1, 0, 0);
	MPI_File_sync(fh);
	say("MPI_File_sync", -1, -1, 0, 0);
	printf("%d: size %lld\n", rank, (long long)size);
}

/* Calls without a file, which order I/O. */
static void collectives(void)
{
	MPI_Comm half;
	int one = 1, sum = 0, all[64];

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
	MPI_Bcast(&one, 1, MPI_INT, 0, half);
	MPI_Comm_free(&half);
	/* Each communicator has an id of its own, even after others were
	 * freed. */
	for (int i = 0; i < 3; i++) {
		MPI_Comm one_more, another;

		MPI_Comm_dup(MPI_COMM_WORLD, &one_more);
		MPI_Barrier(one_more);
		MPI_Comm_dup(one_more, &another);
		MPI_Barrier(another);
		MPI_Comm_free(&one_more);
		MPI_Barrier(another);
		MPI_Comm_free(&another);
	}
	MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	printf("%d: sum %d last %d\n", rank, sum, all[ranks - 1]);
}

static void failures(const char *path)
{
	MPI_File fh;
	int r = MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all",
			      MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);

	say("MPI_File_open", -1, -1, -1, 2);
	printf("%d: open %d\n", rank, r != MPI_SUCCESS);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_File_delete(path, MPI_INFO_NULL);
		say("MPI_File_delete", -1, -1, 0, 0);
	}
}

/* Called by main(), or in a plugin by a program without MPI. */
int run(int argc, char **argv);
int run(int argc, char **argv)
{
	char name[4096];
	MPI_Info info;
	MPI_File fh;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(name, sizeof(name), "%s.%d", argv[2], rank);
	lines = fopen(name, "w");
	if (!lines)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", "enable");
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
		      info, &fh);
	say("MPI_File_open", -1, -1, 0, 0);
	MPI_Info_free(&info);
	explicit_offsets(fh);
	pointers(fh);
	shared(fh);
	whole_file(fh);
	collectives();
	MPI_File_close(&fh);
	say("MPI_File_close", -1, -1, 0, 0);
	failures(argv[1]);
	fclose(lines);
	MPI_Finalize();
	return 0;
}

#ifndef PLUGIN
int main(int argc, char **argv)
{
	return run(argc, argv);
}
#endif

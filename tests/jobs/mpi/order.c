/* SPDX-License-Identifier: MIT */
/*
 * Ranks that only a collective orders: rank 0 reads a folder of files, then
 * enters the collective; the others enter it at once, then write files that no
 * other rank uses. Arguments: the folder of the data, the one of the results,
 * the collective: barrier, bcast, gather or allreduce. In a gather, the others
 * go first and rank 0 waits for them. Nonblocking (ibarrier, ...), files are
 * written without any order while it is in flight.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILES 200

static char buf[4096], name[32];
static int rank, one = 1, all[64];

static void work(const char *folder, const char *name, int n, int flags)
{
	char path[4096];

	for (int i = 0; i < n; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s.%d", folder, name, i);
		fd = open(path, flags, 0644);
		if (fd < 0)
			MPI_Abort(MPI_COMM_WORLD, 1);
		for (int k = 0; k < 10; k++)
			if ((flags & O_CREAT ? write(fd, buf, 4096)
					     : read(fd, buf, 4096)) < 0)
				MPI_Abort(MPI_COMM_WORLD, 1);
		close(fd);
	}
}

static void blocking(const char *how)
{
	if (!strcmp(how, "barrier"))
		MPI_Barrier(MPI_COMM_WORLD);
	else if (!strcmp(how, "bcast"))
		MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
	else if (!strcmp(how, "gather"))
		MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, 0,
			   MPI_COMM_WORLD);
	else
		MPI_Allreduce(&one, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void nonblocking(const char *how, const char *folder)
{
	char own[40];
	MPI_Request q;
	int flag = 0;

	if (!strcmp(how, "ibarrier"))
		MPI_Ibarrier(MPI_COMM_WORLD, &q);
	else if (!strcmp(how, "ibcast"))
		MPI_Ibcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD, &q);
	else if (!strcmp(how, "igather"))
		MPI_Igather(&one, 1, MPI_INT, all, 1, MPI_INT, 0,
			    MPI_COMM_WORLD, &q);
	else
		MPI_Iallreduce(&one, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			       &q);
	snprintf(own, sizeof(own), "meanwhile.%d", rank);
	work(folder, own, 1, O_CREAT | O_WRONLY);
	if (rank % 2)
		MPI_Wait(&q, MPI_STATUS_IGNORE);
	else
		while (!flag)
			MPI_Test(&q, &flag, MPI_STATUS_IGNORE);
}

static void meet(const char *how, const char *folder)
{
	if (how[0] == 'i')
		nonblocking(how, folder);
	else
		blocking(how);
}

int main(int argc, char **argv)
{
	const char *how = argv[3];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "rank.%d", rank);
	if (strstr(how, "gather")) {
		if (rank)
			work(argv[2], name, FILES / 2, O_CREAT | O_WRONLY);
		meet(how, argv[2]);
		if (!rank)
			work(argv[1], "data", FILES, O_RDONLY);
	} else {
		if (!rank)
			work(argv[1], "data", FILES, O_RDONLY);
		meet(how, argv[2]);
		if (rank)
			work(argv[2], name, FILES / 2, O_CREAT | O_WRONLY);
	}
	MPI_Finalize();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Nonblocking collectives, completed by every function of MPI, among
 * messages, from two communicators at once. The argument is the folder where
 * each rank writes after its first barrier.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MANY 8

static int rank, ranks;

static void ended_by(int way, MPI_Request *q, int n)
{
	int flag = 0, at, done = 0, some, where[MANY];

	switch (way) {
	case 0:
		for (int i = 0; i < n; i++)
			MPI_Wait(&q[i], MPI_STATUS_IGNORE);
		break;
	case 1:
		MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
		break;
	case 2:
		for (int i = 0; i < n; i++)
			MPI_Waitany(n, q, &at, MPI_STATUS_IGNORE);
		break;
	case 3:
		for (; done < n; done += some)
			MPI_Waitsome(n, q, &some, where, MPI_STATUSES_IGNORE);
		break;
	case 4:
		for (int i = 0; i < n; i++)
			for (flag = 0; !flag;)
				MPI_Test(&q[i], &flag, MPI_STATUS_IGNORE);
		break;
	case 5:
		while (!flag)
			MPI_Testall(n, q, &flag, MPI_STATUSES_IGNORE);
		break;
	case 6:
		for (int i = 0; i < n; i += flag)
			MPI_Testany(n, q, &at, &flag, MPI_STATUS_IGNORE);
		break;
	case 7:
		for (; done < n; done += some)
			MPI_Testsome(n, q, &some, where, MPI_STATUSES_IGNORE);
		break;
	}
}

int main(int argc, char **argv)
{
	static int in[64], out[64], sum;
	MPI_Request q[MANY];
	MPI_Comm half;
	char path[4096];
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	for (int way = 0; way < 8; way++) {
		int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;

		MPI_Irecv(&in[0], 1, MPI_INT, from, 1, MPI_COMM_WORLD, &q[0]);
		MPI_Ibarrier(MPI_COMM_WORLD, &q[1]);
		MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half, &q[2]);
		MPI_Ibcast(&out[0], 4, MPI_INT, 1, MPI_COMM_WORLD, &q[3]);
		MPI_Isend(&rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &q[4]);
		MPI_Igather(&rank, 1, MPI_INT, &out[8], 1, MPI_INT, 0,
			    MPI_COMM_WORLD, &q[5]);
		ended_by(way, q, 6);
		if (in[0] != from)
			MPI_Abort(MPI_COMM_WORLD, 1);
		for (int i = 0; i < 6; i++)
			if (q[i] != MPI_REQUEST_NULL)
				MPI_Abort(MPI_COMM_WORLD, 2);
		snprintf(path, sizeof(path), "%s/%d.%d", argv[1], rank, way);
		f = fopen(path, "w");
		if (!f || fprintf(f, "%d\n", sum) < 0 || fclose(f))
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
	MPI_Comm_free(&half);
	printf("%d ended\n", rank);
	MPI_Finalize();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Ranks of MPI. Only the process that called MPI_Init may come here: the
 * processes of a replay are forked from it, and know nothing of MPI. */
#include "replay/engine/comm_mpi.h"

#include <mpi.h>

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int64_t *value, int n, enum comm_op op)
{
	MPI_Allreduce(MPI_IN_PLACE, value, n, MPI_INT64_T,
		      op == COMM_SUM   ? MPI_SUM
		      : op == COMM_MIN ? MPI_MIN
				       : MPI_MAX,
		      MPI_COMM_WORLD);
}

struct comm comm_mpi_world(void)
{
	struct comm c = {.barrier = barrier, .allreduce = allreduce};

	MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c.size);
	return c;
}

int comm_mpi_one_host(void)
{
	MPI_Comm here;
	int size = 0, all = 0;

	MPI_Comm_size(MPI_COMM_WORLD, &all);
	if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
				MPI_INFO_NULL, &here))
		return 0;
	MPI_Comm_size(here, &size);
	MPI_Comm_free(&here);
	return size == all;
}

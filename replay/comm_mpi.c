/* SPDX-License-Identifier: MIT */
/* Ranks of an MPI job: the only file that knows MPI. */
#include <mpi.h>

#include "replay/comm_mpi.h"

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int64_t *value, int n, enum comm_op op)
{
	MPI_Op how = op == COMM_SUM ? MPI_SUM : op == COMM_MIN ? MPI_MIN : MPI_MAX;

	MPI_Allreduce(MPI_IN_PLACE, value, n, MPI_INT64_T, how, MPI_COMM_WORLD);
}

struct comm comm_mpi = { .rank = 0,
			 .size = 1,
			 .barrier = barrier,
			 .allreduce = allreduce };

void comm_mpi_init(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &comm_mpi.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &comm_mpi.size);
}

void comm_mpi_fini(void)
{
	MPI_Finalize();
}


/* SPDX-License-Identifier: MIT */
/* Sessions of MPI 4: no MPI_Init, so there is no MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int rank, one = 1, sum = 0;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL,
				   MPI_ERRORS_RETURN, &comm);
	MPI_Comm_rank(comm, &rank);
	MPI_Barrier(comm);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	printf("%d: sum %d\n", rank, sum);
	fflush(stdout);
	MPI_Group_free(&group);
	MPI_Comm_free(&comm);
	MPI_Session_finalize(&session);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Ranks of MPI. Only the process that called MPI_Init() may use them: the
 * processes of a replay are forked from it and make no call of MPI. */
#include "replay/comm/comm_mpi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

#include "schemas/launcher.h"

static bool started; /* MPI_Init() was called here */
static bool abandoned;
static int muted[2]; /* copies of stdout and stderr, or 0 */

/* Did a launcher that serves MPI_Init() start this process? */
static bool is_launched(void)
{
	static const char *const pmi[] = {REEL_LAUNCHER_PMI};

	for (size_t i = 0; i < REEL_LAUNCHERS; i++) {
		const struct reel_launcher *l = &reel_launchers[i];

		if (l->kind == REEL_LAUNCHER_MPI &&
		    (getenv(l->rank) || (l->size && getenv(l->size))))
			return true;
	}
	return getenv(pmi[0]) || getenv(pmi[1]);
}

void comm_mpi_mute(void)
{
	const char *rank = NULL;
	int null;

	for (size_t i = 0; !rank && i < REEL_LAUNCHERS; i++)
		if (reel_launchers[i].kind == REEL_LAUNCHER_MPI)
			rank = getenv(reel_launchers[i].rank);
	if (!rank || atoi(rank) <= 0)
		return;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int fd = 1; null >= 0 && fd <= 2; fd++) {
		muted[fd - 1] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		dup2(null, fd);
	}
	close(null);
}

bool comm_mpi_is_muted(void)
{
	return muted[1] > 0;
}

static void unmute(void)
{
	for (int fd = 1; fd <= 2; fd++) {
		if (muted[fd - 1] <= 0)
			continue;
		dup2(muted[fd - 1], fd);
		close(muted[fd - 1]);
		muted[fd - 1] = 0;
	}
}

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

static void abandon(void)
{
	abandoned = true;
}

/* The place of this rank on its host. */
static void find_host(struct comm *c)
{
	MPI_Comm here;

	c->host_size = 1;
	if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
				MPI_INFO_NULL, &here))
		return;
	MPI_Comm_rank(here, &c->host_rank);
	MPI_Comm_size(here, &c->host_size);
	MPI_Comm_free(&here);
}

struct comm comm_mpi_init(void)
{
	struct comm c = {
		.barrier = barrier, .allreduce = allreduce, .abandon = abandon};
	int level;

	unmute();
	if (!is_launched())
		return comm_single;
	/* Reader threads may use MPI-IO at the same time. */
	MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
	started = true;
	MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c.size);
	c.files = comm_mpi_files(level == MPI_THREAD_MULTIPLE, c.size);
	find_host(&c);
	return c;
}

void comm_mpi_fini(void)
{
	/* MPI_Finalize() waits for the other ranks, and after Ctrl-C mpirun may
	 * kill this one meanwhile. */
	fflush(stdout);
	if (started && abandoned)
		MPI_Abort(MPI_COMM_WORLD, 1);
	else if (started)
		MPI_Finalize();
}

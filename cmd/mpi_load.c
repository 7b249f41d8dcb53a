/* SPDX-License-Identifier: MIT */
/*
 * "ioreel-mpi load": loads a trace under mpirun, or with one rank alone.
 *
 * Rank 0 reads the trace and writes the store, the others compress blocks of
 * events for it: they need neither the trace nor the store. A rank without work
 * sleeps between two looks for a message, as MPI would spin.
 */
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

#include "lib/cli.h"
#include "lib/error.h"

#include "analyzer/write/ranks.h"
#include "cmd/commands.h"
#include "cmd/load_arguments.h"
#include "replay/comm/comm_mpi.h"

#define POLL_US 200

enum tag { TAG_BLOCK, TAG_RESULT };

/* Receive the message of @status. Gives *@data for free(). */
static int take_message(MPI_Status *status, void **data, size_t *bytes,
			struct reel_error *err)
{
	int n;

	MPI_Get_count(status, MPI_BYTE, &n);
	*bytes = (size_t)n;
	*data = reel_alloc(*bytes + 1, 1, err);
	if (!*data)
		return -1;
	MPI_Recv(*data, n, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG,
		 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return 0;
}

static int send_block(void *arg, int rank, const void *data, size_t bytes,
		      struct reel_error *err)
{
	MPI_Send(data, (int)bytes, MPI_BYTE, rank, TAG_BLOCK, MPI_COMM_WORLD);
	return 0;
}

static int receive_result(void *arg, int *rank, void **data, size_t *bytes,
			  struct reel_error *err)
{
	MPI_Status status;
	int there;

	MPI_Iprobe(MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD, &there, &status);
	if (!there)
		return 0;
	*rank = status.MPI_SOURCE;
	return take_message(&status, data, bytes, err) ? -1 : 1;
}

/* Compress what rank 0 sends, until it sends nothing. An empty answer says that
 * this rank failed. */
static void serve(void)
{
	struct reel_packer *packer = NULL;
	struct reel_error err = {0};
	bool good = !reel_packer_new(&packer, &err);

	for (;;) {
		void *block = NULL, *result = NULL;
		size_t bytes = 0, result_bytes = 0;
		MPI_Status status;
		int there = 0;

		MPI_Iprobe(0, TAG_BLOCK, MPI_COMM_WORLD, &there, &status);
		if (!there) {
			usleep(POLL_US);
			continue;
		}
		if (take_message(&status, &block, &bytes, &err))
			MPI_Abort(MPI_COMM_WORLD, 1);
		if (bytes && good)
			good = !reel_packer_run(packer, block, bytes, &result,
						&result_bytes, &err);
		if (bytes)
			MPI_Send(result, good ? (int)result_bytes : 0, MPI_BYTE,
				 0, TAG_RESULT, MPI_COMM_WORLD);
		free(block);
		free(result);
		if (!bytes)
			break;
	}
	reel_packer_free(packer);
}

static int run(int argc, char **argv)
{
	struct load_arguments a = {0};
	int status = load_arguments_parse(&cmd_mpi_load, &a, argc, argv);
	struct reel_ranks ranks = {.send = send_block,
				   .receive = receive_result};
	struct comm comm;

	if (status >= 0)
		goto out;
	comm = comm_mpi_init();
	ranks.n = comm.size - 1;
	a.options.ranks = &ranks;
	status = 0;
	if (comm.rank == 0)
		status = load_arguments_run(&cmd_mpi_load, &a);
	else
		serve();
	for (int i = 1; comm.rank == 0 && i < comm.size; i++)
		MPI_Send(NULL, 0, MPI_BYTE, i, TAG_BLOCK, MPI_COMM_WORLD);
	comm_mpi_fini();
out:
	load_arguments_fini(&a);
	return status;
}

const struct reel_command cmd_mpi_load = {
	.program = "ioreel-mpi",
	.name = "load",
	.task = "merge the traces of a job into one store, with many ranks",
	.usage = LOAD_USAGE,
	.examples = "  mpirun -n 4 ioreel-mpi load train.reel\n"
		    "  mpirun -n 4 ioreel-mpi load -j 2 train.reel -o a.db\n",
	.about = "As ioreel load: rank 0 reads the trace directory DIR and "
		 "writes the store RUN.db with N threads, and the other ranks "
		 "compress events for it. The store is the same for every "
		 "number of ranks and threads.",
	.run = run,
};

/* SPDX-License-Identifier: MIT */
/* "ioreel-mpi gen" and "ioreel-mpi run": as of ioreel, over the ranks of MPI. */
#include "lib/cli.h"

#include "cmd/commands.h"
#include "cmd/gen.h"
#include "cmd/run.h"
#include "replay/comm/comm_mpi.h"

static int gen(int argc, char **argv)
{
	int status = gen_main(&cmd_mpi_gen, comm_mpi_init, argc, argv);

	comm_mpi_fini();
	return status;
}

const struct reel_command cmd_mpi_gen = {
	.program = "ioreel-mpi",
	.name = "gen",
	.task = "write the data set of a workload, each rank its share",
	.usage = "[--scale 1/N] [-j N] [-q] F.json DIR",
	.examples =
		"  mpirun -n 8 ioreel-mpi gen unet3d.json /scratch/unet3d\n",
	.about = "As ioreel gen: the files are the same for any number of "
		 "ranks.",
	.run = gen,
};

static int run(int argc, char **argv)
{
	int status = run_main(&cmd_mpi_run, comm_mpi_init, argc, argv);

	comm_mpi_fini();
	return status;
}

const struct reel_command cmd_mpi_run = {
	.program = "ioreel-mpi",
	.name = "run",
	.task = "run a workload as a benchmark on the ranks",
	.usage = "[--data DIR | --null] [-o RUN.db] [--rules NAME] [--scale "
		 "1/N] "
		 "[--set KEY=VALUE] [--json] F.json",
	.examples = "  mpirun -n 8 ioreel-mpi run unet3d.json --data "
		    "/scratch/unet3d\n",
	.about = "As ioreel run, with the readers of each rank; the ranks "
		 "share the samples and meet after each step.",
	.run = run,
};

/* SPDX-License-Identifier: MIT */
/*
 * ioreel-mpi: the verbs that run under mpirun. A new verb is a row here and a
 * file mpi_VERB.c, which the Makefile lists in mpi_src.
 */
#include <locale.h>

#include "cmd/commands.h"
#include "cmd/verbs.h"
#include "replay/comm/comm_mpi.h"

static const struct reel_command *const commands[] = {
	&cmd_mpi_load, &cmd_mpi_replay, &cmd_mpi_gen, &cmd_mpi_run};

static const struct verb_table verbs = {
	.program = "ioreel-mpi",
	.about = "ioreel-mpi is the part of ioreel whose processes are ranks "
		 "of MPI.",
	.first = "mpirun -n 2 ioreel-mpi replay train.plan /scratch/r",
	.details = "ioreel-mpi VERB --help, man ioreel-load, man "
		   "ioreel-replay",
	.command = commands,
	.commands = sizeof(commands) / sizeof(commands[0]),
};

int main(int argc, char **argv)
{
	int status;

	setlocale(LC_CTYPE, "");
	comm_mpi_mute();
	status = verbs_run(&verbs, argc, argv);
	/* Before MPI has started all ranks fail alike, and the first one reports
	 * it. A launcher that saw another rank fail sooner would end that one. */
	return comm_mpi_is_muted() ? 0 : status;
}

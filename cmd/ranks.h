/* SPDX-License-Identifier: MIT */
/* The ranks of a launcher, for verbs that are started once. */
#ifndef CMD_RANKS_H
#define CMD_RANKS_H

#include <stdbool.h>

struct reel_command;

/*
 * Refuse @cmd when a launcher of ranks, as mpirun, started it more than once: each
 * rank would do all of the work, in the same folder. @instead says in the error
 * line how to start it. The environment alone is looked at; a batch script of Slurm
 * is no rank.
 *
 * True: exit with *@status. The first rank prints the error and fails; the others
 * end well, as mpirun kills all ranks when one fails, before the first has
 * printed it.
 */
bool ranks_refuse(const struct reel_command *cmd, const char *instead,
		  int *status);

#endif

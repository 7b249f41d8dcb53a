/* SPDX-License-Identifier: MIT */
/* The commands of the program; each is defined in the file of its name. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "lib/cli.h"

extern const struct reel_command cmd_record;
extern const struct reel_command cmd_load;
extern const struct reel_command cmd_import;
extern const struct reel_command cmd_report;
extern const struct reel_command cmd_sql;
extern const struct reel_command cmd_export;
extern const struct reel_command cmd_compare;
extern const struct reel_command cmd_replay;
extern const struct reel_command cmd_fit;
extern const struct reel_command cmd_workload;
extern const struct reel_command cmd_gen;
extern const struct reel_command cmd_run;
extern const struct reel_command cmd_sweep;
/* Hidden: a replay starts it. */
extern const struct reel_command cmd_replay_engine;

/* The verbs of ioreel-mpi. */
extern const struct reel_command cmd_mpi_load;
extern const struct reel_command cmd_mpi_gen;
extern const struct reel_command cmd_mpi_run;
extern const struct reel_command cmd_mpi_replay;

#endif

/* SPDX-License-Identifier: MIT */
/* Every command of the program, each defined in the file of its name. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "lib/cli.h"

extern const struct reel_command cmd_record;
extern const struct reel_command cmd_load;
extern const struct reel_command cmd_import;
extern const struct reel_command cmd_report;
extern const struct reel_command cmd_sql;
extern const struct reel_command cmd_compare;
extern const struct reel_command cmd_replay;
/* Not for people. */
extern const struct reel_command cmd_replay_engine;

#endif

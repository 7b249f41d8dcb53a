/* SPDX-License-Identifier: MIT */
/* Shared by "run" of both programs. */
#ifndef CMD_RUN_H
#define CMD_RUN_H

struct comm;
struct reel_command;

/*
 * The verb, of @cmd: parse the arguments and run the workload. Collective over the
 * ranks that @ranks gives, which is called once the arguments are good. The exit
 * status.
 */
int run_main(const struct reel_command *cmd, struct comm (*ranks)(void),
	     int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/* Shared by "gen" of both programs. */
#ifndef CMD_GEN_H
#define CMD_GEN_H

struct comm;
struct reel_command;

/*
 * The verb, of @cmd: parse the arguments and write the data set. Collective over
 * the ranks that @ranks gives, which is called once the arguments are good. The
 * exit status.
 */
int gen_main(const struct reel_command *cmd, struct comm (*ranks)(void),
	     int argc, char **argv);

#endif

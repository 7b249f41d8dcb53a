/* SPDX-License-Identifier: MIT */
/* The command line of load, which ioreel and ioreel-mpi share. */
#ifndef CMD_LOAD_ARGUMENTS_H
#define CMD_LOAD_ARGUMENTS_H

#include <stdbool.h>

#include "lib/buf.h"

#include "analyzer/load/load.h"

struct reel_command;

struct load_arguments {
	const char *dir;
	const char *path; /* of the store */
	struct reel_load_options options;
	bool quiet;
	struct reel_buf name; /* path, if it was not given */
};

#define LOAD_USAGE "[-o RUN.db] [-j N] [-q] DIR"

/* Fill the zeroed @a. -1, or the exit status: the line has an error, which was
 * printed, or asks for help. */
int load_arguments_parse(const struct reel_command *cmd,
			 struct load_arguments *a, int argc, char **argv);
void load_arguments_fini(struct load_arguments *a);

/* Load; print the closing line, or the error. Returns the exit status. */
int load_arguments_run(const struct reel_command *cmd,
		       const struct load_arguments *a);

#endif

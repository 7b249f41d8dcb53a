/* SPDX-License-Identifier: MIT */
/* Shared by "run" of both programs. */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include <stdbool.h>

#include "lib/buf.h"

#include "replay/pipeline/run.h"

struct comm;
struct reel_command;
struct reel_error;

struct run_command {
	const char *file;
	struct run_options options;
	const char **set; /* owned array of borrowed words */
	int sets;
	bool json;
	struct reel_buf folder; /* the default of options.checkpoints */
};

/* Parse the options. 0; as reel_cli_parse(), -1 or -2. */
int run_parse(const struct reel_command *cmd, int argc, char **argv,
	      struct run_command *c);
/* Run it; collective over @comm, whose first rank prints. 0, or -1 with @err. */
int run_run(const struct comm *comm, const struct run_command *c,
	    struct reel_error *err);
void run_command_fini(struct run_command *c);

#endif

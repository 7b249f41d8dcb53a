/* SPDX-License-Identifier: MIT */
/*
 * "ioreel replay-engine": the process that "ioreel replay" runs under the shim.
 * Not for users; its results are in the result file.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/error.h"

#include "cmd/commands.h"
#include "replay/comm/comm.h"
#include "replay/engine/engine.h"

static int run(int argc, char **argv)
{
	struct engine_options opt = {0};
	struct reel_error err = {0};

	if (argc != 5)
		return reel_cli_usage(&cmd_replay_engine,
				      "wants a plan, a root, a result, a mode");
	opt.plan = argv[1];
	opt.root = argv[2];
	opt.result = argv[3];
	opt.burn = strstr(argv[4], "+burn") != NULL;
	opt.warm = strstr(argv[4], "+warm") != NULL;
	opt.mode = argv[4][0] == 'a'   ? REPLAY_AFAP
		   : argv[4][1] == 'i' ? REPLAY_TIMED
				       : REPLAY_THINK;
	/* Not as other commands end: their last fflush() would be traced. */
	if (engine_run(&opt, &comm_single, &err))
		_exit(reel_cli_fail(&cmd_replay_engine, &err));
	_exit(0);
}

const struct reel_command cmd_replay_engine = {
	.name = "replay-engine",
	.usage = "PLAN ROOT RESULT think|timed|afap[+burn][+warm]",
	.examples = "",
	.run = run,
};

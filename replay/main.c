/* SPDX-License-Identifier: MIT */
/*
 * ioreel-replay: plays a plan that "ioreel replay --plan FILE" wrote, with its
 * processes spread over the ranks of an MPI job on one node.
 *
 *   mpirun -n 2 ioreel-replay PLAN ROOT [think|timed|afap]
 *
 * Rank 0 makes the file set below ROOT before the others begin and says how it
 * went. The processes of the plan are forked and never call MPI.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/error.h"

#include "replay/comm_mpi.h"
#include "replay/engine.h"
#include "replay/fileset.h"
#include "replay/plan.h"
#include "replay/result.h"
#include "replay/sandbox.h"

static const struct reel_command command = {
	.name = "replay",
	.usage = "PLAN ROOT [think|timed|afap]",
	.examples = "",
};

static int mode_of(const char *word, enum replay_mode *mode)
{
	static const char *const modes[] = { [REPLAY_THINK] = "think",
					     [REPLAY_TIMED] = "timed",
					     [REPLAY_AFAP] = "afap" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (modes[i] && !strcmp(word, modes[i])) {
			*mode = (enum replay_mode)i;
			return 0;
		}
	return -1;
}

/* Rank 0's share before the others begin. */
static int prepare(const struct plan *plan, const char *root, struct sandbox *box,
		   const char *result, struct reel_error *err)
{
	static volatile sig_atomic_t never;

	return sandbox_make(box, root, err) ||
			       fileset_build(plan, box, &never, err) ||
			       result_make(result, plan, err) ?
		       -1 :
		       0;
}

static void say(const struct plan *plan, const char *result,
		struct reel_error *err)
{
	struct result res = { 0 };
	struct result_total t;
	char n[2][REEL_NUM], time[REEL_NUM];

	if (result_open(&res, result, plan, err))
		return;
	result_sum(&res, &t);
	printf("replayed in %s; %s of %s calls gave the recorded result\n",
	       reel_num_time(time, (double)(res.head->end_ns -
					    res.head->begin_ns)),
	       reel_num_count(n[0], (int64_t)t.same),
	       reel_num_count(n[1], (int64_t)(t.same + t.differ)));
	result_close(&res);
}

static int play(int argc, char **argv, struct reel_error *err)
{
	char result[4200];
	struct engine_options opt = { .mode = REPLAY_THINK, .result = result };
	struct sandbox box = { .root = "" };
	struct plan *plan = NULL;
	int64_t bad;

	if (argc < 3 || argc > 4 || (argc == 4 && mode_of(argv[3], &opt.mode)))
		return reel_fail(err, REEL_E_USAGE, "usage: ioreel-replay %s",
				 command.usage);
	snprintf(result, sizeof(result), "%s.result", argv[1]);
	bad = plan_open(&plan, argv[1], err);
	if (!bad && comm_mpi.rank == 0)
		bad = prepare(plan, argv[2], &box, result, err);
	comm_mpi.allreduce(&bad, 1, COMM_MIN); /* agree before going on */
	if (bad)
		goto out;
	opt.plan = argv[1];
	opt.root = comm_mpi.rank == 0 ? box.root : realpath(argv[2], NULL);
	bad = opt.root ? engine_run(&opt, &comm_mpi, err) : -1;
	comm_mpi.allreduce(&bad, 1, COMM_MIN);
	if (!bad && comm_mpi.rank == 0)
		say(plan, result, err);
	if (comm_mpi.rank == 0)
		unlink(result);
	else
		free((char *)opt.root);
out:
	plan_close(plan);
	return bad ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct reel_error err = { 0 };
	int status = 0;

	comm_mpi_init(&argc, &argv);
	if (play(argc, argv, &err))
		status = err.code ? reel_cli_fail(&command, &err) : 1;
	comm_mpi_fini();
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * "ioreel-mpi replay": plays a plan under mpirun, or with one rank alone. Each
 * rank plays its share of the processes that have no parent in the job.
 *
 * Waits between streams use shared memory, so all ranks have to be on one host.
 * Ranks agree on a failure before the next collective.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/error.h"

#include "cmd/commands.h"
#include "cmd/replay_summary.h"
#include "replay/comm/comm_mpi.h"
#include "replay/engine/engine.h"
#include "replay/engine/fileset.h"
#include "replay/engine/interrupt.h"

static int build_sandbox(const struct engine_options *opt, struct sandbox *sb,
			 struct reel_error *err)
{
	struct plan *plan = NULL;
	int rc;

	if (plan_open(&plan, opt->plan, err))
		return -1;
	rc = sandbox_make(sb, opt->root, err) ||
	     fileset_build(plan, sb, FILESET_AS_RECORDED, err) ||
	     result_make(opt->result, plan, err);
	plan_close(plan);
	return rc ? -1 : 0;
}

/* On rank 0: print the outcome, in one line that a program can parse. */
static int print_outcome(const struct engine_options *opt,
			 struct reel_error *err)
{
	struct result res = {0};
	struct plan *plan = NULL;
	struct result_total t;
	int rc;

	if (plan_open(&plan, opt->plan, err))
		return -1;
	rc = result_open(&res, opt->result, plan, err);
	if (!rc) {
		result_sum(&res, &t);
		if (res.head->stop)
			interrupt_signal = (sig_atomic_t)res.head->stop;
		rc = interrupt_check(err);
	}
	if (!rc) {
		replay_report_confined(&res, "ioreel-mpi replay");
		printf("replayed in %.3f s (recorded %.3f s); %llu of %llu "
		       "calls gave the recorded result; late %llu\n",
		       (double)(res.head->end_ns - res.head->begin_ns) / 1e9,
		       (double)plan->head->wall_ns / 1e9,
		       (unsigned long long)t.same,
		       (unsigned long long)plan->head->calls,
		       (unsigned long long)t.late);
		replay_print_times(plan, &t,
				   res.head->end_ns - res.head->begin_ns,
				   opt->mode);
		rc = replay_judge(plan, &res, &t, opt->mode, err);
	}
	result_close(&res);
	plan_close(plan);
	return rc;
}

static int play_share(const struct engine_options *opt, const struct comm *comm,
		      struct reel_error *err)
{
	struct sandbox sb = {.root = ""};
	int rc = 0;

	if (comm->host_size != comm->size)
		return reel_fail(err, REEL_E_USAGE,
				 "all ranks have to be on one host");
	if (comm->rank == 0)
		rc = build_sandbox(opt, &sb, err);
	rc = comm_agree(comm, rc, err);
	if (!rc)
		rc = comm_agree(comm, engine_run(opt, comm, err), err);
	if (!rc && comm->rank == 0)
		rc = print_outcome(opt, err);
	if (sandbox_remove(&sb, err))
		rc = -1;
	return comm_agree(comm, rc, err);
}

/* All ranks use the result file that rank 0 makes. */
static void name_result(char out[static 64], const struct comm *comm)
{
	int64_t pid = comm->rank ? 0 : getpid();

	comm->allreduce(&pid, 1, COMM_MAX);
	snprintf(out, 64, "%s/ioreel-mpi.%lld",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
		 (long long)pid);
}

static int play_ranks(struct engine_options *opt)
{
	struct comm comm = comm_mpi_init();
	struct reel_error err = {0};
	char result[64];
	int status = 0;

	name_result(result, &comm);
	opt->result = result;
	if (play_share(opt, &comm, &err)) {
		status = comm_failed_elsewhere(&err)
				 ? reel_cli_status(&err)
				 : reel_cli_fail(&cmd_mpi_replay, &err);
		if (interrupt_signal)
			status = 128 + interrupt_signal;
	}
	if (comm.rank == 0)
		unlink(result);
	opt->result = NULL;
	comm_mpi_fini();
	return status;
}

static bool find_mode(const char *word, enum replay_mode *mode)
{
	static const char *const words[] = {"think", "timed", "afap"};

	for (unsigned int i = 0; i < 3; i++) {
		*mode = (enum replay_mode)i;
		if (!strcmp(word, words[i]))
			return true;
	}
	return false;
}

static int run(int argc, char **argv)
{
	struct engine_options opt = {.mode = REPLAY_THINK};
	int at = reel_cli_parse(&cmd_mpi_replay, NULL, false, argc, argv);
	int words = argc - at;

	if (at < 0)
		return at == -2 ? 0 : 2;
	if (words < 2)
		return reel_cli_usage(&cmd_mpi_replay, words ? "no root given"
							     : "no plan given");
	if (words > 3)
		return reel_cli_usage(&cmd_mpi_replay,
				      "'%s' is one word too many",
				      argv[at + 3]);
	if (words == 3 && !find_mode(argv[at + 2], &opt.mode))
		return reel_cli_usage(&cmd_mpi_replay,
				      "'%s' is not think, timed or afap",
				      argv[at + 2]);
	opt.plan = argv[at];
	opt.root = argv[at + 1];
	interrupt_catch();
	return play_ranks(&opt);
}

const struct reel_command cmd_mpi_replay = {
	.program = "ioreel-mpi",
	.name = "replay",
	.task = "play a plan, its processes spread over the ranks",
	.usage = "PLAN ROOT [think|timed|afap]",
	.examples = "  ioreel replay train.reel --plan train.plan\n"
		    "  mpirun -n 2 ioreel-mpi replay train.plan /scratch/r\n",
	.about = "Plays PLAN, which ioreel replay --plan wrote, in the sandbox "
		 "ROOT. Each rank plays its share of the processes that the "
		 "job's command started; all ranks are on one host. Without "
		 "mpirun there is one rank. think keeps the pauses between "
		 "calls (the default), timed begins every call when it began "
		 "in the job, afap keeps only the order. Exits with 3 when "
		 "calls ended otherwise than recorded, or when timed could "
		 "not keep up.",
	.run = run,
};

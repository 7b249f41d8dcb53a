/* SPDX-License-Identifier: MIT */
/*
 * ioreel-replay: a plan under mpirun, or alone. Each rank plays its share of
 * the processes that no process of the job forked.
 *
 * Waits between streams go through shared memory, so all ranks have to be on
 * one host. Ranks agree on a failure before the next collective; only main()
 * ends MPI. Without a launcher MPI is not started: Open MPI would start a
 * daemon, which outlives the replay when the replay is killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "lib/error.h"

#include "cmd/replay_summary.h"
#include "replay/engine/comm_mpi.h"
#include "replay/engine/engine.h"
#include "replay/engine/fileset.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

/* Has a launcher of MPI started this process? Each of them sets one of these. */
static bool launched(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE",
					    "PMIX_RANK",
					    "PMI_RANK",
					    "PMI_SIZE",
					    "PMI_FD",
					    "PMI_PORT",
					    "PALS_RANKID",
					    NULL};

	for (int i = 0; names[i]; i++)
		if (getenv(names[i]))
			return true;
	return false;
}

/* All ranks say how it went: the error of one is the end of all. */
static int agree(const struct comm *comm, int rc, struct reel_error *err)
{
	int64_t bad = rc != 0;

	comm->allreduce(&bad, 1, COMM_MAX);
	if (bad && !rc)
		reel_fail(err, REEL_E_IO, "another rank failed");
	return bad ? -1 : 0;
}

static int prepare(const struct engine_options *opt, struct sandbox *sb,
		   struct reel_error *err)
{
	struct plan *plan = NULL;
	int rc;

	if (plan_open(&plan, opt->plan, err))
		return -1;
	rc = sandbox_make(sb, opt->root, err) ||
	     fileset_build(plan, sb, FILESET_AS_RECORDED, &interrupted, err) ||
	     result_make(opt->result, plan, err);
	plan_close(plan);
	return rc ? -1 : 0;
}

/* Rank 0 tells what came out, in one line that is easily read by a program. */
static int tell(const struct engine_options *opt, struct reel_error *err)
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
			interrupted = (sig_atomic_t)res.head->stop;
		if (interrupted)
			rc = reel_fail(err, REEL_E_IO, "interrupted");
	}
	if (!rc) {
		replay_say_confined(&res, "ioreel-replay");
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

static int play(const struct engine_options *opt, const struct comm *comm,
		bool one_host, struct reel_error *err)
{
	struct sandbox sb = {.root = ""};
	int rc = 0;

	if (!one_host)
		return reel_fail(err, REEL_E_USAGE,
				 "all ranks have to be on one host");
	if (comm->rank == 0)
		rc = prepare(opt, &sb, err);
	rc = agree(comm, rc, err);
	if (!rc)
		rc = agree(comm, engine_run(opt, comm, err), err);
	if (!rc && comm->rank == 0)
		rc = tell(opt, err);
	if (sandbox_remove(&sb, err))
		rc = -1;
	return agree(comm, rc, err);
}

static bool mode_of(const char *word, enum replay_mode *mode)
{
	static const char *const words[] = {"think", "timed", "afap"};

	for (unsigned int i = 0; i < 3; i++) {
		*mode = (enum replay_mode)i;
		if (!strcmp(word, words[i]))
			return true;
	}
	return false;
}

/* All ranks use the result file that rank 0 makes. */
static void name_result(char out[static 64], bool mpi)
{
	int64_t id = getpid();

	if (mpi)
		MPI_Bcast(&id, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
	snprintf(out, 64, "%s/ioreel-replay.%lld",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long long)id);
}

static int run(const struct engine_options *opt, const struct comm *comm,
	       bool one_host)
{
	struct reel_error err = {0};
	int status = 0;

	if (play(opt, comm, one_host, &err)) {
		status = interrupted		    ? 128 + interrupted
			 : err.code == REEL_E_USAGE ? 2
			 : err.code == REEL_E_LIMIT ? 3
						    : 1;
		if (strcmp(err.text, "another rank failed"))
			fprintf(stderr, "ioreel-replay: %s\n", err.text);
	}
	if (comm->rank == 0)
		unlink(opt->result);
	return status;
}

int main(int argc, char **argv)
{
	struct engine_options opt = {.mode = REPLAY_THINK};
	struct comm comm = comm_single;
	bool mpi = launched(), one_host = true;
	char result[64];
	int status;

	if (argc < 3 || argc > 4 ||
	    (argc > 3 && !mode_of(argv[3], &opt.mode))) {
		fprintf(stderr, "usage: ioreel-replay PLAN ROOT "
				"[think|timed|afap]\n"
				"       mpirun -n N ioreel-replay PLAN ROOT "
				"[think|timed|afap]\n");
		return 2;
	}
	catch_signals();
	if (mpi) {
		MPI_Init(&argc, &argv);
		comm = comm_mpi_world();
		one_host = comm_mpi_one_host();
	}
	name_result(result, mpi);
	opt.plan = argv[1];
	opt.root = argv[2];
	opt.result = result;
	status = run(&opt, &comm, one_host);
	if (mpi)
		MPI_Finalize();
	return status;
}

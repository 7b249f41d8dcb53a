/* SPDX-License-Identifier: MIT */
/*
 * ioreel-replay: a plan under mpirun. Each rank plays its share of the
 * processes that no process of the job forked.
 *
 * Waits between streams go through shared memory, so all ranks have to be on
 * one host. Ranks agree on a failure before the next collective; only main()
 * ends MPI.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/error.h"
#include "replay/comm_mpi.h"
#include "replay/engine.h"
#include "replay/fileset.h"
#include "replay/replay_report.h"

static volatile sig_atomic_t never;

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
	     fileset_build(plan, sb, FILESET_AS_RECORDED, &never, err) ||
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
		printf("replayed in %.3f s (recorded %.3f s); %llu of %llu "
		       "calls gave the recorded result; late %llu\n",
		       (double)(res.head->end_ns - res.head->begin_ns) / 1e9,
		       (double)plan->head->wall_ns / 1e9,
		       (unsigned long long)t.same,
		       (unsigned long long)plan->head->calls,
		       (unsigned long long)t.late);
		rc = replay_judge(plan, &res, &t, opt->mode, err);
	}
	result_close(&res);
	plan_close(plan);
	return rc;
}

static int play(const struct engine_options *opt, const struct comm *comm,
		struct reel_error *err)
{
	struct sandbox sb = {.root = ""};
	int rc = 0;

	if (!comm_mpi_one_host())
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

static enum replay_mode mode_of(const char *word)
{
	return !strcmp(word, "afap")	? REPLAY_AFAP
	       : !strcmp(word, "timed") ? REPLAY_TIMED
					: REPLAY_THINK;
}

/* The name of the result file is one, whatever rank makes it. */
static void name_result(char out[static 64])
{
	int64_t id = getpid();

	MPI_Bcast(&id, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
	snprintf(out, 64, "%s/ioreel-replay.%lld",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long long)id);
}

int main(int argc, char **argv)
{
	struct engine_options opt = {0};
	struct reel_error err = {0};
	char result[64];
	struct comm comm;
	int status = 0;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: mpirun -n N ioreel-replay PLAN ROOT "
				"[think|timed|afap]\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	comm = comm_mpi_world();
	name_result(result);
	opt.plan = argv[1];
	opt.root = argv[2];
	opt.result = result;
	opt.mode = mode_of(argc > 3 ? argv[3] : "think");
	if (play(&opt, &comm, &err)) {
		status = err.code == REEL_E_USAGE   ? 2
			 : err.code == REEL_E_LIMIT ? 3
						    : 1;
		if (strcmp(err.text, "another rank failed"))
			fprintf(stderr, "ioreel-replay: %s\n", err.text);
	}
	if (comm.rank == 0)
		unlink(result);
	MPI_Finalize();
	return status;
}

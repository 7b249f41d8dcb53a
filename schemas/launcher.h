/* SPDX-License-Identifier: MIT */
/*
 * The environment variables by which launchers of ranks describe a process,
 * and the variable by which "ioreel record" passes its own to the shim.
 *
 * Users differ in which rows they take: a rank of MPI, a launcher that serves
 * MPI_Init(), or any. To add a launcher: a row.
 */
#ifndef SCHEMAS_LAUNCHER_H
#define SCHEMAS_LAUNCHER_H

/* The launch of "ioreel record" itself, as lines NAME=value. */
#define REEL_LAUNCHER "IOREEL_LAUNCHER"

/* A process manager of MPI listens there, for one process. */
#define REEL_LAUNCHER_PMI "PMI_FD", "PMI_PORT"

/* Each launch sets at least one of these, to a value of its own. */
#define REEL_LAUNCHER_NAMES                                                    \
	"PMIX_NAMESPACE", "PMI_JOBID", REEL_LAUNCHER_PMI, "SLURM_STEP_ID"

enum reel_launcher_kind {
	REEL_LAUNCHER_TORCH, /* ranks of torch.distributed */
	REEL_LAUNCHER_TASKS, /* ranks of MPI only with a PMI beside it */
	REEL_LAUNCHER_MPI,   /* it serves MPI_Init() */
};

/* Names of variables; NULL: the launcher has none. */
struct reel_launcher {
	const char *name;
	enum reel_launcher_kind kind;
	const char *rank, *size, *local_rank, *local_size;
	const char *job;     /* one value for all ranks of a launch */
	const char *restart; /* how many times the ranks were restarted */
	const char *needs;   /* the row counts only if this is set, too */
};

/*
 * The innermost first: torchrun may run under srun, mpirun in a batch script
 * that has a SLURM_PROCID of its own.
 */
static const struct reel_launcher reel_launchers[] = {
	{.name = "torchrun",
	 .kind = REEL_LAUNCHER_TORCH,
	 .rank = "RANK",
	 .size = "WORLD_SIZE",
	 .local_rank = "LOCAL_RANK",
	 .local_size = "LOCAL_WORLD_SIZE",
	 .job = "TORCHELASTIC_RUN_ID",
	 .restart = "TORCHELASTIC_RESTART_COUNT",
	 .needs = "TORCHELASTIC_RUN_ID"},
	{.name = "openmpi",
	 .kind = REEL_LAUNCHER_MPI,
	 .rank = "OMPI_COMM_WORLD_RANK",
	 .size = "OMPI_COMM_WORLD_SIZE",
	 .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
	 .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
	 .job = "PMIX_NAMESPACE"},
	{.name = "pmi",
	 .kind = REEL_LAUNCHER_MPI,
	 .rank = "PMI_RANK",
	 .size = "PMI_SIZE",
	 .local_rank = "MPI_LOCALRANKID",
	 .local_size = "MPI_LOCALNRANKS",
	 .job = "PMI_JOBID"},
	{.name = "pmix",
	 .kind = REEL_LAUNCHER_MPI,
	 .rank = "PMIX_RANK",
	 .size = "PMIX_SIZE",
	 .job = "PMIX_NAMESPACE"},
	{.name = "slurm",
	 .kind = REEL_LAUNCHER_TASKS,
	 .rank = "SLURM_PROCID",
	 .size = "SLURM_STEP_NUM_TASKS",
	 .local_rank = "SLURM_LOCALID",
	 .job = "SLURM_STEP_ID",
	 .needs = "SLURM_STEP_ID"},
	{.name = "pals", .kind = REEL_LAUNCHER_MPI, .rank = "PALS_RANKID"},
	{.name = "torch",
	 .kind = REEL_LAUNCHER_TORCH,
	 .rank = "RANK",
	 .size = "WORLD_SIZE",
	 .local_rank = "LOCAL_RANK",
	 .local_size = "LOCAL_WORLD_SIZE",
	 .job = "MASTER_PORT",
	 .needs = "MASTER_ADDR"},
};

#define REEL_LAUNCHERS (sizeof(reel_launchers) / sizeof(reel_launchers[0]))

#endif

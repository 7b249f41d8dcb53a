/* SPDX-License-Identifier: MIT */
/* The ranks of ioreel-mpi. */
#ifndef REPLAY_COMM_COMM_MPI_H
#define REPLAY_COMM_COMM_MPI_H

#include <stdbool.h>

#include "replay/comm/comm.h"

struct call_log;

/*
 * Before the arguments are checked: only the first rank of a launch prints, as
 * help and wrong usage are the same on all. Until comm_mpi_init().
 */
void comm_mpi_mute(void);
bool comm_mpi_is_muted(void);

/*
 * Start MPI when a launcher of ranks started this process; else this is the
 * only rank. Without a launcher MPI stays out: Open MPI would start a daemon,
 * which survives when the process is killed.
 */
struct comm comm_mpi_init(void);

/* End MPI if it was started. Collective, but after abandon(): then all ranks are
 * aborted. */
void comm_mpi_fini(void);

/* The files of struct comm, of @ranks; @threads: of MPI_Init_thread(). In
 * file_mpi.c. */
const struct comm_files *comm_mpi_files(bool threads, int ranks);
/* The function watch() of struct comm_files. In below_mpi.c. */
void comm_mpi_watch(struct call_log *log);

/* Do all ranks share one memory? Collective. */
bool comm_mpi_one_host(void);

#endif

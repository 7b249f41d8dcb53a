/* SPDX-License-Identifier: MIT */
/* The ranks that main.c of ioreel-replay runs with. */
#ifndef REPLAY_COMM_MPI_H
#define REPLAY_COMM_MPI_H

#include "replay/comm.h"

extern struct comm comm_mpi;

/* Fills comm_mpi's rank and size. */
void comm_mpi_init(int *argc, char ***argv);
void comm_mpi_fini(void);

#endif

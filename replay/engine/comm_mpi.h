/* SPDX-License-Identifier: MIT */
/* The ranks of ioreel-replay. */
#ifndef REPLAY_ENGINE_COMM_MPI_H
#define REPLAY_ENGINE_COMM_MPI_H

#include "replay/engine/comm.h"

/* After MPI_Init(). */
struct comm comm_mpi_world(void);

/* Do all ranks share one memory? Collective. */
int comm_mpi_one_host(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The interface to other ranks; no other header of the engine has to do with
 * MPI. With one rank (comm_single.c) every call returns at once.
 */
#ifndef REPLAY_COMM_COMM_H
#define REPLAY_COMM_COMM_H

#include <stdbool.h>
#include <stdint.h>

enum comm_op { COMM_SUM, COMM_MIN, COMM_MAX };

struct comm {
	int rank, size;
	void (*barrier)(void);
	/* Reduce @n integers in place; all ranks get the result. */
	void (*allreduce)(int64_t *value, int n, enum comm_op op);
};

extern const struct comm comm_single;

struct reel_error;

/*
 * Collective: -1 on all ranks when @rc is not 0 on one of them. The first one that
 * failed keeps its @err, the others have "another rank failed".
 */
int comm_agree(const struct comm *comm, int rc, struct reel_error *err);
/* Is @err only that another rank failed? That one reports it. */
bool comm_failed_elsewhere(const struct reel_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The interface to other ranks; no other header of the engine has to do with
 * MPI. With one rank (comm_single.c) every call returns at once.
 */
#ifndef REPLAY_COMM_COMM_H
#define REPLAY_COMM_COMM_H

#include <stdint.h>

enum comm_op { COMM_SUM, COMM_MIN, COMM_MAX };

struct comm {
	int rank, size;
	void (*barrier)(void);
	/* Reduce @n integers in place; all ranks get the result. */
	void (*allreduce)(int64_t *value, int n, enum comm_op op);
};

extern const struct comm comm_single;

#endif

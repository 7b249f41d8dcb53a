/* SPDX-License-Identifier: MIT */
/*
 * The interface to other ranks; no other header of the engine has to do with
 * MPI. With one rank (comm_single.c) every call returns at once.
 */
#ifndef REPLAY_COMM_COMM_H
#define REPLAY_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum comm_op { COMM_SUM, COMM_MIN, COMM_MAX };

struct call_log;
struct reel_error;

/*
 * Files of MPI-IO, for the process that started MPI and no child of it. With
 * @together a function is collective over all ranks.
 */
struct comm_files {
	bool threads;  /* several threads may call at a time */
	int ranks;     /* that open a file together */
	int open_mode; /* that open() gives to MPI */
	/* Open @path to read it. The file for close(), or NULL with @err. */
	void *(*open)(const char *path, bool together, struct reel_error *err);
	/* Read up to 2^30 bytes at @offset; fewer at the end of the file. Their
	 * number, or -1 with @err. */
	ssize_t (*read)(void *file, uint64_t offset, void *to, size_t n,
			bool together, struct reel_error *err);
	/* Its bytes; 0 when that fails. */
	uint64_t (*size)(void *file);
	int (*close)(void *file, struct reel_error *err);
	/* Calls of POSIX that MPI makes in the calling thread are added to @log
	 * from now on; NULL: to none. */
	void (*watch)(struct call_log *log);
};

struct comm {
	int rank, size;
	const struct comm_files *files; /* NULL: there is no MPI */
	int host_rank, host_size;	/* among the ranks of this host */
	void (*barrier)(void);
	/* Reduce @n integers in place; all ranks get the result. */
	void (*allreduce)(int64_t *value, int n, enum comm_op op);
	/* This rank failed and reaches no further collective call: end the other
	 * ranks, which wait for it there, once it has reported the error. */
	void (*abandon)(void);
};

extern const struct comm comm_single;

/*
 * Collective: -1 on all ranks when @rc is not 0 on one of them. The first one that
 * failed keeps its @err, the others have "another rank failed" with its code.
 */
int comm_agree(const struct comm *comm, int rc, struct reel_error *err);
/* Is @err only that another rank failed? That one reports it. */
bool comm_failed_elsewhere(const struct reel_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The files of an import: each is of a rank, or of one cycle of the profiler's
 * schedule in it.
 */
#ifndef ANALYZER_IMPORT_KINETO_CYCLE_H
#define ANALYZER_IMPORT_KINETO_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;

/* A file that was read. */
struct kineto_cycle {
	uint32_t process;
	int64_t pid, rank;	  /* -1: not known */
	int64_t start_ns, end_ns; /* as the file gives them */
	int64_t base_ns;	  /* their time 0 */
	const char *worker;	  /* what its name begins with */
	bool names_pid;		  /* its name has the pid, behind a host */
};

/* Zeroed is empty; the caller frees `at`. */
struct kineto_cycles {
	struct kineto_cycle *at; /* of each file */
	uint32_t n, room;
};

bool kineto_cycles_has_pid(const struct kineto_cycles *all, int64_t pid);
/* The process of an earlier file that went on in @c: one pid of one rank, or of one
 * worker, at another time; of other workers where no name has a host. 0: none. */
uint32_t kineto_cycles_process(const struct kineto_cycles *all,
			       const struct kineto_cycle *c);
/* The most files of a process; 1 without any. */
uint32_t kineto_cycles_most(const struct kineto_cycles *all);
/* Refuse files that name no ranks, of processes that are never there at a time:
 * TensorBoard keeps the runs of a folder beside each other. @path: of each file.
 * 0, or -1 with @err (REEL_E_FORMAT). */
int kineto_cycles_refuse_runs(const struct kineto_cycles *all,
			      char *const *path, struct reel_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Other processes that compress a writer's blocks: the ranks of MPI. This room
 * knows no MPI: a command gives it the ways to send and to receive.
 */
#ifndef ANALYZER_WRITE_RANKS_H
#define ANALYZER_WRITE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

struct reel_error;

/* One thread of the writer makes all calls, until reel_writer_free(). */
struct reel_ranks {
	int n; /* they are 1 to n */
	void *arg;
	/* Send @bytes at @data to @rank, which is free: it sent a result, or
	 * got nothing yet. 0, or -1 with @err. */
	int (*send)(void *arg, int rank, const void *data, size_t bytes,
		    struct reel_error *err);
	/* A result that has arrived: 1, and gives *@data for free(); 0: none;
	 * -1 with @err. */
	int (*receive)(void *arg, int *rank, void **data, size_t *bytes,
		       struct reel_error *err);
};

/* In a rank: compress the block in @data, which a writer sent. Gives *@out for
 * free(). 0, or -1 with @err (REEL_E_MEMORY, REEL_E_FORMAT). */
struct reel_packer;
int reel_packer_new(struct reel_packer **out, struct reel_error *err);
void reel_packer_free(struct reel_packer *p);
int reel_packer_run(struct reel_packer *p, const void *data, size_t bytes,
		    void **out, size_t *out_bytes, struct reel_error *err);

#endif

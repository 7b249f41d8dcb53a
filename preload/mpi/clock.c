/* SPDX-License-Identifier: MIT */
/*
 * The offsets of the nodes' clocks from rank 0's: a ping-pong between rank 0
 * and one rank of each other node, at MPI_Init and at MPI_Finalize.
 *
 * Only with IOREEL_MPI_CLOCK=1, which promises that every rank is recorded: a
 * rank without the shim would not answer, or would receive our messages instead
 * of the program's.
 */
#include <string.h>

#include "schemas/hash.h"
#include "schemas/syscall.h"

#include "preload/core/window.h"
#include "preload/mpi/mpi.h"

#define ROUNDS 64
#define NODES 1024
#define TAG 21071
#define DRIFT_SHARE 20000 /* relative drift of two clocks: 50 ppm */

extern char **environ;

static bool is_wanted(void)
{
	const char *said = shim_env(environ, "IOREEL_MPI_CLOCK");

	return said && !strcmp(said, "1");
}

static uint64_t node_hash(void)
{
	const char *id = shim.head->boot_id;

	return reel_fnv1a(REEL_FNV_SEED, id, strlen(id));
}

static int send_word(uint64_t v, int to)
{
	return mpi.Send(&v, sizeof(v), mpi.byte, to, TAG, mpi.world);
}

static uint64_t receive_word(int from)
{
	uint64_t status[16], v = 0;

	mpi.Recv(&v, sizeof(v), mpi.byte, from, TAG, mpi.world, status);
	return v;
}

/* Rank 0: send the time to the first rank of each other node. */
static void serve_clock(int ranks, uint64_t own)
{
	uint64_t seen[NODES];
	int nodes = 1;

	seen[0] = own;
	for (int r = 1; r < ranks; r++) {
		uint64_t node = receive_word(r);
		bool new_ = nodes < NODES;

		for (int i = 0; i < nodes; i++)
			new_ = new_ && seen[i] != node;
		send_word(new_, r);
		if (!new_)
			continue;
		seen[nodes++] = node;
		for (int i = 0; i < ROUNDS; i++) {
			receive_word(r);
			send_word(shim_clock_ns(CLOCK_MONOTONIC), r);
		}
	}
}

/*
 * Rank 0 reads its clock after our send and before we have its answer, so each
 * round bounds the offset from both sides. The tightest bounds may be of two
 * rounds: a message that waited for a processor spoils one bound only.
 */
static void measure_offset(uint64_t own, enum shim_mpi_when when)
{
	struct reel_head *h = shim.head;
	int64_t least = INT64_MIN, most = INT64_MAX;
	uint64_t begun, took;

	send_word(own, 0);
	if (!receive_word(0))
		return;
	begun = shim_clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before = shim_clock_ns(CLOCK_MONOTONIC), theirs, after;

		send_word(0, 0);
		theirs = receive_word(0);
		after = shim_clock_ns(CLOCK_MONOTONIC);
		if ((int64_t)(theirs - after) > least)
			least = (int64_t)(theirs - after);
		if ((int64_t)(theirs - before) < most)
			most = (int64_t)(theirs - before);
		h->peer_mono_ns[when] = after;
	}
	if (least > most) /* a clock was stepped */
		least = most = least / 2 + most / 2;
	took = h->peer_mono_ns[when] - begun;
	h->peer_ns[when] = least + (most - least) / 2;
	h->peer_error_ns[when] =
		(uint64_t)(most - least) / 2 + took / DRIFT_SHARE + 1;
}

void shim_mpi_clock(enum shim_mpi_when when)
{
	void *parent = mpi.no_comm;
	uint64_t own, first, differs, any = 0;
	int rank, ranks;

	if (!is_wanted() || !shim.head || !mpi.Bcast || !mpi.Allreduce ||
	    !mpi.Send || !mpi.Recv || !mpi.Comm_size || !mpi.Comm_rank ||
	    !mpi.Comm_get_parent)
		return;
	/* Spawned processes: their rank 0 is not the job's. */
	if (mpi.Comm_get_parent(&parent) ||
	    shim_mpi_handle(parent) != mpi.no_comm ||
	    mpi.Comm_rank(mpi.world, &rank) || mpi.Comm_size(mpi.world, &ranks))
		return;
	first = own = node_hash();
	if (mpi.Bcast(&first, sizeof(first), mpi.byte, 0, mpi.world))
		return;
	differs = first != own;
	if (mpi.Allreduce(&differs, &any, sizeof(any), mpi.byte, mpi.bor,
			  mpi.world) ||
	    !any)
		return;
	if (rank)
		measure_offset(own, when);
	else
		serve_clock(ranks, own);
}

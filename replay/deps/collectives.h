/* SPDX-License-Identifier: MIT */
/*
 * MPI collectives: which ranks wait for which.
 *
 * A rank has two records for a collective, which the replay does not issue as
 * calls: it arrives, and it leaves once the ranks that it waits for have
 * arrived. In a broadcast all wait for the root, in a gather the root waits for
 * all. Where all wait for all, they wait for the rank that arrived last in the
 * job, which waits for the others: dependencies grow with ranks, not with their
 * square. No rank waits for one that arrived after it had left. A nonblocking
 * collective has its two records from two calls, with others between.
 */
#ifndef REPLAY_DEPS_COLLECTIVES_H
#define REPLAY_DEPS_COLLECTIVES_H

#include "replay/deps/deps.h"

struct collectives;

/* Gives *@out for collectives_free(); borrows the others until then. 0, or -1
 * with @err (REEL_E_MEMORY). */
int collectives_new(struct collectives **out, struct deps *deps,
		    struct annotations *annotations, struct reel_error *err);
void collectives_free(struct collectives *c);

/*
 * @ev has a collective_phase(). With both phases, @call is the arrival and the
 * next call of its stream the leaving; else @call is the one phase. 0, or -1
 * with @err.
 */
int collectives_event(struct collectives *c, const struct reel_event *ev,
		      const struct call_ref *call, struct reel_error *err);

/* The number of collectives with all their members in the trace. */
uint64_t collectives_complete(const struct collectives *c);

#endif

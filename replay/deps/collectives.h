/* SPDX-License-Identifier: MIT */
/*
 * Collectives of MPI: which ranks wait for which.
 *
 * A collective is two records of its stream, though no calls of the replay: it
 * arrives, when others may go on, and leaves, when those it waits for have
 * arrived. Of a broadcast all wait for the root, of a gather the root waits
 * for all. Where all wait for all, they wait for who came last in the job,
 * who waits for the others: so edges grow with ranks, not with their square.
 * Nobody waits for who came after he had left. Of a nonblocking one the two
 * records are of two calls, with others between.
 */
#ifndef REPLAY_DEPS_COLLECTIVES_H
#define REPLAY_DEPS_COLLECTIVES_H

#include "replay/deps/deps.h"

struct collectives;

/* Gives *@out for collectives_free(); borrows the edges and the marks until then.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int collectives_new(struct collectives **out, struct edges *edges,
		    struct annotations *marks, struct reel_error *err);
void collectives_free(struct collectives *m);

/*
 * Event @ev, which collective_phase(), arrives as call @me, and leaves as the next;
 * or does one of these as call @me.
 * 0, or -1 with @err.
 */
int collectives_event(struct collectives *m, const struct reel_event *ev,
		      const struct call_ref *me, struct reel_error *err);

/* How many were complete. */
uint64_t collectives_settled(const struct collectives *m);

#endif

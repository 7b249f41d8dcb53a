/* SPDX-License-Identifier: MIT */
/*
 * Classes of events and calls. Both passes of the plan compiler, and all the
 * state that they keep, must classify alike.
 */
#ifndef REPLAY_MODEL_CLASSIFY_H
#define REPLAY_MODEL_CLASSIFY_H

#include <errno.h>
#include <stdbool.h>

#include "lib/calls.h"
#include "lib/store/event.h"
#include "lib/store/event_op.h"

/* An asynchronous operation: it overlaps other calls of its thread. */
static inline bool is_async(const struct reel_event *ev)
{
	return ev->layer == REEL_LAYER_ASYNC && ev->group != REEL_GROUP_QUEUE;
}

/* The bytes read or written through a mapping. */
static inline bool is_mapped_access(uint16_t call)
{
	return call == REEL_CALL_MAP_READ || call == REEL_CALL_MAP_WRITE;
}

/*
 * Is it a call of the plan? Not in a layer above the one that does the I/O, nor
 * an asynchronous operation whose result the job never got.
 */
static inline bool is_replayable(const struct reel_event *ev)
{
	if (metric_op(ev) == METRIC_IGNORE ||
	    metric_op(ev) == METRIC_HIGHER_LAYER ||
	    ev->group == REEL_GROUP_QUEUE || ev->layer == REEL_LAYER_MPIIO)
		return false;
	if (is_async(ev))
		return ev->err != ECANCELED && ev->err != EINPROGRESS;
	return !is_mapped_access(ev->call) || ev->result > 0;
}

/*
 * The phases of a collective that @ev stands for: arrival, leaving, or both; 0
 * for any other call, and for a collective whose ranks are not known.
 */
enum { COLLECTIVE_ARRIVE = 1, COLLECTIVE_LEAVE = 2 };

static inline unsigned int collective_phase(const struct reel_event *ev)
{
	if (ev->err || ev->pos < 2)
		return 0;
	if (ev->call >= REEL_CALL_MPI_BARRIER &&
	    ev->call <= REEL_CALL_MPI_EXSCAN)
		return COLLECTIVE_ARRIVE | COLLECTIVE_LEAVE;
	if (ev->call >= REEL_CALL_MPI_IBARRIER &&
	    ev->call <= REEL_CALL_MPI_IEXSCAN)
		return COLLECTIVE_ARRIVE;
	return ev->call == REEL_CALL_MPI_COMPLETED ? COLLECTIVE_LEAVE : 0;
}

/* Is the call about a symbolic link itself, not its target? */
bool is_nofollow(const struct reel_event *ev);

/* stat, access, unlink: also valid on a bound socket. */
bool is_probe(uint16_t call);

/* Calls of two descriptors. */
static inline bool is_two_fd_copy(uint16_t call)
{
	return call == REEL_CALL_COPY_FILE_RANGE ||
	       call == REEL_CALL_SENDFILE || call == REEL_CALL_SPLICE ||
	       call == REEL_CALL_TEE;
}

/* Calls on a mapping by its address; the descriptor may be closed. */
static inline bool is_by_address(uint16_t call)
{
	return call == REEL_CALL_MUNMAP || call == REEL_CALL_MSYNC ||
	       call == REEL_CALL_MREMAP || call == REEL_CALL_MADVISE ||
	       call == REEL_CALL_POSIX_MADVISE || call == REEL_CALL_MLOCK ||
	       call == REEL_CALL_MUNLOCK || is_mapped_access(call);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What an event is to the replay. Both passes of compiling a plan, and those
 * who keep state for them, have to agree: they ask here.
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

/* What a mapping was used for. */
static inline bool is_mapped_access(uint16_t call)
{
	return call == REEL_CALL_MAP_READ || call == REEL_CALL_MAP_WRITE;
}

/*
 * Is it a call of the plan? Not what is a layer above others that do the work,
 * nor an operation whose outcome the job was never told.
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
 * Is it of a collective, of which it is known who took part? That is told by
 * two records, arriving and leaving: @ev is for one of them, or for both.
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

/* Is the call about a link itself, not what is behind it? */
bool is_nofollow(const struct reel_event *ev);

/* It was looked at or removed: what one does to a bound socket, too. */
bool is_probe(uint16_t call);

/* Calls of two descriptors. */
static inline bool is_two_fd_copy(uint16_t call)
{
	return call == REEL_CALL_COPY_FILE_RANGE ||
	       call == REEL_CALL_SENDFILE || call == REEL_CALL_SPLICE ||
	       call == REEL_CALL_TEE;
}

/* These go by address; their descriptor may long be closed. */
static inline bool is_by_address(uint16_t call)
{
	return call == REEL_CALL_MUNMAP || call == REEL_CALL_MSYNC ||
	       call == REEL_CALL_MREMAP || call == REEL_CALL_MADVISE ||
	       call == REEL_CALL_POSIX_MADVISE || call == REEL_CALL_MLOCK ||
	       call == REEL_CALL_MUNLOCK || is_mapped_access(call);
}

#endif

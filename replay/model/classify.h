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
static inline bool role_async(const struct reel_event *ev)
{
	return ev->layer == REEL_LAYER_ASYNC && ev->group != REEL_GROUP_QUEUE;
}

/* What a mapping was used for. */
static inline bool role_mapped(uint16_t call)
{
	return call == REEL_CALL_MAP_READ || call == REEL_CALL_MAP_WRITE;
}

/*
 * Is it a call of the plan? Not what is a layer above others that do the work,
 * nor an operation whose outcome the job was never told.
 */
static inline bool role_plays(const struct reel_event *ev)
{
	if (metric_op(ev) == METRIC_NOTHING || metric_op(ev) == METRIC_UPPER ||
	    ev->group == REEL_GROUP_QUEUE || ev->layer == REEL_LAYER_MPIIO)
		return false;
	if (role_async(ev))
		return ev->err != ECANCELED && ev->err != EINPROGRESS;
	return !role_mapped(ev->call) || ev->result > 0;
}

/*
 * Is it of a collective, of which it is known who took part? That is told by
 * two records, arriving and leaving: @ev is for one of them, or for both.
 */
enum { ROLE_ARRIVES = 1, ROLE_LEAVES = 2 };

static inline unsigned int role_meets(const struct reel_event *ev)
{
	if (ev->err || ev->pos < 2)
		return 0;
	if (ev->call >= REEL_CALL_MPI_BARRIER &&
	    ev->call <= REEL_CALL_MPI_EXSCAN)
		return ROLE_ARRIVES | ROLE_LEAVES;
	if (ev->call >= REEL_CALL_MPI_IBARRIER &&
	    ev->call <= REEL_CALL_MPI_IEXSCAN)
		return ROLE_ARRIVES;
	return ev->call == REEL_CALL_MPI_COMPLETED ? ROLE_LEAVES : 0;
}

/* Is the call about a link itself, not what is behind it? */
bool role_nofollow(const struct reel_event *ev);

/* It was looked at or removed: what one does to a bound socket, too. */
bool role_looks(uint16_t call);

/* Calls of two descriptors. */
static inline bool role_copies(uint16_t call)
{
	return call == REEL_CALL_COPY_FILE_RANGE ||
	       call == REEL_CALL_SENDFILE || call == REEL_CALL_SPLICE ||
	       call == REEL_CALL_TEE;
}

/* These go by address; their descriptor may long be closed. */
static inline bool role_by_address(uint16_t call)
{
	return call == REEL_CALL_MUNMAP || call == REEL_CALL_MSYNC ||
	       call == REEL_CALL_MREMAP || call == REEL_CALL_MADVISE ||
	       call == REEL_CALL_POSIX_MADVISE || call == REEL_CALL_MLOCK ||
	       call == REEL_CALL_MUNLOCK || role_mapped(call);
}

#endif
